"""Says how much of what was short came back when unused containers and images were deleted."""

from collections.abc import Iterator, Mapping
from typing import Any

from evictd.codec.records.journal_record import JournalRecord
from evictd.core.frozen import frozen
from evictd.core.model.signal import DISKS, SIGNALS, Resource, signal_named
from evictd.core.units.approximate import bytes_text
from evictd.core.units.duration import SECOND
from evictd.render.history.cause.recorded import recorded_amount, threshold_signal
from evictd.render.text import clean


def after_reclaim(record: JournalRecord, because: Mapping[str, Any]) -> bool:
    """Whether unused containers and images were looked for, in this shortage of a disk, before an eviction was decided."""
    signal = signal_named(str(because.get("signal", "")))
    return bool(record.state.collections) and signal is not None and SIGNALS[signal].resource in DISKS


@frozen
class InodesFreed:
    """The free inodes of a filesystem that was short of them, before and after a deletion."""

    signal: str
    before: int
    """The fewest that were free since it began."""
    after: int
    capacity: int

    @property
    def text(self) -> str:
        """Write both."""
        return f"{self.signal} rose from {self.before} to {self.after}"

    @property
    def held_clause(self) -> str:
        """Write how many of the used inodes came back with what was deleted."""
        freed, used = self.after - self.before, self.capacity - self.before
        part = f", most of the {used}" if freed * 2 > used else f" of the {used}"
        return f"unused containers and images held {freed}{part} in use: their deletion gave them back"


def inodes_freed(begun: JournalRecord, ended: JournalRecord) -> InodesFreed | None:
    """Return what came back of the first filesystem that was short of inodes as the deletion began.

    `None` where none was, where that is not known, and where nothing came back.
    """
    signal, before, capacity = next(
        ((signal, left, whole) for signal, left, whole, met in _inodes(begun) if met), ("", 0, 0)
    )
    after = next((left for name, left, _, _ in _inodes(ended) if name == signal), 0)
    trend = ended.extra.trend.get(signal, ())
    meanwhile = (amount for ago, amount in trend if begun.now <= ended.now - round(ago * SECOND) < ended.now)
    before = min((before, *meanwhile))
    return InodesFreed(signal=signal, before=before, after=after, capacity=capacity) if after > before else None


def _inodes(record: JournalRecord) -> Iterator[tuple[str, int, int, bool]]:
    """Yield of each threshold of inodes the signal, how many are free, how many there are, and whether it is met."""
    for each in record.findings:
        if (signal := threshold_signal(each)) is None or SIGNALS[signal].resource is not Resource.INODES:
            continue
        if (left := recorded_amount(each.get("available"))) is not None and (
            whole := recorded_amount(each.get("capacity"))
        ) is not None:
            yield signal.value, left, whole, bool(each.get("met"))


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
        signal = threshold_signal(each)
        if not each.get("met") or signal is None or SIGNALS[signal].resource is not Resource.EPHEMERAL_STORAGE:
            continue
        whole, left = recorded_amount(each.get("capacity")), recorded_amount(each.get("available"))
        if whole is not None and left is not None:
            return whole - left
    return None
