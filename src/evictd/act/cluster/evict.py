"""How does a pod of a cluster go, and when is it really gone?

Beside a kubelet a status patch alone evicts nothing, and a stopped container is started again; what is robust is to delete the
object, and what is fast is to stop the containers through the runtime at the same time. So: soft thresholds ask the Eviction
API, hard ones delete and stop at once, and only a node without a kubelet gets its status written. Which way, and what a
budget's refusal means, is decided in `core.termination`; each pod's path is drawn in `departure`.
"""

import threading
from collections import deque
from collections.abc import Callable, Collection
from typing import Protocol

from evictd.act.cluster.conditions import rfc3339
from evictd.act.cluster.departure import (
    REPAIRS,
    SENDING,
    SETTLED,
    UNSURE,
    VERIFY,
    Departure,
    Stage,
    first_stage,
)
from evictd.act.cluster.outbox import Call
from evictd.act.perform import Refusal
from evictd.clients.kube.eviction import Answer, EvictionClient, Outcome
from evictd.clients.kube.pods import PodSnapshot
from evictd.core.decision import EvictPod
from evictd.core.duration import MILLISECOND, MINUTE, SECOND
from evictd.core.pod import Pod
from evictd.core.termination import (
    HARD_BYPASS,
    AfterRefusal,
    Leniency,
    Way,
    after_refusal,
    choose_way,
    is_hard,
    owner_of,
)
from evictd.errors import ApiRefusedError

BEFORE_KILL = 500 * MILLISECOND
"""How long a hard eviction waits for conditions and taints to be shown first, at most."""
ASK_PATIENCE = 3 * SECOND
"""How long a hard eviction waits for the Eviction API's answer before its containers are stopped all the same."""
POLL = 100 * MILLISECOND
UNTOLD = 1000
"""How many evictions and refusals are kept for whoever asks for them."""
REMEMBERED = 2 * MINUTE
"""How long a settled departure is known to `cleaned_up` and `withdrawn`."""


class Stopper(Protocol):
    """Stops pods through the container runtime. Its methods return at once and may be called from any thread."""

    def stop(self, pod: Pod, grace_seconds: int) -> None:
        """Begin to stop everything of this pod; for one on its way already, shorten its grace."""
        ...

    def stopped(self, uid: str) -> bool:
        """Whether nothing of a pod that was told to stop runs any more."""
        ...

    def again(self, pod: Pod, grace_seconds: int) -> None:
        """Stop a pod that had stopped and was started again."""
        ...

    def runs(self, uid: str) -> bool:
        """Whether any container of it ran when the runtime was last asked."""
        ...

    def forget(self, uid: str) -> None:
        """Drop the record of a pod that nobody asks about any more."""
        ...


class ClusterEvictor:
    """Ends pods through the API server and the runtime; a lane of the outbox.

    `asked` is `None` for Auto. `kubelet` tells whether one looks after the node's pods (`None`: not known yet, taken for yes,
    because deleting is right in both cases). `conditions_pending` tells whether the node's conditions are still to be shown.
    `announce` is called once for each eviction, as soon as it is sure, and before anything is killed.
    """

    def __init__(
        self,
        client: EvictionClient,
        stopper: Stopper,
        snapshot: Callable[[], PodSnapshot],
        *,
        asked: Way | None,
        eviction_timeout: int,
        kubelet: Callable[[], bool | None],
        conditions_pending: Callable[[], bool],
        announce: Callable[[EvictPod, int], None],
        wall: Callable[[], int],
        stir: Callable[[], None],
    ) -> None:
        self._client = client
        self._stopper = stopper
        self._snapshot = snapshot
        self._asked = asked
        self._timeout = eviction_timeout
        self._kubelet = kubelet
        self._conditions_pending = conditions_pending
        self._announce = announce
        self._wall = wall
        self._stir = stir
        self._lock = threading.RLock()
        self._departures: dict[str, Departure] = {}
        self._leniency = Leniency()
        self._sending: tuple[Departure, Stage] | None = None
        self._evicted: deque[EvictPod] = deque(maxlen=UNTOLD)
        self._refusals: deque[Refusal] = deque(maxlen=UNTOLD)
        self._problems: deque[tuple[str, str]] = deque(maxlen=20)

    # --- from the loop ------------------------------------------------------------------------------------------------

    def begin(self, decision: EvictPod, now: int) -> None:
        """Send a pod on its way, or cut short the grace of one that is; returns at once.

        A pod that had stopped and is chosen again runs again, as a kubelet sees to while the API server is away: it is stopped
        once more, and what the server is told of it stays as it was.
        """
        hard = is_hard(decision) or decision.shortens
        with self._lock:
            known = self._departures.get(decision.pod.uid)
            if known is not None and known.stage is not Stage.WITHDRAWN:
                if known.stopped:
                    known.stopped = False
                    if known.stage is Stage.WRITING:
                        known.stage = Stage.STOPPING  # nothing is written while anything runs
                    self._stopper.again(decision.pod, decision.grace_period_seconds)
                elif decision.shortens or hard > known.hard:
                    self._shorten(known, decision, now)
            else:
                # A decision that only shortens was announced when it was first made, if need be by an earlier life.
                told = decision.shortens and known is None
                self._departures[decision.pod.uid] = self._departure(decision, now, hard=hard, told=told)
            self._advance(now)
        self._stir()

    def cleaned_up(self, now: int) -> frozenset[str]:
        """Uids of the pods sent away of which nothing is left running. Also moves on what waits for the runtime."""
        with self._lock:
            self._advance(now)
            pods = self._snapshot()
            return frozenset(uid for uid, each in self._departures.items() if self._is_gone(each, pods))

    def withdrawn(self) -> frozenset[str]:
        """Uids of the pods that were chosen but stay, because a budget protects them: nothing of them will be freed."""
        with self._lock:
            return frozenset(uid for uid, each in self._departures.items() if each.stage is Stage.WITHDRAWN)

    def may_stop(self, uid: str) -> bool | None:
        """Whether a soft threshold's victim of an earlier life may be stopped without a word to anybody; `None`: not known yet.

        What was only asked of the Eviction API may have been refused, or never sent; the object says whether anybody agreed.
        """
        if choose_way(self._asked, hard=False, kubelet=self._kubelet() is not False) is Way.STATUS:
            return True
        pods = self._snapshot()
        if not pods.synced:
            return None
        entry = pods.pods.get(uid)
        return entry is None or entry.terminal or entry.pod.deletion_grace_period_seconds is not None

    def withheld(self, now: int, *, hard: bool = True, never: Collection[str] = ()) -> frozenset[str]:
        """Uids of the pods not to be chosen at this moment: protected by a budget, or recreated here again and again.

        `hard`: whether a hard threshold is due, which nobody escapes for more than ten seconds. `never`: who is not chosen
        anyway, so that nobody waits for their turn.
        """
        with self._lock:
            pods = [entry.pod for entry in self._snapshot().pods.values() if not entry.terminal]
            return self._leniency.spared(pods, now, hard=hard, never={*never, *self.in_flight()})

    def take_evicted(self) -> tuple[EvictPod, ...]:
        """Give the evictions that have become sure since this was asked last."""
        with self._lock:
            evicted = tuple(self._evicted)
            self._evicted.clear()
        return evicted

    def take_refusals(self) -> tuple[Refusal, ...]:
        """Give the refusals by a budget since this was asked last that made a pod stay."""
        with self._lock:
            refusals = tuple(self._refusals)
            self._refusals.clear()
        return refusals

    @property
    def problems(self) -> tuple[str, ...]:
        """What the API server refused for good, as long as the pod is remembered."""
        return tuple(text for _, text in tuple(self._problems))

    def in_flight(self) -> tuple[str, ...]:
        """Uids of the pods on their way, in the order of their beginning."""
        with self._lock:
            return tuple(uid for uid, each in self._departures.items() if each.stage not in SETTLED)

    # --- a lane of the outbox -----------------------------------------------------------------------------------------

    def advance(self, now: int) -> int | None:
        """Move on what waits for the runtime or for the pods' list; tells when to do so again."""
        with self._lock:
            self._advance(now)
        return self.due_at(now)

    def call(self, now: int) -> Call | None:
        """Give the request of the pod that waits longest; hard ones first."""
        with self._lock:
            ready = [each for each in self._departures.values() if each.stage in SENDING and now >= each.not_before]
            if not ready:
                return None
            chosen = min(ready, key=lambda each: (not each.hard, each.begun_at))
            self._sending = chosen, chosen.stage
            return lambda: self._send(chosen, now)

    def due_at(self, now: int) -> int | None:
        """Soon, as long as a pod is on its way."""
        return now + POLL if self.in_flight() else None

    def refused(self, error: ApiRefusedError, now: int) -> None:
        """Take the next way that may be open, and say what was refused."""
        with self._lock:
            if self._sending is None:
                return
            departure, sent = self._sending
            self._problems.append((departure.uid, str(error)))
            if departure.stage is not sent:
                return  # it was cut short while the request was on its way: what is next was not refused
            match departure.stage:
                case Stage.ASKING:
                    departure.skip_to_delete()
                case Stage.MARKING:
                    departure.stage = Stage.DELETING
                case Stage.DELETING:
                    departure.stage, departure.stop_due = Stage.STOPPING, True
                case _:
                    self._settle(departure, Stage.DONE, now)

    # --- one departure ------------------------------------------------------------------------------------------------

    def _departure(self, decision: EvictPod, now: int, *, hard: bool, told: bool) -> Departure:
        kubelet = self._kubelet() is not False
        way = choose_way(self._asked, hard=hard, kubelet=kubelet)
        # Without a kubelet nobody else stops the containers of a deleted pod.
        stop_due = way is Way.STATUS or not kubelet or (hard and way is Way.DELETE)
        stage = first_stage(way, decision)
        return Departure(decision=decision, hard=hard, stage=stage, begun_at=now, stop_due=stop_due, announced=told)

    def _shorten(self, departure: Departure, decision: EvictPod, now: int) -> None:
        departure.decision, departure.hard, departure.stop_due = decision, True, True
        departure.begun_at = min(departure.begun_at, now - BEFORE_KILL)
        if departure.stopping and not departure.stopped:
            self._stopper.stop(decision.pod, decision.grace_period_seconds)
        if departure.stage in {Stage.ASKING, Stage.LEAVING}:
            departure.stage, departure.not_before = Stage.DELETING, 0

    def _advance(self, now: int) -> None:
        pods = self._snapshot()
        for departure in self._departures.values():
            self._stop_if_due(departure, now)
            # Noted here, because the stopper's record goes when the loop waits for this pod no more.
            if departure.stopping and not departure.stopped and self._stopper.stopped(departure.uid):
                departure.stopped = True
                departure.settled_at = None if departure.settled_at is None else now
            if departure.stage is Stage.STOPPING and departure.stopped:
                departure.stage = Stage.WRITING
            elif departure.stage is Stage.VERIFYING:
                self._verify(departure, pods, now)
            elif departure.stage is Stage.LEAVING and self._is_gone(departure, pods):
                self._settle(departure, Stage.DONE, now)
        old = [
            uid
            for uid, each in self._departures.items()
            if each.settled_at is not None and now - each.settled_at > REMEMBERED and each.stopped >= each.stopping
        ]
        for uid in old:
            del self._departures[uid]
            self._stopper.forget(uid)
            self._problems = deque((each for each in self._problems if each[0] != uid), maxlen=self._problems.maxlen)

    def _stop_if_due(self, departure: Departure, now: int) -> None:
        waited = now - departure.begun_at
        # After a refusal the budget has its time as well, and the server's answer at its end is waited for as long as the first.
        patience = ASK_PATIENCE + (HARD_BYPASS if departure.not_before else 0)
        if departure.hard and departure.stage is Stage.ASKING and waited >= patience:
            departure.stop_due = True  # nobody answers
            departure.skip_to_delete()
        if not departure.announced and departure.stage not in UNSURE:
            departure.announced = True
            self._evicted.append(departure.decision)
            self._announce(departure.decision, now)
        if departure.stop_due and not departure.stopping and departure.stage not in SETTLED:
            if waited < BEFORE_KILL and self._conditions_pending():
                return
            departure.stopping = True
            self._count(departure, now)
            self._stopper.stop(departure.decision.pod, departure.decision.grace_period_seconds)

    def _count(self, departure: Departure, now: int) -> None:
        """Count an eviction that is really under way against the pod's owner, once."""
        if not departure.counted:
            departure.counted = True
            self._leniency = self._leniency.evicted(owner_of(departure.decision.pod), now)

    def _verify(self, departure: Departure, pods: PodSnapshot, now: int) -> None:
        """See whether the status that was written is still there: a kubelet may have started the pod again."""
        entry = pods.pods.get(departure.uid)
        version = int(entry.resource_version) if entry is not None and entry.resource_version.isdigit() else 0
        if entry is None or (entry.terminal and now >= departure.verify_until):
            self._settle(departure, Stage.DONE, now)
        elif not entry.terminal and version > departure.written_version:
            departure.repairs += 1
            if departure.repairs > REPAIRS:
                departure.skip_to_delete()
            else:
                departure.stage = Stage.STOPPING
            departure.stopped = False
            self._stopper.again(departure.decision.pod, departure.decision.grace_period_seconds)
        elif now >= departure.verify_until + VERIFY:
            self._settle(departure, Stage.DONE, now)  # the watch is silent; what is known is that it was written

    def _is_gone(self, departure: Departure, pods: PodSnapshot) -> bool:
        """Whether nothing of it runs: the runtime says so, or the API server has no such pod any more."""
        if departure.stage is Stage.WITHDRAWN:
            return False
        if departure.stopping:
            return departure.stopped
        entry = pods.pods.get(departure.uid)
        return pods.synced and not pods.problem and (entry is None or entry.terminal)

    def _settle(self, departure: Departure, stage: Stage, now: int) -> None:
        departure.stage, departure.settled_at = stage, now

    # --- requests -----------------------------------------------------------------------------------------------------

    def _send(self, departure: Departure, now: int) -> None:
        decision, stage = departure.decision, departure.stage
        pod, since = decision.pod, rfc3339(self._wall())
        match stage:
            case Stage.ASKING:
                outcome = self._client.evict(pod, decision.grace_period_seconds)
            case Stage.MARKING if decision.condition is not None:
                outcome = self._client.mark_disrupted(pod, decision.condition, since)
            case Stage.WRITING:
                outcome = self._client.mark_evicted(pod, decision.message, decision.condition, since)
            case _:
                outcome = self._client.delete(pod, decision.grace_period_seconds)
        with self._lock:
            if departure.stage is stage:  # else it was cut short while the request was on its way
                self._answered(departure, outcome, now)

    def _answered(self, departure: Departure, outcome: Outcome, now: int) -> None:
        if outcome.answer is Answer.BLOCKED:
            self._blocked(departure, outcome, now)
        elif outcome.answer is Answer.GONE:
            # Somebody was faster; what still runs of it is stopped if it is ours to stop.
            departure.announced = departure.announced or departure.stage is Stage.ASKING
            departure.stage = Stage.LEAVING
        elif departure.stage is Stage.MARKING:
            departure.stage = Stage.DELETING
        elif departure.stage is Stage.WRITING:
            departure.stage = Stage.VERIFYING
            departure.written_version = outcome.version
            departure.verify_until = now + VERIFY
        else:
            self._count(departure, now)
            departure.stop_due = departure.stop_due or departure.hard
            departure.stage = Stage.LEAVING

    def _blocked(self, departure: Departure, outcome: Outcome, now: int) -> None:
        after = outcome.retry_after_seconds
        retry = None if after is None else after * SECOND
        self._leniency = self._leniency.refused(departure.uid, now, retry, hold=self._timeout)
        waited = self._leniency.waited(departure.uid, now)
        match after_refusal(self._asked, hard=departure.hard, waited=waited, eviction_timeout=self._timeout):
            case AfterRefusal.BYPASS:
                departure.skip_to_delete()
            case AfterRefusal.ASK_AGAIN:
                departure.not_before = now + min(retry or SECOND, SECOND)
            case AfterRefusal.NEXT_CANDIDATE:
                self._refusals.append(Refusal(pod=departure.decision.pod, detail=outcome.message))
                self._settle(departure, Stage.WITHDRAWN, now)
