"""Finds the pods whose bytes on a disk came back together: the kubelet's policy may choose the next pod before any did."""

from collections.abc import Sequence
from typing import NamedTuple

from evictd.codec.records.journal_record import JournalRecord, recorded_evictions, uid_of
from evictd.core.model.signal import DISKS, SIGNALS, Signal
from evictd.core.units.duration import SECOND
from evictd.render.history.cause.recorded import recorded_amount
from evictd.render.incident.record.aftermath import AFTER, seconds_between, time_of
from evictd.render.incident.record.incident import SETTLED
from evictd.render.incident.record.readings import points_of


class ReadTogether(NamedTuple):
    """What tells the bytes of one pod from those of others."""

    next_eviction: float
    """Seconds until a pod is evicted once the bytes of this one had been read, at most those of `AFTER`."""
    beside: int | None
    """What pods evicted before that held, whose bytes came back together with its own; `None` without any."""


def read_together(records: Sequence[JournalRecord], number: int, signal: Signal | None, uid: str) -> ReadTogether:
    """Return what the records say of a pod that is evicted in the record of that number.

    Also a pod evicted before counts, whose bytes had not been read yet. Of other supplies than disks what came back is read at
    once.
    """
    record, at = records[number], time_of(records[number].wall)
    others = [each for each in records if each is not record and abs(time_of(each.wall) - at) <= AFTER]
    points, gone = points_of([record, *others], signal, record), (each for each in others if _ends(each, uid))
    ended = max(next((seconds_between(record, each) for each in gone), 0.0), 0.0)
    within = ended + SETTLED if signal is not None and SIGNALS[signal].resource in DISKS else 0.0
    beside: int | None = None
    for other in others:
        later = seconds_between(record, other)
        evicted = [each for each in recorded_evictions(other.decisions) if later > 0 or uid_of(each) != uid]
        if not evicted or later < -within or (later <= 0 and (not within or _rose(points, later, 0))):
            continue
        if later > within or _rose(points, 0, later):
            return ReadTogether(min(later, AFTER / SECOND), beside)
        held = (recorded_amount((each.get("because") or {}).get("usage")) for each in evicted)
        beside = (beside or 0) + sum(each or 0 for each in held)
    return ReadTogether(AFTER / SECOND, beside)


def _ends(record: JournalRecord, uid: str) -> bool:
    return uid in record.observation.cleaned_up


def _rose(points: Sequence[tuple[float, int]], begin: float, end: float) -> bool:
    """Whether more was read between two times than at the first one."""
    before = next((amount for seconds, amount in reversed(points) if seconds <= begin), None)
    return before is not None and any(amount > before for seconds, amount in points if begin < seconds <= end)
