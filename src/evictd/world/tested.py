"""Says which thresholds were met in each cycle of a run, also in those that test none.

Under policy Kubelet a cycle that waits for the end of a pod returns before it tests a threshold, as the kubelet's does. That none
is reported met does not mean that none is.
"""

from collections.abc import Iterable, Iterator
from dataclasses import replace

from evictd.core.model.finding import ThresholdFinding
from evictd.core.model.observation import Observation, signal_observations
from evictd.core.model.threshold import Threshold, is_met
from evictd.world.loop import Run, WorldCycle


def cycles_with_thresholds(run: Run) -> Iterator[tuple[WorldCycle, tuple[ThresholdFinding, ...]]]:
    """Yield each cycle with the states of the thresholds; those of a cycle that tests none are compared with what it read."""
    last: tuple[ThresholdFinding, ...] = ()
    for cycle in run.cycles:
        tested = tuple(each for each in cycle.step.findings if isinstance(each, ThresholdFinding))
        last = tested or _compared(last, cycle.observation)
        yield cycle, last


def met_at_end(run: Run, thresholds: Iterable[Threshold]) -> Iterator[Threshold]:
    """Yield those of the thresholds that the last reading of a run meets, which may have been played without them."""
    node = run.cycles[-1].observation.node
    seen = {} if node is None else signal_observations(node)
    yield from (each for each in thresholds if each.signal in seen and is_met(each, seen[each.signal]))


def _compared(findings: Iterable[ThresholdFinding], observation: Observation) -> tuple[ThresholdFinding, ...]:
    """Return the states of thresholds at another reading; those whose signal was not read stay as they are."""
    seen = {} if observation.node is None else signal_observations(observation.node)
    return tuple(
        each
        if (now := seen.get(each.threshold.signal)) is None
        else replace(each, available=now.available, met=is_met(each.threshold, now))
        for each in findings
    )
