"""How do decisions become deeds?

The one place where each kind of decision is carried out, in the order decided, by hands that are given. No hand waits for a
victim, a collector or a server. One that fails is told, and the rest is done all the same: a report that cannot be written
must not save a pod that has to go. Dry run is one branch: it says what would be done, once, and touches nothing.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Protocol, assert_never

from evictd.core.decision import Decision, EvictPod, ReclaimNode, RecordEvent, ReportConditions, Wait
from evictd.core.observation import Outcomes
from evictd.core.pod import Pod
from evictd.core.signal import NodeCondition
from evictd.core.state import CleaningUp, State, Step, Watching
from evictd.errors import EvictdError


class Hands(Protocol):
    """Who does it. Every call returns at once; what it set going is followed elsewhere."""

    def outcomes(self, state: State) -> Outcomes:
        """Say what became of what was set going."""
        ...

    def report_conditions(self, conditions: tuple[NodeCondition, ...]) -> None:
        """Say which conditions the node has."""
        ...

    def record_event(self, event: RecordEvent) -> None:
        """Note an event on the node."""
        ...

    def begin_reclaim(self, decision: ReclaimNode) -> None:
        """Set the collectors to work."""
        ...

    def begin_eviction(self, decision: EvictPod) -> None:
        """Send a pod on its way, or cut its grace short."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """A decision that could not be carried out, and why."""

    decision: Decision
    error: EvictdError


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """A pod that was to go and stays, because whoever was asked said no; `detail` is their word."""

    pod: Pod
    detail: str


def perform(decisions: Iterable[Decision], hands: Hands) -> tuple[Failure, ...]:
    """Carry out every decision; gives those that failed."""
    failures = []
    for decision in decisions:
        try:
            _perform_one(decision, hands)
        except EvictdError as error:
            failures.append(Failure(decision=decision, error=error))
    return tuple(failures)


def _perform_one(decision: Decision, hands: Hands) -> None:
    match decision:
        case ReportConditions():
            hands.report_conditions(decision.conditions)
        case RecordEvent():
            hands.record_event(decision)
        case ReclaimNode():
            hands.begin_reclaim(decision)
        case EvictPod():
            hands.begin_eviction(decision)
        case Wait():
            pass
        case _:
            assert_never(decision)


class Performer:
    """`perform`, or in a dry run only words: `tell` is called once for each new thing that would be done."""

    def __init__(self, hands: Hands, *, dry_run: bool, tell: Callable[[Decision], None]) -> None:
        self.dry_run = dry_run
        self._hands = hands
        self._tell = tell
        self._told: set[tuple[object, ...]] = set()

    def perform(self, step: Step) -> tuple[Failure, ...]:
        """Carry the decisions out, or tell those that are news."""
        news = self.news(step)
        for decision in news:
            self._tell(decision)
        if not self.dry_run:
            return perform(step.decisions, self._hands)
        self._told.update(_subject(decision) for decision in news)
        return ()

    def outcomes(self, state: State) -> Outcomes:
        """Say what became of the decisions so far: in a dry run collectors have ended at once, and freed nothing."""
        return Outcomes(reclaimed=()) if self.dry_run else self._hands.outcomes(state)

    def news(self, step: Step) -> tuple[Decision, ...]:
        """Pick what is worth telling: in a dry run nothing twice while the pressure, or the limit broken, lasts."""
        wanted = tuple(decision for decision in step.decisions if not isinstance(decision, Wait))
        if not self.dry_run:
            return wanted
        if not step.state.thresholds_met and not any(isinstance(decision, EvictPod) for decision in wanted):
            self._told.clear()
        # Conditions are decided only when they change, so they are always news.
        return tuple(d for d in wanted if isinstance(d, ReportConditions) or _subject(d) not in self._told)

    def remembered(self, state: State) -> State:
        """Give the state to go on with: in a dry run nobody left, so nobody is waited for."""
        if not self.dry_run or not state.releases:
            return state
        phase = Watching() if isinstance(state.phase, CleaningUp) else state.phase
        return replace(state, phase=phase, releases=())


def _subject(decision: Decision) -> tuple[object, ...]:
    """Give what a decision is about, whatever its numbers are this time."""
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
