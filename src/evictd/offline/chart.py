"""What of a story goes into its picture: lines, levels, bands and marks, as plain values.

Nothing here knows how it is drawn; `plot` knows nothing of decisions.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

from evictd.core.decision import EvictPod, ReclaimNode, ThresholdFinding
from evictd.core.observation import signal_observations
from evictd.core.signal import NodeCondition, Signal
from evictd.core.threshold import Operator, Origin
from evictd.offline.rehearse import Cycle, Turn
from evictd.offline.words import pod_name


class MarkKind(Enum):
    """What was done."""

    RECLAIM = "reclaim"
    EVICTION = "eviction"


@dataclass(frozen=True, slots=True, kw_only=True)
class Level:
    """A threshold's limit, in the signal's unit; the kind is `hard`, `soft` or `min-reclaim`."""

    kind: str
    limit: int
    grace: int = 0
    """Grace period of a soft threshold, in nanoseconds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Panel:
    """One signal: what was available at each time (nanoseconds, amount), and its thresholds."""

    signal: Signal | None
    points: tuple[tuple[int, int], ...] = ()
    levels: tuple[Level, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Band:
    """A time during which a node condition was reported; nanoseconds."""

    condition: NodeCondition
    start: int
    end: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """Something that was done, to what, and the signal's amount it was decided on."""

    kind: MarkKind
    at: int
    text: str
    signal: Signal | None = None
    level: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Chart:
    """The whole picture; times in nanoseconds."""

    start: int = 0
    end: int = 0
    panels: tuple[Panel, ...] = ()
    bands: tuple[Band, ...] = ()
    marks: tuple[Mark, ...] = ()


def chart_of(cycles: Sequence[Cycle]) -> Chart:
    """Make the picture of a story."""
    if not cycles:
        return Chart()
    return Chart(
        start=cycles[0].at,
        end=cycles[-1].at,
        panels=_panels(cycles),
        bands=_bands(cycles),
        marks=tuple(mark for cycle in cycles for turn in cycle.turns for mark in _marks(cycle.at, turn)),
    )


# --- panels -----------------------------------------------------------------------------------------------------------


def _panels(cycles: Sequence[Cycle]) -> tuple[Panel, ...]:
    """Make a panel for each signal whose threshold was set, or that tells something of its own.

    Derived thresholds are left out where they stayed calm, or where their signal went as one that is shown: with one
    filesystem, containerfs is nodefs.
    """
    levels: dict[Signal, dict[str, Level]] = {}
    told: set[Signal] = set()
    derived: set[Signal] = set()
    for finding in _threshold_findings(cycles):
        signal = finding.threshold.signal
        levels.setdefault(signal, {}).update({level.kind: level for level in _levels(finding)})
        if finding.threshold.origin is not Origin.DERIVED:
            told.add(signal)
        elif finding.met or finding.kept_by_min_reclaim:
            derived.add(signal)
    points = {signal: _points(cycles, signal) for signal in told | derived}
    told |= {signal for signal in derived - told if all(points[signal] != points[shown] for shown in told)}
    return tuple(
        Panel(signal=signal, points=points[signal], levels=tuple(levels[signal].values()))
        for signal in Signal
        if signal in told
    )


def _threshold_findings(cycles: Sequence[Cycle]) -> list[ThresholdFinding]:
    found = (finding for cycle in cycles for turn in cycle.turns for finding in turn.step.findings)
    return [f for f in found if isinstance(f, ThresholdFinding) and f.threshold.operator is Operator.LESS_THAN]


def _levels(finding: ThresholdFinding) -> list[Level]:
    threshold = finding.threshold
    kind = "hard" if threshold.hard else "soft"
    levels = [Level(kind=kind, limit=finding.limit.value(), grace=threshold.grace_period)]
    if finding.kept_by_min_reclaim and threshold.min_reclaim is not None:
        more = threshold.min_reclaim.resolve(finding.capacity)
        levels.append(Level(kind="min-reclaim", limit=(finding.limit + more).value()))
    return levels


def _points(cycles: Sequence[Cycle], signal: Signal) -> tuple[tuple[int, int], ...]:
    points = ((cycle.at, _available(turn, signal)) for cycle in cycles for turn in cycle.turns)
    return tuple((at, value) for at, value in points if value is not None)


def _available(turn: Turn, signal: Signal) -> int | None:
    node = turn.observation.node
    seen = None if node is None else signal_observations(node).get(signal)
    return None if seen is None else seen.available.value()


# --- bands and marks --------------------------------------------------------------------------------------------------


def _bands(cycles: Sequence[Cycle]) -> tuple[Band, ...]:
    """A band lasts from the step that first reports a condition to the step that no longer does."""
    bands: list[Band] = []
    open_since: dict[NodeCondition, int] = {}
    for cycle in cycles:
        present = cycle.state.node_conditions
        over = [condition for condition in open_since if condition not in present]
        bands += [Band(condition=one, start=open_since.pop(one), end=cycle.at) for one in over]
        for condition in present:
            open_since.setdefault(condition, cycle.at)
    bands += [Band(condition=c, start=start, end=cycles[-1].at) for c, start in open_since.items()]
    return tuple(bands)


def _marks(at: int, turn: Turn) -> list[Mark]:
    marks = []
    for decision in turn.step.decisions:
        if isinstance(decision, ReclaimNode):
            what = ", ".join(action.value for action in decision.actions)
            signal = decision.threshold.signal
            level = _available(turn, signal)
            text = f"reclaim {what}"
            marks.append(Mark(kind=MarkKind.RECLAIM, at=at, text=text, signal=signal, level=level))
        elif isinstance(decision, EvictPod) and not decision.shortens:
            threshold = decision.because.threshold
            if threshold is None:
                text = f"evict {pod_name(decision.pod)} ({decision.because.reason.value})"
                marks.append(Mark(kind=MarkKind.EVICTION, at=at, text=text))
                continue
            level = _available(turn, threshold.signal)
            text = f"evict {pod_name(decision.pod)}"
            marks.append(Mark(kind=MarkKind.EVICTION, at=at, text=text, signal=threshold.signal, level=level))
    return marks
