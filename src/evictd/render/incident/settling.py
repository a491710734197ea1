"""Tells of the end of a journal whether it comes before what the last eviction gave back could be read.

A record follows an eviction within seconds, and the next one may follow after minutes: the node may be relieved between them.
"""

from collections.abc import Iterable, Sequence

from evictd.codec.journal_record import JournalRecord
from evictd.core.model.signal import SIGNALS, NodeCondition, Signal
from evictd.render.history.evictions import signal_of
from evictd.render.history.history import HistoryEvent
from evictd.render.incident.aftermath import seconds_between
from evictd.render.incident.incident import SETTLED, Incident


def settling_at_end(records: Sequence[JournalRecord], evictions: Iterable[HistoryEvent], signal: Signal | None) -> bool:
    """Whether the journal ends before what the last eviction for the signal's node condition gave back was read."""
    condition = _condition_of(signal)
    alike = [
        each for each in evictions if not each.dry_run and condition and _condition_of(signal_of(each)) is condition
    ]
    if not alike:
        return False
    gone = next((each for each in records if alike[-1].uid in each.observation.cleaned_up), None)
    return gone is None or seconds_between(gone, records[-1]) < SETTLED


def settling_text(found: Incident) -> str:
    """Write that the journal does not say whether the node is still short; empty where it does."""
    if not (found.settling and found.still_met) or found.paused:
        return ""
    ends = "the journal ends before what the last eviction gave back was read"
    return f"{ends}: `evictd status` says whether the node is still short"


def _condition_of(signal: Signal | None) -> NodeCondition | None:
    return None if signal is None else SIGNALS[signal].condition
