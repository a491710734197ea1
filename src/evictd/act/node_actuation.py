"""Implements what the actuators of every node share: collections, stopping victims, removing their leftovers.

The standalone and the cluster actuator each have one. They decide which victims are resumed, and whose leftovers are removed.
"""

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Protocol

from evictd.act.gc.collector import Collector, NodeMoment
from evictd.act.gc.page_cache import PageCacheReclaimer
from evictd.act.memory_qos import enforce_memory_qos
from evictd.act.oom_score import enforce_oom_scores
from evictd.act.stop.cleanup import Cleanup
from evictd.act.stop.stopper import PodStopper
from evictd.act.stop.termination import Termination
from evictd.core.eviction.accounts.ledger import victim_until
from evictd.core.gc.container_gc import PodLifecycles
from evictd.core.model.decision import Decision, ReclaimNode, RecordEvent
from evictd.core.model.observation import Outcomes, Problem, Reclaim
from evictd.core.model.oom import MemoryQoSDifference, OomScoreDifference
from evictd.core.model.pod import Pod
from evictd.core.model.state import State, Victim
from evictd.core.units.duration import SECOND
from evictd.errors import RuntimeUnavailableError, SourceKind
from evictd.observe.pods.oom_score import containers_root
from evictd.observe.reading.reading import Reading
from evictd.observe.runtime.runtime_view import running_uids

_NAMED = 3
"""Number of processes that a problem names."""


class ActuatorLog(Protocol):
    """The log of actuators; no call waits."""

    def decision(self, decision: Decision, *, prefix: str = "") -> None:
        """Log a decision; `prefix` comes before its text."""
        ...

    def event(self, event: RecordEvent) -> None:
        """Log an event on the node."""
        ...

    def corrected(self, difference: OomScoreDifference | MemoryQoSDifference, *, prefix: str = "") -> None:
        """Log an OOM score or a Memory QoS value that is set; `prefix` comes before its text."""
        ...


class OomScoreWriter:
    """Writes OOM scores and Memory QoS values; `cgroup` is the host's cgroup file system, `proc` its /proc."""

    def __init__(self, log: ActuatorLog, *, cgroup: Path, proc: Path) -> None:
        self._log = log
        self._cgroup = cgroup
        self._proc = proc

    def write(self, differences: Iterable[OomScoreDifference | MemoryQoSDifference]) -> tuple[Problem, ...]:
        """Write each documented value and log it; return what could not be written."""
        each, root = tuple(differences), containers_root(self._cgroup)
        scores = [difference for difference in each if isinstance(difference, OomScoreDifference)]
        values = [difference for difference in each if isinstance(difference, MemoryQoSDifference)]
        corrected, problems = enforce_oom_scores(scores, cgroup_root=root, proc_root=self._proc)
        written, unwritten = enforce_memory_qos(values, cgroup_root=root)
        done: tuple[OomScoreDifference | MemoryQoSDifference, ...] = (*corrected, *written)
        for difference in done:
            self._log.corrected(difference)
        return (*problems, *unwritten)


class NodeActuation:
    """Collections, victims and leftovers of one node."""

    def __init__(
        self,
        *,
        stopper: PodStopper,
        collector: Collector,
        cleanup: Cleanup,
        log: ActuatorLog,
        page_cache: PageCacheReclaimer | None = None,
    ) -> None:
        self.stopper = stopper
        self._page_cache = page_cache
        self.cleanup = cleanup
        self.log = log
        self.collector = collector
        self._there: frozenset[str] = frozenset()
        """Uids of the victims whose end was not seen yet."""
        self._names: dict[str, str] = {}
        """`namespace/name` of each victim that the state waits for, by uid."""

    # --- queries ---------------------------------------------------------------------------------------------------

    def outcomes(self, state: State) -> Outcomes:
        """Return what has become of collections and victims; the actuator adds which victims are gone."""
        return Outcomes(
            reclaimed=self.collector.progress(),
            collecting=self.collector.collecting(),
            page_cache=None if self._page_cache is None else self._page_cache.outcome(),
            unused_images=self.collector.unused_images,
            stopped=frozenset(uid for uid in victims_of(state) if self.stopped(uid)),
            unkillable=frozenset(each.uid for each in self.stopper.in_flight() if each.unkillable),
        )

    def stopped(self, uid: str) -> bool:
        """Whether the runtime has stopped everything of a victim."""
        progress = self.stopper.progress(uid)
        return progress is not None and progress.finished

    def problems(self) -> tuple[Problem, ...]:
        """Return a problem for each victim that the runtime has not stopped, and for each leftover that could not be removed."""
        stopping = tuple(
            Problem(source=f"{SourceKind.STOPPING_POD.value} {each.uid}", detail=each.errors[-1])
            for each in self.stopper.in_flight()
            if each.errors
        )
        killing = tuple(
            Problem(source=f"{SourceKind.KILLING_POD.value} {each.uid}", detail=_unkillable(each.unkillable))
            for each in self.stopper.in_flight()
            if each.unkillable
        )
        return (*stopping, *killing, *self.cleanup.problems())

    # --- performing ------------------------------------------------------------------------------------------------

    def begin_reclaim(self, decision: ReclaimNode, reading: Reading, lifecycles: PodLifecycles | None) -> None:
        """Begin to collect; `lifecycles` say of which pods something may be collected."""
        if Reclaim.PAGE_CACHE not in decision.actions:
            self.collector.begin(decision, _moment(reading, lifecycles))
        elif self._page_cache is not None:
            self._page_cache.begin(decision.wanted_bytes or 0)

    def perform_collections(self, reading: Reading, lifecycles: PodLifecycles | None) -> None:
        """Begin the periodic collections that are due; none while it is not known which pods are gone."""
        if lifecycles is not None:
            self.collector.perform_duties(_moment(reading, lifecycles))

    def resume(self, victims: Iterable[Victim], reading: Reading) -> None:
        """Resume stopping the victims of the previous run with the rest of their grace periods."""
        known = {pod.uid: pod for pod in reading.observation.pods}
        for victim in victims:
            pod = known.get(victim.uid) or Pod(name="", namespace="", uid=victim.uid)
            self.stopper.resume(pod, grace_left(victim, reading.now))

    def advance(self, state: State, reading: Reading) -> tuple[Termination, ...]:
        """Retry leftovers that are due; return the victims whose end was first seen, or that are no longer waited for.

        A victim that is gone stays in `state` for seconds, while it is waited for what it owes. Then its record is dropped.
        """
        self.stopper.update(reading.view)
        if reading.view is not None:
            self.cleanup.retry(reading.now, running_uids(reading.view))
        victims = victims_of(state)
        names = self._names | {victim.uid: victim.full_name for victim in state.in_flight}
        there = frozenset(victim.uid for victim in state.in_flight if victim.gone_at is None)
        gone, self._there = self._there - there, there
        ended = [
            replace(progress, pod=names.get(uid, ""))
            for uid in sorted(gone)
            if (progress := self.stopper.progress(uid)) is not None
        ]
        for uid in self._names.keys() - victims:
            self.stopper.drop(uid)
        self._names = {victim.uid: victim.full_name for victim in state.in_flight}
        self.cleanup.retain(victims)
        return tuple(ended)


def victims_of(state: State) -> frozenset[str]:
    """Return the uids of the victims that a state waits for."""
    return frozenset(victim.uid for victim in state.in_flight)


def grace_left(victim: Victim, now: int) -> int:
    """Return the seconds of grace that a victim still has; its deadline says how much was seen to pass (`absence`)."""
    elapsed = max(victim_until(victim.grace_period_seconds, now) - victim.until, 0) // SECOND
    return max(victim.grace_period_seconds - elapsed, 0)


def _unkillable(pids: tuple[int, ...]) -> str:
    named = ", ".join(map(str, pids[:_NAMED]))
    return f"{len(pids)} of its processes cannot be killed: in uninterruptible sleep (state D), PID {named}"


def _moment(reading: Reading, lifecycles: PodLifecycles | None) -> NodeMoment:
    if lifecycles is None:
        raise RuntimeUnavailableError("the runtime's pods are not known, so nothing of theirs may be collected")
    return NodeMoment(now=reading.now, wall=reading.wall, lifecycles=lifecycles)
