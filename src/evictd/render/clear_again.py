"""Says of the thresholds that pods were evicted for when they would have been clear again without evictd."""

from evictd.core.model.decision import begun_evictions
from evictd.core.model.observation import signal_observation
from evictd.core.model.signal import MEMORY_SIGNALS
from evictd.core.model.threshold import Threshold
from evictd.core.units.quantity import Quantity
from evictd.render.text import clean, duration_text
from evictd.world.loop import Run


def clear_again_text(run: Run, unattended: Run, relieved_at: int | None) -> str:
    """Return from when on the last of them would not have been met any more; empty if it would have been at the end.

    `relieved_at` is since when no threshold is met in the run.
    """
    limits: dict[Threshold, Quantity] = {}
    for cycle in run.cycles:
        for each in begun_evictions(cycle.step.decisions):
            threshold, limit = each.because.threshold, each.because.limit
            if threshold is not None and limit is not None and threshold.signal in MEMORY_SIGNALS:
                limits[threshold] = max(limit, limits.get(threshold, limit))
    last: tuple[int, str] = (0, "")
    for threshold, limit in limits.items():
        since: int | None = None
        for cycle in unattended.cycles:
            node = cycle.observation.node
            seen = None if node is None else signal_observation(node, threshold.signal)
            if seen is None or seen.available < limit:
                since = None
            elif since is None:
                since = cycle.at
        if since is None:
            return ""
        last = max(last, (since, clean(str(threshold))))
    at, name = last
    vain = (
        ", so the evictions did not end the shortage earlier" if relieved_at is not None and relieved_at >= at else ""
    )
    return f"; {name} would have been clear again from {duration_text(at)} on{vain}" if at else ""
