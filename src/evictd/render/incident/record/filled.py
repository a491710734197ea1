"""Says who filled what was short at an eviction, pods or what belongs to no pod, and since when nothing has."""

from collections.abc import Iterable, Sequence

from evictd.codec.records.journal_record import JournalRecord
from evictd.codec.times import rfc3339
from evictd.core.model.attribution import Attribution
from evictd.core.model.signal import SIGNALS
from evictd.core.units.duration import MINUTE, SECOND
from evictd.render.attribution import clock_text, little_grew, recorded_attribution
from evictd.render.history.evictions import signal_of
from evictd.render.history.history import HistoryEvent
from evictd.render.incident.record.aftermath import time_of
from evictd.render.incident.record.earlier import evicted_for, recorded_usages
from evictd.render.incident.record.incident import Incident
from evictd.render.incident.record.readings import BEFORE
from evictd.render.little_growth import is_little_growth

_NOTABLE = 100
"""A supply stands still while it differs by less than this part of what it had fallen."""


def who_filled(record: JournalRecord) -> Attribution | None:
    """Return the attribution of a cycle; `None` where a pod was not measured in it, whose part is not known."""
    held = recorded_attribution(record.findings)
    return None if held is None or held.outdated else held


def fills_host(held: Attribution | None, taken: int = 0) -> bool:
    """Whether at least half of what filled the supply belongs to no pod; `taken` of it pods had held before.

    Not where pods may have taken all of it since they were read.
    """
    if held is None or held.outdated or held.unread or held.filled <= 0:
        return False
    return held.grown_elsewhere > 0 and held.grown_elsewhere * 2 >= held.filled - taken


def is_unknown(held: Attribution | None) -> bool:
    """Whether pods may have taken at least half of what filled the supply since they were read."""
    return held is not None and held.unread > 0 and held.grown_elsewhere * 2 >= held.filled


def outside_pods_held(held: Attribution | None, event: HistoryEvent) -> int | None:
    """Return what belonged to no pod, where what grew is little beside what was missing."""
    return held.elsewhere.held if held is not None and little_grew(held, event.because) else None


def pods_filled_again(records: Sequence[JournalRecord], evictions: Iterable[HistoryEvent], event: HistoryEvent) -> bool:
    """Whether pods filled the supply at an eviction shortly before, and pods that came since fill it again.

    The attribution of `event`, whose cycle is the last of `records`, has only its last minute: a little growth of the host after
    they came back is all that grew in it.
    """
    signal, held = signal_of(event), who_filled(records[-1]) if records else None
    if signal is None or held is None or held.elsewhere.held is None:
        return False
    used, resource, at = recorded_usages(records[-1], signal), SIGNALS[signal].resource, time_of(event.at)
    times = {each.at for each in evictions if evicted_for(each, resource) and each.uid != event.uid}
    for record in records[:-1]:
        then = who_filled(record) if record.wall in times and at - time_of(record.wall) <= BEFORE else None
        if then is None or then.signal is not held.signal or then.of_pods * 2 <= then.filled:
            continue
        there = {each.metadata.uid for each in record.observation.pods}
        came = sum(amount for uid, amount in used.items() if uid not in there)
        grown = max(held.elsewhere.held - (then.elsewhere.held or 0), held.grown_elsewhere)
        if is_little_growth(grown, came):
            return True
    return False


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
