"""Lines, levels, bands and marks of the picture of a simulation, as plain values that `plot` draws."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
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
from evictd.core.model.observation import EvictionAnswerKind, signal_observations
from evictd.core.model.signal import SIGNALS, NodeCondition, Signal
from evictd.core.model.threshold import Operator, Origin
from evictd.render.text import duration_text, pod_name
from evictd.simulation import SimulatedCycle, Turn

_MOST_APART = 60
"""Parts of the whole time: marks of one kind within one of them are too close to be told apart."""
_MANY = 4
"""Fewest marks that become one."""


class MarkKind(Enum):
    """The kind of action."""

    RECLAIM = "reclaim"
    EVICTION = "eviction"
    REFUSAL = "refusal"
    """An eviction that the API server refused."""
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
    """Something that was done, to what, and the signal's amount it was decided on; or many of them that stand close together."""

    kind: MarkKind
    at: int
    text: str
    signal: Signal | None = None
    level: int | None = None
    until: int | None = None
    """The time of the last one, of many."""
    others: tuple["Mark", ...] = ()
    """The ones after the first, of many."""


@frozen
class Chart:
    """The whole picture; times in nanoseconds."""

    start: int = 0
    end: int = 0
    panels: tuple[Panel, ...] = ()
    calm: tuple[Signal, ...] = ()
    """Signals with a threshold and without a panel: they changed by a twentieth at most and met no threshold."""
    bands: tuple[Band, ...] = ()
    marks: tuple[Mark, ...] = ()


def chart_of(cycles: Sequence[SimulatedCycle]) -> Chart:
    """Make the picture of a simulation."""
    if not cycles:
        return Chart()
    panels, marks = _panels(cycles), sorted([*_decided(cycles), *_found(cycles), *_rejected(cycles)], key=_time)
    drawn = _telling(panels, {mark.signal for mark in marks})
    least = (cycles[-1].at - cycles[0].at) // _MOST_APART
    return Chart(
        start=cycles[0].at,
        end=cycles[-1].at,
        panels=drawn,
        calm=tuple(panel.signal for panel in panels if panel not in drawn and panel.signal is not None),
        bands=_joined(_bands(cycles), least),
        marks=_grouped(marks, least),
    )


def _time(mark: Mark) -> int:
    return mark.at


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
        elif finding.is_short:
            derived.add(signal)
    points = {signal: _points(cycles, signal) for signal in shown | derived}
    shown |= {signal for signal in derived - shown if all(points[signal] != points[other] for other in shown)}
    return tuple(
        Panel(signal=signal, points=points[signal], levels=tuple(levels[signal].values()))
        for signal in Signal
        if signal in shown
    )


def _telling(panels: tuple[Panel, ...], marked: Collection[Signal | None]) -> tuple[Panel, ...]:
    """Return the panels whose signal changed or for which something was done; all of them if there is none."""
    found = tuple(panel for panel in panels if panel.signal in marked or _changes(panel))
    return found or panels


def _changes(panel: Panel) -> bool:
    """Whether a signal changed by a twentieth of the highest reading, or came below a threshold."""
    values = [value for _, value in panel.points if value is not None]
    if not values:
        return False
    below = any(min(values) < level.limit for level in panel.levels)
    return below or (max(values) - min(values)) * 20 > max(values)


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
            SIGNALS[finding.threshold.signal].condition for finding in _threshold_findings([cycle]) if finding.is_short
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


def _joined(bands: Sequence[Band], least: int) -> tuple[Band, ...]:
    """Join bands of a condition that follow each other and are all too short to be told apart; the whole is not `held`."""
    runs: list[list[Band]] = []
    for band in bands:
        last = next((each for each in reversed(runs) if each[0].condition is band.condition), None)
        short = band.end - band.start < least
        if last is not None and short and last[-1].end == band.start and last[-1].end - last[-1].start < least:
            last.append(band)
        else:
            runs.append([band])
    return tuple(replace(run[0], end=run[-1].end, held=all(band.held for band in run)) for run in runs)


def _grouped(marks: Sequence[Mark], least: int) -> tuple[Mark, ...]:
    """Make one mark of many of one kind that follow each other within `least` nanoseconds, with their number in its text."""
    groups: list[list[Mark]] = []
    for mark in marks:
        last = next((each for each in reversed(groups) if each[0].kind is mark.kind), None)
        if last is not None and mark.at - last[-1].at <= least:
            last.append(mark)
        else:
            groups.append([mark])
    found = [mark for group in groups for mark in ([_one(group)] if len(group) >= _MANY else group)]
    return tuple(sorted(found, key=_time))


def _one(group: Sequence[Mark]) -> Mark:
    first, last = group[0], group[-1]
    return replace(
        first,
        text=f"{first.text} and {len(group) - 1} more until {duration_text(last.at)}",
        until=last.at,
        others=tuple(group[1:]),
    )


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
                elif isinstance(finding, PodSkipped) and finding.reason is SkipReason.OWNER:
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
    """Return the marks of the decisions; an eviction that the API server then refused is a refusal."""
    marks: list[Mark] = []
    asked: dict[str, int] = {}
    """The number of the last mark of each pod, by its uid."""
    for cycle in cycles:
        for turn in cycle.turns:
            for uid in {
                each.uid for each in turn.observation.outcomes.answers if each.kind is EvictionAnswerKind.REFUSED
            }:
                if (number := asked.get(uid)) is not None:
                    text = marks[number].text.removeprefix("evict ")
                    marks[number] = replace(marks[number], kind=MarkKind.REFUSAL, text=f"refused: {text}")
            for decision in turn.step.decisions:
                if isinstance(decision, ReclaimNode):
                    marks.append(_reclaim(cycle.at, turn, decision))
                elif isinstance(decision, EvictPod) and not decision.shortens:
                    asked[decision.pod.uid] = len(marks)
                    marks.append(_eviction(cycle.at, turn, decision))
    return marks


def _reclaim(at: int, turn: Turn, decision: ReclaimNode) -> Mark:
    signal = decision.threshold.signal
    text = f"reclaim {', '.join(action.value for action in decision.actions)}"
    return Mark(kind=MarkKind.RECLAIM, at=at, text=text, signal=signal, level=_available(turn, signal))


def _eviction(at: int, turn: Turn, decision: EvictPod) -> Mark:
    threshold, text = decision.because.threshold, f"evict {pod_name(decision.pod)}"
    if threshold is None:
        return Mark(kind=MarkKind.EVICTION, at=at, text=f"{text} ({decision.because.reason.value})")
    level = _available(turn, threshold.signal)
    return Mark(kind=MarkKind.EVICTION, at=at, text=text, signal=threshold.signal, level=level)
