"""Says how much of what was short unused containers and images had held, where their deletion gave it back."""

from collections.abc import Mapping

from evictd.codec.journal_record import JournalRecord
from evictd.core.model.signal import SIGNALS, Resource, signal_named
from evictd.core.units.approximate import bytes_text
from evictd.core.units.quantity import parse_quantity
from evictd.errors import InvalidValueError
from evictd.render.history.inodes_freed import inodes_freed
from evictd.render.text import clean


def held_by_unused(begun: JournalRecord, ended: JournalRecord) -> str:
    """Write it as a clause, of inodes where these were short as the deletion began, else of bytes.

    Empty where neither was short, and where nothing came back.
    """
    if (inodes := inodes_freed(begun, ended)) is not None:
        return inodes.held_clause
    used = _bytes_used(begun)
    old = begun.observation.reclaimed  # of a deletion before this one
    new = (each for each in ended.observation.reclaimed if each not in old and each.removed and each.freed_bytes > 0)
    given = {each.action: each.freed_bytes for each in new}
    if used is None or not 0 < (freed := sum(given.values())) <= used:
        return ""
    part = ", most of the" if freed * 2 > used else " of the"
    of_what = " and ".join(clean(each) for each in given)
    return f"unused {of_what} held {bytes_text(freed)}{part} {bytes_text(used)} in use: their deletion gave that back"


def _bytes_used(record: JournalRecord) -> int | None:
    """Return how many bytes are used of the first filesystem that is short of them; `None` where none is."""
    for each in record.findings:
        threshold = each.get("threshold")
        signal = signal_named(str(threshold.get("signal"))) if isinstance(threshold, Mapping) else None
        if not each.get("met") or signal is None or SIGNALS[signal].resource is not Resource.EPHEMERAL_STORAGE:
            continue
        try:
            return (
                parse_quantity(str(each.get("capacity"))).value() - parse_quantity(str(each.get("available"))).value()
            )
        except InvalidValueError:  # a damaged record
            continue
    return None
