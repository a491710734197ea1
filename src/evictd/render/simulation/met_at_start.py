"""Says which thresholds a world meets at its first reading: evictions for them say nothing of what grows in it."""

from collections import Counter
from collections.abc import Iterator

from evictd.core.model.decision import begun_evictions
from evictd.core.model.finding import ThresholdFinding
from evictd.core.model.threshold import Threshold
from evictd.render.text import counted, threshold_text
from evictd.world.loop import Run


def evictions_met_at_start(run: Run) -> Counter[Threshold]:
    """Return how many evictions are for each threshold that the first reading meets; those without an eviction are left out."""
    met = {
        each.threshold
        for cycle in run.cycles[:1]
        for each in cycle.step.findings
        if isinstance(each, ThresholdFinding) and each.met
    }
    begun = (each.because.threshold for cycle in run.cycles for each in begun_evictions(cycle.step.decisions))
    return Counter(each for each in begun if each in met)


def met_at_start_texts(run: Run) -> Iterator[str]:
    """Write which thresholds the world meets before anything grows, and how many evictions are for each."""
    total = sum(1 for cycle in run.cycles for _ in begun_evictions(cycle.step.decisions))
    for threshold, count in evictions_met_at_start(run).items():
        yield (
            f"{threshold_text(threshold)} is met from the start of the world, before anything grows: {count} of "
            f"{counted(total, 'eviction')} {'is' if count == 1 else 'are'} for it."
        )
