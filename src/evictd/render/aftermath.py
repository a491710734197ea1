"""Reads from the records after an eviction when its owner created new pods, and when the next pod was evicted."""

from collections.abc import Iterable

from evictd.codec.journal_record import JournalRecord
from evictd.codec.times import parse_time
from evictd.core.units.duration import MINUTE, SECOND
from evictd.errors import InvalidValueError
from evictd.render.history import HistoryEvent
from evictd.render.text import clean

AFTER = 15 * MINUTE
"""Time after an eviction that belongs to its incident."""


def time_of(text: str) -> int:
    """Return an RFC 3339 time in nanoseconds; 0 for a damaged one."""
    try:
        return parse_time(text)
    except InvalidValueError:
        return 0


def successors_of(
    record: JournalRecord, later: Iterable[JournalRecord], event: HistoryEvent, at: int
) -> tuple[tuple[str, float], ...]:
    """Return the pods of the same owner and namespace that were not here at the eviction, as they first appear."""
    if not event.owner:
        return ()
    known = {each.metadata.uid for each in record.observation.pods} | {event.uid}
    found: list[tuple[str, float]] = []
    for each in later:
        if time_of(each.wall) - at > AFTER:
            break
        for pod in each.observation.pods:
            kin = clean(pod.owner) == event.owner and pod.metadata.namespace == event.pod.partition("/")[0]
            if kin and pod.metadata.uid not in known:
                known.add(pod.metadata.uid)
                found.append((clean(pod.full_name), (time_of(each.wall) - at) / SECOND))
    return tuple(found)


def next_eviction(record: JournalRecord, later: Iterable[JournalRecord]) -> float:
    """Return after how many seconds the next pod is evicted: what comes back from then on is not this pod's alone.

    Times of the wall clock are whole seconds, so the other clock counts while it goes on.
    """
    for each in later:
        if any(one.get("kind") == "EvictPod" and not one.get("shortens") for one in each.decisions):
            since = each.now - record.now if each.now > record.now else time_of(each.wall) - time_of(record.wall)
            return min(since, AFTER) / SECOND
    return AFTER / SECOND
