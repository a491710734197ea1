"""Reads from the record of an eviction its threshold's minimum reclaim, and whether the threshold of all pods was met as well."""

from evictd.codec.decision import DECISION_FORM
from evictd.codec.journal_record import JournalRecord
from evictd.core.model.signal import Signal
from evictd.core.model.threshold import Origin, Threshold
from evictd.core.units.quantity import of_count
from evictd.errors import InputError, InvalidValueError
from evictd.render.history.history import HistoryEvent
from evictd.render.incident.aftermath import says_met
from evictd.render.incident.readings import threshold_findings


def min_reclaim(event: HistoryEvent, capacity: int | None) -> int:
    """Return the minimum reclaim of the threshold for which the pod was evicted; 0 without one."""
    threshold = event.because.get("threshold") or {}
    try:
        found = DECISION_FORM.decode(Threshold, threshold, "threshold").min_reclaim
    except (InputError, InvalidValueError):
        return 0
    return 0 if found is None else found.resolve(of_count(capacity or 0)).value()


def allocatable_met(record: JournalRecord) -> Origin | None:
    """Return the origin of a threshold of `allocatableMemory.available` that is met; a recorded one without an origin was set."""
    for each in threshold_findings(record, Signal.ALLOCATABLE_MEMORY_AVAILABLE):
        if says_met(each):
            return Origin.DERIVED if each["threshold"].get("origin") == Origin.DERIVED.value else Origin.SET
    return None
