"""Logs what would be done, and does none of it.

What the core decides differently in a dry run is in `core.eviction.synchronize`; `daemon.effects` lists the parts that a dry run
replaces.
"""

from collections.abc import Iterable
from typing import assert_never

from evictd.act.actuator import NodeActuator, Progress
from evictd.act.node_actuation import ActuatorLog
from evictd.core.model.decision import (
    Decision,
    EvictPod,
    ReclaimNode,
    RecordEvent,
    ReportConditions,
    Wait,
    WithdrawEviction,
)
from evictd.core.model.observation import Outcomes, Problem
from evictd.core.model.oom import MemoryQoSDifference, OomScoreDifference
from evictd.core.model.signal import SIGNALS, NodeCondition, Resource
from evictd.core.model.state import State
from evictd.observe.reading.reading import Reading

WOULD = "would "
UNLESS = "unless this reclaim frees enough, would "
"""Before an eviction for a resource of which something would have been reclaimed first: how much is not known."""

_Subject = tuple[object, ...]


class DryRunActuator:
    """Logs each thing that would be done once, as long as the pressure that it answers lasts.

    It holds the live actuator only to finish what was begun before a reload made the daemon dry: `advance` with a state that has
    no victims in flight begins nothing.
    """

    def __init__(self, live: NodeActuator, log: ActuatorLog) -> None:
        self._live = live
        self._log = log
        self._announced: set[_Subject] = set()
        self._reclaimed: set[Resource] = set()
        """What node-level reclaim would have freed some of since the pressure began."""
        self._evicting = False
        """Whether this cycle would evict: one pod can break its limit in cycle after cycle without any threshold met."""
        self._oom_scores: frozenset[_Subject] = frozenset()

    def outcomes(self, state: State) -> Outcomes:  # noqa: ARG002
        """Return collections that have ended at once and freed nothing; no victim has gone."""
        return Outcomes(reclaimed=(), dry_run=True)

    def problems(self) -> tuple[Problem, ...]:
        """Return the problems from before the dry run began, and those of reading."""
        return self._live.problems()

    def announce(self, decision: Decision) -> bool:
        """Log what would be done, once; conditions each time, since they are decided only when they change."""
        subject = _subject(decision)
        if isinstance(decision, Wait) or (subject in self._announced and not isinstance(decision, ReportConditions)):
            return False
        self._announced.add(subject)
        if isinstance(decision, ReclaimNode):
            self._reclaimed.add(SIGNALS[decision.threshold.signal].resource)
        cause = decision.because.threshold if isinstance(decision, EvictPod) else None
        depends = cause is not None and SIGNALS[cause.signal].resource in self._reclaimed
        self._log.decision(decision, prefix=UNLESS if depends else WOULD)
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

    def withdraw_eviction(self, decision: WithdrawEviction, reading: Reading) -> None:
        """Withdraw nothing: nothing was asked."""

    def advance(self, state: State, reading: Reading) -> Progress:
        """Finish evictions that were started before the dry run; forget announced decisions once the pressure is over.

        Those about a pod that is gone earlier: nothing ends the pressure in a dry run, and it may last for weeks.
        """
        if not state.thresholds_met and not self._evicting:
            self._announced.clear()
            self._reclaimed.clear()
        if not reading.observation.pods_unknown:
            there = {pod.uid for pod in reading.observation.pods}
            self._announced = {each for each in self._announced if each[0] is not EvictPod or each[1] in there}
        self._evicting = False
        return self._live.advance(state, reading)

    def perform_duties(self, reading: Reading) -> None:
        """Collect nothing, and suspend what was under way before the daemon became dry."""
        self.suspend(reading)

    def suspend(self, reading: Reading) -> None:
        """Suspend the live actuator."""
        self._live.suspend(reading)

    def heartbeat(self, reading: Reading) -> None:
        """Report nothing."""

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
    """Return the key of a decision: its subject without this cycle's numbers."""
    match decision:
        case EvictPod():
            return (EvictPod, decision.pod.uid, decision.because.signal_label)
        case WithdrawEviction():
            return (WithdrawEviction, decision.pod.uid)
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
