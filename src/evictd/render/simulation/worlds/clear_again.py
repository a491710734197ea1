"""Says of the thresholds that pods were evicted for how long they would have been met without evictd, and when clear again."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise

from evictd.core.frozen import frozen
from evictd.core.model.decision import begun_evictions
from evictd.core.model.signal import MEMORY_SIGNALS
from evictd.core.model.threshold import Threshold
from evictd.core.units.quantity import Quantity
from evictd.render.text import clean, duration_text
from evictd.world.loop import Run
from evictd.world.tested import cycles_with_thresholds


def clear_again_text(run: Run, unattended: Run) -> str:
    """Return how long the last of them would have been met, and since when not any more; empty if it would be at the end."""
    found = _met_without_evictd(run, unattended)
    if not _are_clear(found):
        return ""
    threshold, last = max(reversed(found.items()), key=lambda each: _end(each[1]))
    at, length = _end(last), duration_text(sum(_length(each) for each in last))
    how_long = f"for {length}" if len(last) == 1 else f"{len(last)} times, for {length} in all"
    vain = ", so the evictions did not end the shortage earlier" if _met_until(at, run) else ""
    return (
        f"; {clean(str(threshold))} would have been met {how_long}, and clear from {duration_text(at)} to the end{vain}"
    )


def is_clear_again(run: Run, unattended: Run) -> bool:
    """Whether they would have been met, and none of them at the end."""
    return _are_clear(_met_without_evictd(run, unattended))


def longest_met(run: Run, unattended: Run) -> int:
    """Return for how long one of them would have been met at a time, at most; 0 if none would have been."""
    spans = _met_without_evictd(run, unattended).values()
    return max((_length(each) for found in spans for each in found), default=0)


def _met_without_evictd(run: Run, unattended: Run) -> dict[Threshold, tuple["_Met", ...]]:
    """Return when the thresholds for memory that pods were evicted for would have been met; only those that would have been."""
    limits: dict[Threshold, Quantity] = {}
    for cycle in run.cycles:
        for each in begun_evictions(cycle.step.decisions):
            threshold, limit = each.because.threshold, each.because.limit
            if threshold is not None and limit is not None and threshold.signal in MEMORY_SIGNALS:
                limits[threshold] = max(limit, limits.get(threshold, limit))
    levels = unattended.memory
    found = {each: tuple(_spans(levels.get(each.signal, ()), limit.value())) for each, limit in limits.items()}
    return {threshold: spans for threshold, spans in found.items() if spans}


def _are_clear(met: Mapping[Threshold, Sequence["_Met"]]) -> bool:
    return bool(met) and all(spans[-1].until is not None for spans in met.values())


def _met_until(at: int, run: Run) -> bool:
    """Whether a threshold was met at the last cycle before a time."""
    met = False
    for cycle, tested in cycles_with_thresholds(run):
        if cycle.at >= at:
            break
        met = any(each.met for each in tested)
    return met


@frozen
class _Met:
    """A time in which less than a limit is available; without an end it lasts to the last level."""

    since: int
    until: int | None


def _end(spans: Sequence[_Met]) -> int:
    return spans[-1].until or 0


def _length(met: _Met) -> int:
    return (met.until or met.since) - met.since


def _spans(levels: Sequence[tuple[int, int]], limit: int) -> Iterator[_Met]:
    """Yield when less than a limit is available; between two levels it is a straight line."""
    since = levels[0][0] if levels and levels[0][1] < limit else None
    for (at, before), (then, after) in pairwise(levels):
        if since is None and after < limit:
            since = at + (then - at) * (before - limit) // (before - after)
        elif since is not None and after >= limit:
            yield _Met(since=since, until=at + (then - at) * (limit - before) // (after - before))
            since = None
    if since is not None:
        yield _Met(since=since, until=None)
