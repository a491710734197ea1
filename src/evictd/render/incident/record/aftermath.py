"""Reads from the records about an eviction the pods of the same owner, whether a threshold stayed clear, and what came next."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from evictd.codec.records.journal_record import JournalRecord
from evictd.codec.times import parse_time
from evictd.core.frozen import frozen
from evictd.core.model.signal import SIGNALS, Signal
from evictd.core.units.duration import MINUTE, SECOND
from evictd.errors import InvalidValueError
from evictd.render.history.history import HistoryEvent
from evictd.render.text import clean

AFTER = 15 * MINUTE
"""Time after an eviction that belongs to its incident."""
_ROUNDED = 2.0
"""Seconds by which the two clocks of records of one boot may differ, because one is rounded and may be set."""


@frozen
class MetAfter:
    """Whether a threshold was met after the end of a pod, in seconds since its eviction; both `None`: never."""

    again: float | None = None
    """When it was met again after it had been clear: at the crossing, and not when its grace period had passed."""
    still: float | None = None
    """For how long it stayed met, where that is a minute or more, or it was never clear in the journal."""


def says_met(finding: Mapping[str, Any]) -> bool:
    """Whether a finding about a threshold says that it is met, or kept by its minimum reclaim."""
    return bool(finding.get("met") or finding.get("keptByMinReclaim"))


def met_after(
    record: JournalRecord, later: Sequence[JournalRecord], met: Sequence[float | None], uid: str, clear: float | None
) -> MetAfter:
    """Return when a threshold was met after the pod's end; `met` says of each later record since when it was (`met_since`).

    What a pod held comes back a moment after its end, so a threshold that is clear a little later is not met again. A journal has
    no record of a calm cycle: `clear` says after how many seconds no threshold was met any more, where a later record knows.
    """
    ended = next((number for number, each in enumerate(later) if uid in each.observation.cleaned_up), len(later))
    after = [(seconds_between(record, each), since) for each, since in zip(later, met, strict=True)][ended:]
    seen_clear = (at for at, since in after if since is None)
    cleared = min((*seen_clear, *(() if clear is None else (clear,))), default=None)
    if cleared is None:
        return MetAfter(still=after[-1][0] if after else None)
    stayed = clear if clear is not None and after and clear - after[0][0] >= MINUTE // SECOND else None
    return MetAfter(
        still=stayed, again=next((since for _, since in after if since is not None and since > cleared), None)
    )


def met_since(record: JournalRecord, later: JournalRecord, signal: Signal | None) -> float:
    """Return after how many seconds the thresholds of a signal were met that are in a later record.

    They may have been since before: a record is written at a decision, which for a soft one is at the end of its grace period.
    """
    written = seconds_between(record, later)
    crossed = (at for each, at in later.state.thresholds_first_observed_at if signal and each.signal == signal.value)
    return min((*(written - (later.now - at) / SECOND for at in crossed), written))


def clear_after(record: JournalRecord, later: Iterable[JournalRecord], signal: Signal | None) -> float | None:
    """Return after how many seconds the supply of a signal was clear; `None` where no later record of this boot says."""
    if signal is None:
        return None
    for each in later:
        since = next(
            (found for name in _supplies(signal) if (found := each.state.clear_since.get(name)) is not None), None
        )
        if since is not None and since > record.now:
            return (since - record.now) / SECOND
    return None


def freed_after(later: Iterable[JournalRecord], signal: Signal | None, uid: str) -> int:
    """Return what the end of a pod gave back of a signal as evictd measured it until its next choice; 0 where none says."""
    names = () if signal is None else _supplies(signal)
    effects = (each.state.effects.get(name, ()) for each in later for name in names)
    return max((each.freed for found in effects for each in found if each.uid == uid), default=0)


def _supplies(signal: Signal) -> tuple[str, ...]:
    """Return the names that the supply of a signal may have: filesystems on one device share one."""
    shared = () if SIGNALS[signal].filesystem is None else (f"nodefs.{signal.value.partition('.')[2]}",)
    return (signal.value, *shared)


def seconds_between(record: JournalRecord, other: JournalRecord) -> float:
    """Return how long after a record another one was written.

    Times of the wall clock are whole seconds; of records of one boot the other clock tells which came first within one.
    """
    wall, exact = (time_of(other.wall) - time_of(record.wall)) / SECOND, (other.now - record.now) / SECOND
    return exact if abs(exact - wall) <= _ROUNDED else wall


def time_of(text: str) -> int:
    """Return an RFC 3339 time in nanoseconds; 0 for a damaged one."""
    try:
        return parse_time(text)
    except InvalidValueError:
        return 0


def siblings_of(record: JournalRecord, event: HistoryEvent) -> frozenset[str]:
    """Return the other pods of the evicted pod's owner that were here."""
    namespace = event.pod.partition("/")[0]
    kin = (each for each in record.observation.pods if event.owner and clean(each.owner) == event.owner)
    return frozenset(
        clean(each.full_name) for each in kin if each.metadata.namespace == namespace and each.metadata.uid != event.uid
    )


def successors_of(
    record: JournalRecord, later: Iterable[JournalRecord], event: HistoryEvent
) -> tuple[tuple[str, float], ...]:
    """Return the pods of the same owner and namespace that were not here at the eviction, as they first appear.

    However late that is: a journal has no record of a calm cycle, so a pod that came at once may be recorded an hour later.
    """
    if not event.owner:
        return ()
    known = {each.metadata.uid for each in record.observation.pods} | {event.uid}
    found: list[tuple[str, float]] = []
    for each in later:
        for pod in each.observation.pods:
            kin = clean(pod.owner) == event.owner and pod.metadata.namespace == event.pod.partition("/")[0]
            if kin and pod.metadata.uid not in known:
                known.add(pod.metadata.uid)
                found.append((clean(pod.full_name), seconds_between(record, each)))
    return tuple(found)
