"""The eviction of one pod of a cluster: a state machine without any I/O.

Theory of operation
===================

A pod of a cluster is two things that end independently: an object in the API server, and containers in the runtime. A status
written beside a kubelet evicts nothing by itself, and a container that is stopped while its object stays is started again. So the
machine has two states, as h11 has one for each side of a connection:

* `Stage`: what is done about the object. Each stage in `REQUEST_OF` has one request, which is sent until it is answered.
* `Containers`: what is done about the containers. `KEPT` leaves them to the kubelet, which runs preStop hooks.

Every change of either state is a row of one of the three tables of `eviction_stages`; nothing else assigns them. `receive` looks
an event up in `OBJECT` and in `CONTAINERS`, then applies `JOINT` until it changes nothing. A pair without a row changes nothing:
it is an event that came too late, or that does not concern this side.

    EvictionAPI   CHOOSING -> ASKING -201-> LEAVING -> DONE            ASKING -429, soft-> REFUSED
                              ASKING -429 or silence for too long-> MARKING
    Delete        CHOOSING -> MARKING -> DELETING -> LEAVING -> DONE   MARKING is left out where there is no condition to set
    Status        CHOOSING -> STOPPING -> WRITING -> VERIFYING -> DONE VERIFYING -came back, 3rd time-> MARKING

CHOOSING lasts as long as it is not known whether a kubelet reports: a pod deleted on a node without one stays Terminating for
ever. A hard eviction stops the containers meanwhile, which every method does.

An eviction that no threshold wants any more is withdrawn as long as it is not certain: a soft one that the Eviction API has not
agreed to, or whose pod is not marked yet for a deletion that leaves the stop to the kubelet. A request that is being sent is
waited for: where the server does what it asks for, the pod goes.

A request that is forbidden (403 and the like) is followed by the next one that may be allowed: ask, mark, delete, write the
status; then the eviction ends.

Laws, held by tests/act/cluster/test_pod_eviction.py over generated sequences of events: the eviction is announced at most once,
and before the containers are stopped; the containers are stopped once for each time that they were started; no status is written
while a container runs; from every reachable state a settled stage can be reached.
"""

from evictd.act.cluster.eviction_stages import (
    CONTAINERS,
    JOINT,
    OBJECT,
    REQUEST_OF,
    SETTLED,
    UNCERTAIN,
    Containers,
    Event,
    Request,
    Stage,
    Stop,
)
from evictd.core.eviction.refusals.backoff import HARD_BYPASS
from evictd.core.model.decision import EvictPod
from evictd.core.model.observation import EvictionAnswer, EvictionAnswerKind
from evictd.core.units.duration import MILLISECOND, MINUTE, SECOND

VERIFY = 10 * SECOND
"""How long a status that evictd wrote is watched: the kubelet's status manager repairs its own within that time."""
REPAIRS = 2
"""How often a pod that came back is stopped and written again before it is deleted."""
BEFORE_KILL = 500 * MILLISECOND
"""How long a hard eviction waits for the node's conditions and taints; not at all if that exceeds its grace."""
ASK_PATIENCE = 3 * SECOND
"""How long a hard eviction waits for the Eviction API's answer before evictd stops the containers."""
REMEMBERED = 2 * MINUTE
"""How long a settled eviction is remembered."""


class PodEviction:
    """One eviction. Times are `now` in nanoseconds; nothing here reads a clock."""

    def __init__(self, decision: EvictPod, now: int, *, hard: bool, announced: bool = False) -> None:
        self.decision = decision
        """The latest one about this pod."""
        self.why = ""
        """Why this pod was chosen and not another; empty of one that the previous run began."""
        self.hard = hard
        self.begun_at = now
        self.not_before = 0
        """Time from which the stage's request may be sent again after a budget's refusal."""
        self.postponed_until = 0
        """Time from which it may be sent again after a temporary error of the server."""
        self.problem = ""
        """The temporary error, until the next answer."""
        self.clear_at = now if decision.because.fitted or decision.freeze else now + BEFORE_KILL
        """Time at which the containers are stopped even if the node's conditions were not written."""
        self.first_refused_at: int | None = None
        """Time of a disruption budget's first refusal, also for an earlier decision about the same pod."""
        self.repairs = 0
        self.written_version = 0
        self.verify_until = 0
        self.withdrawing = False
        """Whether it was withdrawn while a request was being sent; the answer to that decides."""
        self.settled_at: int | None = None
        self.answer: EvictionAnswer | None = None
        """The API server's consent, as far as known."""
        self._stage = Stage.CHOOSING
        self._containers = Containers.DUE if hard else Containers.KEPT
        self._without_kubelet = False
        self._announced = announced

    @property
    def uid(self) -> str:
        """The pod's uid: no other pod is ever touched."""
        return self.decision.pod.uid

    @property
    def stage(self) -> Stage:
        """The stage of the object."""
        return self._stage

    @property
    def containers(self) -> Containers:
        """The stage of the containers."""
        return self._containers

    @property
    def settled(self) -> bool:
        """Whether nothing more is done about the object."""
        return self._stage in SETTLED

    @property
    def certain(self) -> bool:
        """Whether the pod goes. A hard eviction without a method does, as each method stops the containers."""
        match self._stage:
            case Stage.CHOOSING:
                return self.hard
            case Stage.MARKING:
                return self.hard or self._containers is not Containers.KEPT
            case _:
                return self._stage not in UNCERTAIN

    @property
    def withdrawable(self) -> bool:
        """Whether the eviction can still be withdrawn: nothing has happened to the pod yet."""
        return not self.certain and not self._announced

    @property
    def replaceable(self) -> bool:
        """Whether another decision about this pod begins a new eviction: nothing more is done in this one.

        Its requests may have been forbidden, and be allowed by now.
        """
        return self._stage is Stage.REFUSED or (
            self._stage is Stage.DONE and self._containers is not Containers.STOPPING
        )

    @property
    def patience(self) -> int:
        """How long a hard eviction waits for the Eviction API; longer once a budget has refused."""
        return ASK_PATIENCE + (HARD_BYPASS if self.not_before else 0)

    @property
    def request_at(self) -> int | None:
        """Time from which the stage's request may be sent to the API server; `None` for a stage without a request."""
        return max(self.not_before, self.postponed_until) if self._stage in REQUEST_OF else None

    def request(self, now: int) -> Request | None:
        """Return the request to send to the API server now, if any."""
        at = self.request_at
        return None if at is None or now < at else REQUEST_OF[self._stage]

    def is_forgettable(self, now: int) -> bool:
        """Whether it has been settled for long enough, and nothing is being stopped."""
        return (
            self.settled_at is not None
            and now - self.settled_at > REMEMBERED
            and self._containers is not Containers.STOPPING
        )

    # --- what happens ------------------------------------------------------------------------------------------------

    def begin(self, now: int) -> tuple[Request, ...]:
        """Return what the owner has to do before any event."""
        return self._announcement(now)

    def choose(self, event: Event, now: int, *, kubelet: bool) -> tuple[Request, ...]:
        """Take the method that `event` names; without a kubelet nothing else stops the containers of a deleted pod."""
        self._without_kubelet = not kubelet
        return self.receive(event, now)

    def shorten(self, decision: EvictPod, now: int) -> tuple[Request, ...]:
        """Make the eviction hard: nothing is waited for any more."""
        self.decision, self.hard = decision, True
        self.not_before, self.clear_at = 0, now
        self.answered()
        return self.receive(Event.SHORTENED, now)

    def withdraw(self, now: int) -> tuple[Request, ...]:
        """Withdraw the eviction where it is not certain yet."""
        self.withdrawing = False
        made = self.receive(Event.WITHDRAWN, now)
        if self._stage is Stage.WITHDRAWN:
            self.answer = EvictionAnswer(uid=self.uid, kind=EvictionAnswerKind.NOT_ASKED, at=now)
        return made

    def refuse(self, now: int, *, retry_after: int | None, detail: str) -> tuple[Request, ...]:
        """Note that the server refused and the pod stays; `retry_after` in nanoseconds, `None` where the server named no time."""
        self.answer = EvictionAnswer(
            uid=self.uid, kind=EvictionAnswerKind.REFUSED, at=now, retry_after=retry_after, detail=detail
        )
        return self.receive(Event.REFUSED, now)

    def ask_later(self, now: int, delay: int) -> None:
        """Note a budget's refusal; the Eviction API is asked again after `delay`."""
        self.not_before = now + delay

    def postpone(self, until: int, problem: str) -> None:
        """Note that the server could not do the stage's request for now; `problem` is its error."""
        self.postponed_until, self.problem = until, problem

    def answered(self) -> None:
        """Note that the server answered the stage's request."""
        self.postponed_until, self.problem = 0, ""

    def wrote(self, version: int, now: int) -> tuple[Request, ...]:
        """Note that the status was written, as this resource version of the object."""
        self.written_version, self.verify_until = version, now + VERIFY
        return self.receive(Event.ACCEPTED, now)

    def receive(self, event: Event, now: int) -> tuple[Request, ...]:
        """Move by one event; return what the owner has to do now, in this order."""
        uncertain = self._stage is Stage.ASKING or (self._stage is Stage.MARKING and not self.certain)
        if event is Event.WITHDRAWN and not self.withdrawable:
            return ()
        to = OBJECT.get((self._stage, event))
        moved, request = CONTAINERS.get((self._containers, event), (self._containers, None))
        if to is not None:
            self._enter(to.stage)
            if moved is Containers.KEPT and self._stops(to.stop):
                moved = Containers.DUE
        self._containers = moved
        while (joint := JOINT.get((self._stage, self._containers))) is not None:
            self._enter(joint)
        self._note(event, now)
        if uncertain and event is Event.NOT_FOUND:
            self._announced = True  # another party removed it: not an eviction of ours
        return (*self._announcement(now), *(() if request is None else (request,)))

    def _enter(self, stage: Stage) -> None:
        if stage is not self._stage:
            self.not_before = 0
            self.answered()
        unmarked = stage is Stage.MARKING and self.decision.condition is None
        self._stage = Stage.DELETING if unmarked else stage

    def _stops(self, stop: Stop) -> bool:
        return stop is Stop.YES or (stop is Stop.IF_OURS and (self.hard or self._without_kubelet))

    def _note(self, event: Event, now: int) -> None:
        if event is Event.REVIVED:
            self.repairs += 1
        if self.settled and (self.settled_at is None or event is Event.STOPPED):
            self.settled_at = now

    def _announcement(self, now: int) -> tuple[Request, ...]:
        if self.answer is None and self.certain:
            self.answer = EvictionAnswer(uid=self.uid, kind=EvictionAnswerKind.AGREED, at=now)
        if self._announced or not self.certain:
            return ()
        self._announced = True
        return (Request.ANNOUNCE,)
