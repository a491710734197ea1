"""Folds the steps of a simulation in which nothing new happens: calm ones, and those that repeat the step before them."""

from collections.abc import Hashable, Iterable, Iterator, Sequence
from itertools import groupby

from evictd.core.model.decision import Wait
from evictd.core.model.finding import Finding, Ranking, SignalUnobserved, ThresholdFinding
from evictd.core.model.signal import SIGNALS, STALLS
from evictd.core.model.threshold import Origin, Threshold
from evictd.core.units.quantity import Quantity
from evictd.render.text import (
    conditions_text,
    counted,
    distance,
    duration_text,
    gap_text,
    kind_text,
    signal_quantity,
    standing,
)
from evictd.simulation import SimulatedCycle

_PLACES = ("threshold", "signal", "why", "reason", "detail", "action", "condition", "owner")
"""The fields of findings that tell one situation from another; the others are amounts and times."""


def is_calm(cycle: SimulatedCycle) -> bool:
    """Whether nothing happened in a step: no threshold was met, nothing was decided, and no pod was to be admitted."""
    return not cycle.admissions and all(
        all(isinstance(each, Wait) for each in turn.step.decisions)
        and all(
            isinstance(each, SignalUnobserved) or (isinstance(each, ThresholdFinding) and not each.is_short)
            for each in turn.step.findings
        )
        for turn in cycle.turns
    )


def repeats(cycle: SimulatedCycle, before: SimulatedCycle) -> bool:
    """Whether a step decides nothing for the same reasons as the step `before` it, under the same conditions."""
    if is_calm(cycle) or cycle.admissions or cycle.state.node_conditions != before.state.node_conditions:
        return False
    return all(isinstance(each, Wait) for each in cycle.decisions) and _situation(cycle) == _situation(before)


def copies(findings: Iterable[Finding]) -> frozenset[Threshold]:
    """Return the derived thresholds that repeat a configured one: same resource, limit, grace period and available amount.

    Another one says something of its own: `allocatableMemory.available` is derived from `memory.available`.
    """
    tested = [each for each in findings if isinstance(each, ThresholdFinding)]
    said = {_compared(each) for each in tested if each.threshold.origin is not Origin.DERIVED}
    derived = (each for each in tested if each.threshold.origin is Origin.DERIVED)
    return frozenset(each.threshold for each in derived if _compared(each) in said)


def _compared(finding: ThresholdFinding) -> tuple[Hashable, ...]:
    threshold = finding.threshold
    return SIGNALS[threshold.signal].resource, finding.limit, threshold.grace_period, finding.available


def _situation(cycle: SimulatedCycle) -> set[Hashable]:
    """Return what the findings of a step say, without amounts and times."""
    said: set[Hashable] = set()
    for finding in cycle.turns[-1].step.findings:
        if isinstance(finding, Ranking):
            said.add((finding.signal, tuple(row.uid for row in finding.rows)))
        elif not isinstance(finding, ThresholdFinding) or finding.is_short:
            pod = getattr(finding, "pod", None)
            said.add((type(finding), pod and pod.uid, *(getattr(finding, name, None) for name in _PLACES)))
    return said


def folded(cycles: Sequence[SimulatedCycle]) -> Iterator[tuple[bool, tuple[SimulatedCycle, ...]]]:
    """Yield the steps in order, and whether one line tells them: calm ones, and those that repeat the step before them.

    Such steps under the same conditions come together; every other one comes alone, as the first one does.
    """

    def line(step: tuple[SimulatedCycle, SimulatedCycle | None]) -> tuple[bool, Hashable]:
        cycle, before = step
        if before is None or not (is_calm(cycle) or repeats(cycle, before)):
            return False, id(cycle)
        return True, (is_calm(cycle), cycle.state.node_conditions)

    for (in_one_line, _), group in groupby(zip(cycles, (None, *cycles), strict=False), key=line):
        yield in_one_line, tuple(cycle for cycle, _ in group)


def folded_text(cycles: Sequence[SimulatedCycle], before: SimulatedCycle | None = None) -> str:
    """Write calm steps, or steps that repeat the one before them, on one line: how many, and what is short or came nearest.

    What is less at the last one than at the one before them comes nearest, if there is any.
    """
    readings = counted(len(cycles), "reading")
    latest = cycles[-1].turns[-1].step.findings
    repeated = copies(latest)
    tested = [each for each in latest if isinstance(each, ThresholdFinding) and each.threshold not in repeated]
    short = [each for each in tested if each.is_short]
    if not short:
        text = f"{readings}, no threshold met, conditions: {conditions_text(cycles[0].state.node_conditions)}"
        one = len(cycles) == 1
        found = [
            (None if one else cycle.at, each)
            for cycle in cycles
            for each in cycle.turns[-1].step.findings
            if isinstance(each, ThresholdFinding)
        ]
        earlier = {} if before is None else _available(before)
        fallen = {each for each, left in _available(cycles[-1]).items() if each in earlier and left < earlier[each]}
        falling = [(at, each) for at, each in found if each.threshold in fallen]
        return "; ".join(filter(None, (text, nearest_text(falling or found))))
    met = (
        f"{each.threshold.signal.value} {signal_quantity(each.available, each.threshold.signal)}, "
        f"{kind_text(each.threshold)}: {standing(each)}"
        for each in short
    )
    return f"{readings} as before, nothing is decided: {'; '.join(met)}"


def _available(cycle: SimulatedCycle) -> dict[Threshold, Quantity]:
    """Return what a step had left for each threshold."""
    findings = cycle.turns[-1].step.findings
    return {each.threshold: each.available for each in findings if isinstance(each, ThresholdFinding)}


def nearest_text(findings: Iterable[tuple[int | None, object]]) -> str:
    """Write which threshold came nearest, and when, of these findings with their times; empty where there is none.

    Stalls rise towards their thresholds and are left out.
    """
    distances = (
        (distance(each) / max(each.limit.value(), 1), at, each)
        for at, each in findings
        if isinstance(each, ThresholdFinding) and each.threshold.signal not in STALLS and not each.is_short
    )
    nearest = min(distances, default=None, key=lambda found: found[0])
    if nearest is None:
        return ""
    _, at, finding = nearest
    kind, signal = "hard" if finding.threshold.hard else "soft", finding.threshold.signal
    when = "" if at is None else f" at {duration_text(at)}"
    return f"nearest: {signal.value}, {gap_text(distance(finding), signal)} above its {kind} threshold{when}"
