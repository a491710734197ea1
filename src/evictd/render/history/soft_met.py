"""Says that a soft threshold was met whose grace period was not over, so that no pod was evicted for it yet."""

from collections.abc import Iterator, Mapping

from evictd.codec.journal_record import JournalRecord
from evictd.core.model.signal import signal_named
from evictd.core.units.duration import SECOND, format_duration


def soft_met_text(record: JournalRecord) -> str:
    """Write which soft thresholds are met in a record while their grace period goes on, as a clause.

    Empty where none is, and where another threshold is met without one.
    """
    return "; ".join(_clauses(record))


def _clauses(record: JournalRecord) -> Iterator[str]:
    if any(each.get("met") and each.get("graceLeftNanoseconds") == 0 for each in record.findings):
        return  # another threshold is short now
    for each in record.findings:
        threshold, left = each.get("threshold"), each.get("graceLeftNanoseconds")
        if not each.get("met") or not isinstance(threshold, Mapping) or not isinstance(left, int) or left <= 0:
            continue
        if (signal := signal_named(str(threshold.get("signal")))) is not None:
            rest = format_duration(max(left // SECOND, 1) * SECOND)
            met = f"the soft threshold of {signal.value} was met with {rest} of its grace period left then"
            yield f"{met}, so no pod had to go yet"
