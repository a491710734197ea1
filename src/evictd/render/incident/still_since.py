"""Says since when nothing filled what was short, where that ended minutes before the eviction and the readings show it."""

from evictd.codec.times import rfc3339
from evictd.core.units.duration import MINUTE, SECOND
from evictd.render.attribution import clock_text
from evictd.render.incident.aftermath import time_of
from evictd.render.incident.incident import Incident

_NOTABLE = 100
"""A supply stands still while it differs by less than this part of what it had fallen."""


def filled_lines(found: Incident) -> tuple[str, ...]:
    """Return who filled what was short, and since when nothing has grown, where that is known; nothing where neither is."""
    filled = found.event.filled
    since = _still_since(found)
    if not filled or since is None:
        return (filled,) if filled else ()
    at = clock_text(rfc3339(time_of(found.event.at) + round(since * SECOND)))
    return (filled, f"Nothing has grown since {at}.")


def _still_since(found: Incident) -> float | None:
    """Return since when the signal stood still, in seconds from the eviction; `None` where it fell in the minute before."""
    before = [each for each in found.points if each[0] <= 0]
    if not before or (found.rate or 0) > 0:
        return None
    last = before[-1][1]
    fallen = max(amount for _, amount in before) - last
    moved = [place for place, (_, amount) in enumerate(before) if abs(amount - last) * _NOTABLE > fallen]
    if not moved:
        return None  # the readings do not go back to the growth
    since = before[moved[-1] + 1][0]
    return since if since * SECOND <= -MINUTE else None
