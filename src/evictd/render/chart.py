"""Lines, levels, bands and marks of the picture of a simulation, as plain values that `plot` draws."""

from collections.abc import Iterator, Sequence
from enum import Enum

from evictd.core.frozen import frozen
from evictd.core.model.decision import EvictPod, ReclaimNode
from evictd.core.model.finding import (
    NoAction,
    NoActionReason,
    PodSkipped,
    PreferenceApplied,
    SkipReason,
    ThresholdFinding,
)
from evictd.core.model.observation import signal_observations
from evictd.core.model.signal import SIGNALS, NodeCondition, Signal
from evictd.core.model.threshold import Operator, Origin
from evictd.render.text import pod_name
from evictd.simulation import SimulatedCycle, Turn


class MarkKind(Enum):
    """The kind of action."""

    RECLAIM = "reclaim"
    EVICTION = "eviction"
    FINDING = "finding"
    """A reason why no pod goes, or why another one does, from the cycle in which it begins."""
    REJECTION = "rejection"
    """A pod that was not admitted."""


@frozen
class Level:
    """A threshold's limit, in the signal's unit; the kind is `hard`, `soft` or `min-reclaim`."""

    kind: str
    limit: int
    grace: int = 0
    """Grace period of a soft threshold, in nanoseconds."""


@frozen
class Panel:
    """One signal: what was available at each time (nanoseconds, amount), and its thresholds."""

    signal: Signal | None
    points: tuple[tuple[int, int | None], ...] = ()
    """`None` where the signal was not read."""
    levels: tuple[Level, ...] = ()


@frozen
class Band:
    """A time during which a node condition was reported; nanoseconds."""

    condition: NodeCondition
    start: int
    end: int
    held: bool = False
    """Whether only the transition period kept the condition, because no threshold was met any more."""


@frozen
class Mark:
    """Something that was done, to what, and the signal's amount it was decided on."""

    kind: MarkKind
    at: int
    text: str
    signal: Signal | None = None
    level: int | None = None


@frozen
class Chart:
    """The whole picture; times in nanoseconds."""

    start: int = 0
    end: int = 0
    panels: tuple[Panel, ...] = ()
    bands: tuple[Band, ...] = ()
    marks: tuple[Mark, ...] = ()


def chart_of(cycles: Sequence[SimulatedCycle]) -> Chart:
    """Make the picture of a simulation."""
    if not cycles:
        return Chart()
    return Chart(
        start=cycles[0].at,
        end=cycles[-1].at,
        panels=_panels(cycles),
        bands=_bands(cycles),
        marks=tuple(sorted([*_decided(cycles), *_found(cycles), *_rejected(cycles)], key=lambda mark: mark.at)),
    )


# --- panels -----------------------------------------------------------------------------------------------------------


def _panels(cycles: Sequence[SimulatedCycle]) -> tuple[Panel, ...]:
    """Make a panel for each signal whose threshold was set, or that tells something of its own.

    Derived thresholds are left out where they stayed calm, or where their signal went as one that is shown: with one
    filesystem, containerfs is nodefs.
    """
    levels: dict[Signal, dict[str, Level]] = {}
    shown: set[Signal] = set()
    derived: set[Signal] = set()
    for finding in _threshold_findings(cycles):
        signal = finding.threshold.signal
        levels.setdefault(signal, {}).update({level.kind: level for level in _levels(finding)})
        if finding.threshold.origin is not Origin.DERIVED:
            shown.add(signal)
        elif finding.met or finding.kept_by_min_reclaim:
            derived.add(signal)
    points = {signal: _points(cycles, signal) for signal in shown | derived}
    shown |= {signal for signal in derived - shown if all(points[signal] != points[other] for other in shown)}
    return tuple(
        Panel(signal=signal, points=points[signal], levels=tuple(levels[signal].values()))
        for signal in Signal
        if signal in shown
    )


def _threshold_findings(cycles: Sequence[SimulatedCycle]) -> list[ThresholdFinding]:
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


def _points(cycles: Sequence[SimulatedCycle], signal: Signal) -> tuple[tuple[int, int | None], ...]:
    return tuple((cycle.at, _available(turn, signal)) for cycle in cycles for turn in cycle.turns)


def _available(turn: Turn, signal: Signal) -> int | None:
    node = turn.observation.node
    seen = None if node is None else signal_observations(node).get(signal)
    return None if seen is None else seen.available.value()


# --- bands and marks --------------------------------------------------------------------------------------------------


def _bands(cycles: Sequence[SimulatedCycle]) -> tuple[Band, ...]:
    """Return bands: each lasts from the step that first reports a condition to the step that ends it or changes `held`."""
    bands: list[Band] = []
    running: dict[NodeCondition, tuple[bool, int]] = {}
    for cycle in cycles:
        pressed = {
            SIGNALS[finding.threshold.signal].condition
            for finding in _threshold_findings([cycle])
            if finding.met or finding.kept_by_min_reclaim
        }
        present = {condition: condition not in pressed for condition in cycle.state.node_conditions}
        for condition, (held, start) in tuple(running.items()):
            if present.get(condition) is not held:
                bands.append(Band(condition=condition, start=start, end=cycle.at, held=held))
                del running[condition]
        for condition, held in present.items():
            running.setdefault(condition, (held, cycle.at))
    bands += [Band(condition=c, start=start, end=cycles[-1].at, held=held) for c, (held, start) in running.items()]
    return tuple(bands)


_TOLD = {
    NoActionReason.PROTECTED_CULPRIT: "protected culprit",
    NoActionReason.UNMEASURED_CULPRIT: "unmeasured culprit",
    NoActionReason.EVICTIONS_DO_NOT_HELP: "evictions do not help",
    NoActionReason.THRESHOLD_NEVER_CLEAR: "threshold never clear",
    NoActionReason.EVICTION_LIMIT_REACHED: "eviction limit reached",
    NoActionReason.NOTHING_HELPS: "no eviction helps",
    NoActionReason.NOTHING_EVICTABLE: "no pod evictable",
    NoActionReason.HELD_BACK: "held back",
    NoActionReason.NO_POD_MEASURED: "no pod measured",
    NoActionReason.NOT_SHORT_OF_MEMORY: "not short of memory",
}
"""Reasons that are the point of a picture; what is only waited for is not."""


def _found(cycles: Sequence[SimulatedCycle]) -> Iterator[Mark]:
    before: set[str] = set()
    for cycle in cycles:
        texts: dict[str, Mark] = {}
        for turn in cycle.turns:
            for finding in turn.step.findings:
                signal = None
                if isinstance(finding, NoAction) and finding.why in _TOLD:
                    text = _TOLD[finding.why] + ("" if finding.pod is None else f" {pod_name(finding.pod)}")
                    signal = None if finding.threshold is None else finding.threshold.signal
                elif isinstance(finding, PreferenceApplied):
                    text = f"instead of {pod_name(finding.instead_of)}"
                elif isinstance(finding, PodSkipped) and finding.reason in {SkipReason.BUDGET, SkipReason.OWNER}:
                    text = f"skip {pod_name(finding.pod)}"
                else:
                    continue
                level = None if signal is None else _available(turn, signal)
                texts[text] = Mark(kind=MarkKind.FINDING, at=cycle.at, text=text, signal=signal, level=level)
        yield from (mark for text, mark in texts.items() if text not in before)
        before = set(texts)


def _rejected(cycles: Sequence[SimulatedCycle]) -> Iterator[Mark]:
    before: set[str] = set()
    for cycle in cycles:
        rejected = {pod_name(pod) for pod, answer in cycle.admissions if not answer.admitted}
        for name in sorted(rejected - before):
            yield Mark(kind=MarkKind.REJECTION, at=cycle.at, text=f"reject {name}")
        before = rejected


def _decided(cycles: Sequence[SimulatedCycle]) -> list[Mark]:
    return [mark for cycle in cycles for turn in cycle.turns for mark in _marks(cycle.at, turn)]


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
