"""Finds the evictions of a journal, and the one that a user means."""

from collections.abc import Sequence

from evictd.codec.records.journal_record import JournalRecord
from evictd.core.model.signal import Signal, signal_named
from evictd.errors import InputError, NotFoundError
from evictd.render.history.history import EventKind, HistoryEvent, history
from evictd.render.history.pods_meant import pods_meant
from evictd.render.text import clean, incident_id


def evictions_of(records: Sequence[JournalRecord]) -> list[HistoryEvent]:
    """Return the evictions of the records, oldest first, without those that were withdrawn."""
    found: list[HistoryEvent] = []
    for event in history(records):
        if event.kind is EventKind.EVICTED:
            found.append(event)
        elif event.kind is EventKind.WITHDRAWN:
            last = next((number for number in range(len(found) - 1, -1, -1) if found[number].uid == event.uid), None)
            if last is not None:
                del found[last]  # the pod stayed
    return found


def signal_of(event: HistoryEvent) -> Signal | None:
    """Return the signal for which a pod was evicted; `None` where it exceeded a limit of its own."""
    return signal_named(event.because.get("signal", ""))


def last_of_each(evictions: Sequence[HistoryEvent]) -> list[HistoryEvent]:
    """Return the last eviction of each pod, oldest first: the ones that an ID finds.

    A dry run evicts the same pod each time that its threshold is met again.
    """
    last = {each.uid: number for number, each in enumerate(evictions)}
    return [evictions[number] for number in sorted(last.values())]


def find_eviction(evictions: Sequence[HistoryEvent], wanted: str) -> HistoryEvent:
    """Return the eviction that is meant: `last`, the beginning of a uid, or NAMESPACE/POD; else raises `NotFoundError`."""
    if not evictions:
        raise NotFoundError("the journal has no eviction; `evictd history` says what was decided")
    if wanted == "last":
        return evictions[-1]
    found = [each for each in evictions if each.pod == clean(wanted) or (each.uid.startswith(wanted) and wanted)]
    if not found:
        meant = pods_meant(clean(wanted), {each.pod for each in evictions}) or f"there are {_named(evictions)}"
        why = f"; `evictd why {wanted}` with the same journal says what is known of that pod" if "/" in wanted else ""
        raise NotFoundError(f"{wanted}: is no incident of this journal; {meant}{why}")
    if len({each.uid for each in found}) > 1 and not any(each.pod == clean(wanted) for each in found):
        raise InputError(f"{wanted}: is the beginning of several: {_named(found)}")
    return found[-1]


_SHOWN = 10


def _named(evictions: Sequence[HistoryEvent]) -> str:
    """Return the names of the last evictions: `3f2a9c1b (batch/report, 2026-01-01T00:00:00Z)`."""
    shown = [f"{incident_id(each.uid)} ({each.pod}, {each.at})" for each in evictions[-_SHOWN:]]
    more = len(evictions) - len(shown)
    return ", ".join(reversed(shown)) + (f" and {more} before them" if more else "")
