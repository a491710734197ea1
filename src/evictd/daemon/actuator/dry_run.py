"""Carries nothing out: logs what would be done.

Everything that the shell does differently in a dry run is in this file; what the core decides differently is in
`core.eviction.synchronize`. `Effects` lists the parts that a dry run replaces.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Protocol, assert_never

from evictd.act.actuator import Actuator, Followed, Progress
from evictd.act.perform import Failure
from evictd.core.model.decision import Decision, EvictPod, ReclaimNode, RecordEvent, ReportConditions, Wait
from evictd.core.model.observation import Outcomes, Problem
from evictd.core.model.oom import MemoryQoSDifference, OomScoreDifference
from evictd.core.model.signal import NodeCondition
from evictd.core.model.state import State
from evictd.daemon.actuator.node import ActuatorLog
from evictd.daemon.store.recorder import Cycle
from evictd.observe.reading.reading import Reading

WOULD = "would "

_Subject = tuple[object, ...]


class NodeActuator(Actuator[Reading], Followed[Reading], Protocol):
    """An actuator of this daemon's readings."""


class OomScoreSetter(Protocol):
    """Sets OOM scores and Memory QoS values."""

    def write(self, differences: Iterable[OomScoreDifference | MemoryQoSDifference]) -> tuple[Problem, ...]:
        """Set each `oom_score_adj` and memory file to what is documented; gives those that could not be set."""
        ...


class Checkpoints(Protocol):
    """Keeps the state for the next run."""

    def save(self, state: State, *, always: bool = False) -> None:
        """Write a checkpoint if it is not the one written last."""
        ...


class Reactions(Protocol):
    """Counts what was performed."""

    def performed(self, cycle: Cycle, failures: Iterable[Failure], *, since: int, acted: int) -> None:
        """Count a cycle; `since` is when the crossing was noticed, `acted` when the decisions had been performed."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Effects:
    """The parts by which a cycle has effects; `label` is for the status line."""

    actuator: NodeActuator
    oom_scores: OomScoreSetter
    checkpoints: Checkpoints
    reactions: Reactions
    hooks: Callable[[Cycle], None] | None = None
    """Starts the commands that are configured for the evictions of a cycle; `None` for none, and always in a dry run."""
    label: str = ""


def effects_of(live: Effects, current: Effects, log: ActuatorLog, *, dry_run: bool) -> Effects:
    """Give the live effects, or those of a dry run: the current ones where it is one already, so that it repeats nothing."""
    if not dry_run:
        return live
    if current is not live:
        return current
    dry = DryRunActuator(live.actuator, log)
    return Effects(actuator=dry, oom_scores=dry, checkpoints=dry, reactions=dry, label="dry run")


class DryRunActuator:
    """Logs each thing that would be done once, as long as the pressure that it answers lasts.

    It holds the live actuator only to finish what was begun before a reload made the daemon dry: `advance` with a state that has
    no victims in flight begins nothing.
    """

    def __init__(self, live: Followed[Reading], log: ActuatorLog) -> None:
        self._live = live
        self._log = log
        self._announced: set[_Subject] = set()
        self._evicting = False
        """Whether this cycle would evict: one pod can break its limit in cycle after cycle without any threshold met."""
        self._oom_scores: frozenset[_Subject] = frozenset()

    def outcomes(self, state: State) -> Outcomes:  # noqa: ARG002
        """Give collections that have ended at once and freed nothing; no victim has gone."""
        return Outcomes(reclaimed=(), dry_run=True)

    def problems(self) -> tuple[Problem, ...]:
        """Name what could not be carried out before the daemon became dry, and what cannot be read."""
        return self._live.problems()

    def announce(self, decision: Decision) -> bool:
        """Log what would be done, once; conditions each time, since they are decided only when they change."""
        subject = _subject(decision)
        if isinstance(decision, Wait) or (subject in self._announced and not isinstance(decision, ReportConditions)):
            return False
        self._announced.add(subject)
        self._log.decision(decision, prefix=WOULD)
        return True

    def report_conditions(self, conditions: tuple[NodeCondition, ...], reading: Reading) -> None:
        """Report nothing."""

    def record_event(self, event: RecordEvent, reading: Reading) -> None:
        """Record nothing."""

    def begin_reclaim(self, decision: ReclaimNode, reading: Reading) -> None:
        """Collect nothing."""

    def begin_eviction(self, decision: EvictPod, reading: Reading) -> None:  # noqa: ARG002
        """Evict nothing."""
        self._evicting = True

    def advance(self, state: State, reading: Reading) -> Progress:
        """Finish what was begun before; forget what was announced once the pressure is over."""
        if not state.thresholds_met and not self._evicting:
            self._announced.clear()
        self._evicting = False
        return self._live.advance(state, reading)

    def perform_duties(self, reading: Reading) -> None:  # noqa: ARG002
        """Collect nothing, and have nothing collected that was due before the daemon became dry."""
        self.suspend_duties()

    def suspend_duties(self) -> None:
        """Pass on."""
        self._live.suspend_duties()

    def heartbeat(self, reading: Reading) -> None:
        """Report nothing."""

    def save(self, state: State, *, always: bool = False) -> None:
        """Save nothing: the state file keeps the victims of a live run before this one."""

    def performed(self, cycle: Cycle, failures: Iterable[Failure], *, since: int, acted: int) -> None:
        """Count nothing."""

    def write(self, differences: Iterable[OomScoreDifference | MemoryQoSDifference]) -> tuple[Problem, ...]:
        """Log what would be set, each difference once for as long as it lasts."""
        found: dict[_Subject, OomScoreDifference | MemoryQoSDifference] = {
            (each.cgroup, _what(each), each.found, each.expected): each for each in differences
        }
        for key, difference in found.items():
            if key not in self._oom_scores:
                self._log.corrected(difference, prefix=WOULD)
        self._oom_scores = frozenset(found)
        return ()


def _subject(decision: Decision) -> _Subject:
    """Give what a decision is about, without this cycle's numbers."""
    match decision:
        case EvictPod():
            return (EvictPod, decision.pod.uid, decision.because.signal_label)
        case ReclaimNode():
            return (ReclaimNode, decision.threshold.identity)
        case RecordEvent():
            return (RecordEvent, decision.reason, decision.message)
        case ReportConditions():
            return (ReportConditions, decision.conditions)
        case Wait():
            return (Wait,)
        case _:
            assert_never(decision)


def _what(difference: OomScoreDifference | MemoryQoSDifference) -> str:
    return difference.file if isinstance(difference, MemoryQoSDifference) else difference.container
