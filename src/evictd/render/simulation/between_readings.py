"""Says which thresholds of another configuration may have been met between two readings, and so act sooner than is shown.

A capture of a journal has only the readings at which the recorded configuration changed or decided something. A threshold that is
met no later than a recorded one is not met in between.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise

from evictd.core.frozen import frozen
from evictd.core.model.config import EvictionConfig, own_thresholds
from evictd.core.model.finding import Finding, ThresholdFinding
from evictd.core.model.threshold import Origin, Threshold
from evictd.core.units.duration import SECOND
from evictd.render.text import clean, duration_text
from evictd.simulation import SimulatedCycle

FULL_CYCLE = 10 * SECOND
"""How far apart readings are at most that leave none out (`housekeepingInterval` of the kubelet)."""


@frozen
class Gap:
    """The time between two readings of which the second one is the first that meets a threshold."""

    threshold: Threshold
    after: int
    at: int

    @property
    def text(self) -> str:
        """Write by how much the threshold may act sooner."""
        return (
            f"{clean(str(self.threshold))} may act sooner, by up to {duration_text(self.at - self.after)}: it is met at "
            f"{duration_text(self.at)}, and there is no reading after {duration_text(self.after)} and before"
        )


def between_texts(cycles: Sequence[SimulatedCycle], recorded: EvictionConfig) -> Iterator[str]:
    """Write for each threshold its longest gap, and how many more it has."""
    found: dict[Threshold, list[Gap]] = {}
    for gap in gaps([(cycle.at, cycle.turns[0].step.findings) for cycle in cycles], recorded):
        found.setdefault(gap.threshold, []).append(gap)
    for each in found.values():
        more = f"; it is the longest of {len(each)} such gaps" if len(each) > 1 else ""
        yield f"{max(each, key=lambda gap: gap.at - gap.after).text}{more}."


def gaps(readings: Iterable[tuple[int, Sequence[Finding]]], recorded: EvictionConfig) -> Iterator[Gap]:
    """Yield the gaps before the readings, each with its time, of the thresholds that none of the recorded ones covers."""
    for (after, before), (at, findings) in pairwise(readings):
        met = {each.threshold for each in before if isinstance(each, ThresholdFinding) and each.met}
        for each in findings:
            if not isinstance(each, ThresholdFinding) or not each.met or each.threshold in met:
                continue
            if (
                at - after > FULL_CYCLE
                and each.threshold.origin is not Origin.DERIVED
                and not _is_covered(each, recorded)
            ):
                yield Gap(threshold=each.threshold, after=after, at=at)


def _is_covered(finding: ThresholdFinding, recorded: EvictionConfig) -> bool:
    """Whether a recorded threshold of the signal is met no later."""
    value = finding.threshold.value.resolve(finding.capacity)
    return any(
        each.signal is finding.threshold.signal and each.value.resolve(finding.capacity) >= value
        for each in own_thresholds(recorded)
    )
