"""Compares what `evictd replay` says of another policy or memory formula with a play: of the victims, and what is met earlier."""

from collections.abc import Iterator

from evictd.core.model.finding import ThresholdFinding
from evictd.core.units.duration import SECOND
from evictd.render.replay.met_earlier import met_earlier
from evictd.render.replay.replayed import recorded_victims
from evictd.render.text import threshold_text
from evictd.world.loop import Run
from tests.truth.what_if import Said, evictions

_WITHIN = 2 * SECOND
"""How far a crossing may be from its time as said: a cycle more or less."""


def false_of_formula(said: Said, run: Run) -> Iterator[str]:
    """Yield what is said of the victims and of crossings, and is not so in the play."""
    real = evictions(run)
    then = {pod for one in said.replayed for pod in recorded_victims(one.entry.decisions)}
    if "same victims" in said.victims and then != {each.pod for each in real}:
        yield "the same victims, but others are evicted"
    first = min((each.at for each in real), default=run.world.duration)
    for one in said.replayed:
        for each in met_earlier(one.entry, one.step.findings):
            latest = one.entry.now - round(each.seconds * SECOND) + _WITHIN
            if first < latest:
                continue  # the play is another course by then
            times = list(_met_at(run, each.threshold))
            if not any(time <= latest for time in times):
                yield "met earlier, but is not"
            elif each.most and not each.seconds and times[0] < one.entry.now - round(each.most * SECOND) - _WITHIN:
                yield "met at most, but is before"


def _met_at(run: Run, threshold: str) -> Iterator[int]:
    """Yield the times of the cycles in which a threshold is met, in nanoseconds."""
    for cycle in run.cycles:
        for each in cycle.step.findings:
            if isinstance(each, ThresholdFinding) and each.met and threshold_text(each.threshold) == threshold:
                yield cycle.at
