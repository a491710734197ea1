"""The eviction of one pod of a cluster: a state machine without any I/O.

Theory of operation
===================

A pod of a cluster is two things that end independently: an object in the API server, and containers in the runtime. A status
written beside a kubelet evicts nothing by itself, and a container that is stopped while its object stays is started again. So the
machine has two states, as h11 has one for each side of a connection:

* `Stage`: what is done about the object. Each stage in `REQUEST_OF` has one request, which is sent until it is answered.
* `Containers`: what is done about the containers. `KEPT` leaves them to the kubelet, which runs preStop hooks.

Every change of either state is a row of one of the three tables below; nothing else assigns them. `receive` looks an event up in
`OBJECT` and in `CONTAINERS`, then applies `JOINT` until it changes nothing. A pair without a row changes nothing: it is an event
that came too late, or that does not concern this side.

    EvictionAPI   CHOOSING -> ASKING -201-> LEAVING -> DONE            ASKING -429, soft-> REFUSED
                              ASKING -429 or silence for too long-> MARKING
    Delete        CHOOSING -> MARKING -> DELETING -> LEAVING -> DONE   MARKING is left out where there is no condition to set
    Status        CHOOSING -> STOPPING -> WRITING -> VERIFYING -> DONE VERIFYING -came back, 3rd time-> MARKING

CHOOSING lasts as long as it is not known whether a kubelet reports: a pod deleted on a node without one stays Terminating for
ever. A hard eviction stops the containers meanwhile, which every method does.

A request that is forbidden (403 and the like) is followed by the next one that may be allowed: ask, mark, delete, write the
status; then the eviction ends.

Laws, held by tests/act/cluster/test_pod_eviction.py over generated sequences of events: the eviction is announced at most once,
and before the containers are stopped; the containers are stopped once for each time that they were started; no status is written
while a container runs; from every reachable state a settled stage can be reached.
"""

from collections.abc import Mapping
from enum import Enum
from typing import NamedTuple

from evictd.core.eviction.backoff import HARD_BYPASS
from evictd.core.model.decision import EvictPod
from evictd.core.model.observation import EvictionAnswer, EvictionAnswerKind
from evictd.core.units.duration import MILLISECOND, MINUTE, SECOND

VERIFY = 10 * SECOND
"""How long a status that evictd wrote is watched: the kubelet's status manager repairs its own within that time."""
REPAIRS = 2
"""How often a pod that came back is stopped and written again before it is deleted."""
BEFORE_KILL = 500 * MILLISECOND
"""How long a hard eviction waits for conditions and taints to be shown first; not at all where its grace does not fit."""
ASK_PATIENCE = 3 * SECOND
"""How long a hard eviction waits for the Eviction API's answer before its containers are stopped all the same."""
REMEMBERED = 2 * MINUTE
"""How long a settled eviction is remembered."""


class Stage(Enum):
    """What is done about the pod's object."""

    CHOOSING = "Choosing"
    ASKING = "Asking"
    MARKING = "Marking"
    DELETING = "Deleting"
    LEAVING = "Leaving"
    """The object is being deleted, or is gone; the containers may still run."""
    STOPPING = "Stopping"
    """The status is written when nothing runs any more."""
    WRITING = "Writing"
    VERIFYING = "Verifying"
    REFUSED = "Refused"
    """A disruption budget protects the pod and nothing is urgent: it stays."""
    DONE = "Done"


class Containers(Enum):
    """What is done about the pod's containers."""

    KEPT = "Kept"
    """Left to the kubelet."""
    DUE = "Due"
    """Stopped as soon as the node's conditions are shown, or have been waited for."""
    STOPPING = "Stopping"
    STOPPED = "Stopped"


class Event(Enum):
    """What can happen to an eviction."""

    ASK = "Ask"
    DELETE = "Delete"
    WRITE = "Write"
    """The method is known: the Eviction API, Delete, Status."""
    ACCEPTED = "Accepted"
    """The API server did what the stage's request asks for."""
    NOT_FOUND = "NotFound"
    """It has no such pod (any more)."""
    REFUSED = "Refused"
    """A disruption budget does not allow it, and another pod may be chosen."""
    BYPASS = "Bypass"
    """A disruption budget was waited for long enough."""
    UNANSWERED = "Unanswered"
    """The Eviction API was waited for long enough."""
    FORBIDDEN = "Forbidden"
    """The request was refused for good."""
    SHORTENED = "Shortened"
    """A hard threshold shortens the grace period."""
    CLEARED = "Cleared"
    """Nothing has to be shown before the containers are stopped."""
    STOPPED = "Stopped"
    """Nothing of the pod runs any more."""
    RESTARTED = "Restarted"
    """The pod was started again, and is chosen again."""
    REVIVED = "Revived"
    """The status that was written was overwritten: a kubelet started the pod again."""
    RESISTED = "Resisted"
    """And it did so more often than `REPAIRS`."""
    ENDED = "Ended"
    """The API server shows no such pod, or its phase as final; of a written status, for as long as it had to be watched."""


class Request(Enum):
    """What the machine asks of its owner."""

    EVICT = "Evict"
    MARK = "Mark"
    """Set the DisruptionTarget condition."""
    DELETE = "Delete"
    WRITE = "Write"
    """Write the status of an evicted pod."""
    ANNOUNCE = "Announce"
    """Record the Evicted event and count the eviction: it is certain."""
    STOP = "Stop"
    """Stop the containers, or shorten their grace."""
    STOP_AGAIN = "StopAgain"
    """Stop the containers, which had stopped and were started again."""


class Stop(Enum):
    """Whether a transition makes the containers due to be stopped."""

    NO = "No"
    IF_OURS = "IfOurs"
    """Where the eviction is hard, or no kubelet stops them."""
    YES = "Yes"


class To(NamedTuple):
    """Where a transition of the object leads."""

    stage: Stage
    stop: Stop = Stop.NO


REQUEST_OF: Mapping[Stage, Request] = {
    Stage.ASKING: Request.EVICT,
    Stage.MARKING: Request.MARK,
    Stage.DELETING: Request.DELETE,
    Stage.WRITING: Request.WRITE,
}
SETTLED = frozenset({Stage.REFUSED, Stage.DONE})
UNCERTAIN = frozenset({Stage.ASKING, Stage.REFUSED})
"""Stages in which the API server has not agreed yet that the pod goes."""

OBJECT: Mapping[tuple[Stage, Event], To] = {
    (Stage.CHOOSING, Event.ASK): To(Stage.ASKING),
    (Stage.CHOOSING, Event.DELETE): To(Stage.MARKING, Stop.IF_OURS),
    (Stage.CHOOSING, Event.WRITE): To(Stage.STOPPING, Stop.YES),
    (Stage.CHOOSING, Event.SHORTENED): To(Stage.CHOOSING, Stop.YES),
    (Stage.ASKING, Event.ACCEPTED): To(Stage.LEAVING, Stop.IF_OURS),
    (Stage.ASKING, Event.NOT_FOUND): To(Stage.LEAVING, Stop.IF_OURS),
    (Stage.ASKING, Event.REFUSED): To(Stage.REFUSED),
    (Stage.ASKING, Event.BYPASS): To(Stage.MARKING, Stop.IF_OURS),
    (Stage.ASKING, Event.UNANSWERED): To(Stage.MARKING, Stop.IF_OURS),
    (Stage.ASKING, Event.FORBIDDEN): To(Stage.MARKING, Stop.IF_OURS),
    (Stage.ASKING, Event.SHORTENED): To(Stage.DELETING, Stop.YES),
    (Stage.MARKING, Event.ACCEPTED): To(Stage.DELETING),
    (Stage.MARKING, Event.NOT_FOUND): To(Stage.LEAVING, Stop.IF_OURS),
    (Stage.MARKING, Event.FORBIDDEN): To(Stage.DELETING),
    (Stage.MARKING, Event.SHORTENED): To(Stage.MARKING, Stop.YES),
    (Stage.DELETING, Event.ACCEPTED): To(Stage.LEAVING, Stop.IF_OURS),
    (Stage.DELETING, Event.NOT_FOUND): To(Stage.LEAVING, Stop.IF_OURS),
    (Stage.DELETING, Event.FORBIDDEN): To(Stage.STOPPING, Stop.YES),
    (Stage.DELETING, Event.SHORTENED): To(Stage.DELETING, Stop.YES),
    (Stage.LEAVING, Event.ENDED): To(Stage.DONE),
    (Stage.LEAVING, Event.SHORTENED): To(Stage.DELETING, Stop.YES),
    (Stage.WRITING, Event.ACCEPTED): To(Stage.VERIFYING),
    (Stage.WRITING, Event.NOT_FOUND): To(Stage.LEAVING),
    (Stage.WRITING, Event.FORBIDDEN): To(Stage.DONE),
    (Stage.VERIFYING, Event.REVIVED): To(Stage.STOPPING),
    (Stage.VERIFYING, Event.RESISTED): To(Stage.MARKING),
    (Stage.VERIFYING, Event.ENDED): To(Stage.DONE),
}

CONTAINERS: Mapping[tuple[Containers, Event], tuple[Containers, Request | None]] = {
    # The Eviction API is asked first, also by a hard eviction.
    (Containers.DUE, Event.ASK): (Containers.KEPT, None),
    (Containers.DUE, Event.CLEARED): (Containers.STOPPING, Request.STOP),
    (Containers.STOPPING, Event.SHORTENED): (Containers.STOPPING, Request.STOP),
    (Containers.STOPPING, Event.STOPPED): (Containers.STOPPED, None),
    (Containers.STOPPED, Event.RESTARTED): (Containers.STOPPING, Request.STOP_AGAIN),
    (Containers.STOPPED, Event.REVIVED): (Containers.STOPPING, Request.STOP_AGAIN),
    (Containers.STOPPED, Event.RESISTED): (Containers.STOPPING, Request.STOP_AGAIN),
}

JOINT: Mapping[tuple[Stage, Containers], Stage] = {
    (Stage.STOPPING, Containers.STOPPED): Stage.WRITING,
    # Nothing is written while anything runs: the pod was started again.
    (Stage.WRITING, Containers.STOPPING): Stage.STOPPING,
    (Stage.LEAVING, Containers.STOPPED): Stage.DONE,
}
"""Transitions that follow from both states together."""


class PodEviction:
    """One eviction. Times are `now` in nanoseconds; nothing here reads a clock."""

    def __init__(self, decision: EvictPod, now: int, *, hard: bool, announced: bool = False) -> None:
        self.decision = decision
        """The latest one about this pod."""
        self.hard = hard
        self.begun_at = now
        self.not_before = 0
        """When the stage's request may be sent."""
        self.clear_at = now if decision.because.fitted else now + BEFORE_KILL
        """When the containers are stopped even if the node's conditions are not shown."""
        self.first_refused_at: int | None = None
        """When a disruption budget first refused; also of an earlier decision about the same pod."""
        self.repairs = 0
        self.written_version = 0
        self.verify_until = 0
        self.settled_at: int | None = None
        self.answer: EvictionAnswer | None = None
        """What is known of the API server's consent."""
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
        """What is done about the object."""
        return self._stage

    @property
    def containers(self) -> Containers:
        """What is done about the containers."""
        return self._containers

    @property
    def settled(self) -> bool:
        """Whether nothing more is done about the object."""
        return self._stage in SETTLED

    @property
    def certain(self) -> bool:
        """Whether the pod goes. A hard eviction without a method does, as each method stops the containers."""
        return self.hard if self._stage is Stage.CHOOSING else self._stage not in UNCERTAIN

    @property
    def replaceable(self) -> bool:
        """Whether another decision about this pod begins a new eviction."""
        return self._stage is Stage.REFUSED or (self._stage is Stage.DONE and self._containers is Containers.KEPT)

    @property
    def patience(self) -> int:
        """How long a hard eviction waits for the Eviction API: for a budget as well, once one has refused."""
        return ASK_PATIENCE + (HARD_BYPASS if self.not_before else 0)

    def request(self, now: int) -> Request | None:
        """Give the request to send to the API server now, if any."""
        return REQUEST_OF.get(self._stage) if now >= self.not_before else None

    def is_forgettable(self, now: int) -> bool:
        """Whether it has been settled for long enough, and nothing is being stopped."""
        return (
            self.settled_at is not None
            and now - self.settled_at > REMEMBERED
            and self._containers is not Containers.STOPPING
        )

    # --- what happens ------------------------------------------------------------------------------------------------

    def begin(self, now: int) -> tuple[Request, ...]:
        """Give what the owner has to do before any event."""
        return self._announcement(now)

    def choose(self, event: Event, now: int, *, kubelet: bool) -> tuple[Request, ...]:
        """Take the method that `event` names; without a kubelet nothing else stops the containers of a deleted pod."""
        self._without_kubelet = not kubelet
        return self.receive(event, now)

    def shorten(self, decision: EvictPod, now: int) -> tuple[Request, ...]:
        """Make the eviction hard: nothing is waited for any more."""
        self.decision, self.hard = decision, True
        self.not_before, self.clear_at = 0, now
        return self.receive(Event.SHORTENED, now)

    def refuse(self, now: int, *, retry_after: int | None, detail: str) -> tuple[Request, ...]:
        """A budget refused, and the pod stays; `retry_after` in nanoseconds, `None` where the server named no time."""
        self.answer = EvictionAnswer(
            uid=self.uid, kind=EvictionAnswerKind.REFUSED, at=now, retry_after=retry_after, detail=detail
        )
        return self.receive(Event.REFUSED, now)

    def ask_later(self, now: int, delay: int) -> None:
        """A budget refused, and is asked again after `delay`."""
        self.not_before = now + delay

    def wrote(self, version: int, now: int) -> tuple[Request, ...]:
        """The status was written, as this resource version of the object."""
        self.written_version, self.verify_until = version, now + VERIFY
        return self.receive(Event.ACCEPTED, now)

    def receive(self, event: Event, now: int) -> tuple[Request, ...]:
        """Move by one event; gives what the owner has to do now, in this order."""
        asking = self._stage is Stage.ASKING
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
        if asking and event is Event.NOT_FOUND:
            self._announced = True  # another party removed it: not an eviction of ours
        return (*self._announcement(now), *(() if request is None else (request,)))

    def _enter(self, stage: Stage) -> None:
        if stage is not self._stage:
            self.not_before = 0
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
