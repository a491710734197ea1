"""Says how many inodes came back while unused containers and images were deleted: the runtime reports bytes only."""

from collections.abc import Iterator, Mapping

from evictd.codec.journal_record import JournalRecord
from evictd.core.frozen import frozen
from evictd.core.model.signal import SIGNALS, Resource, signal_named
from evictd.core.units.duration import SECOND
from evictd.render.history.recorded_amount import recorded_amount


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
        threshold = each.get("threshold")
        name = str(threshold.get("signal")) if isinstance(threshold, Mapping) else ""
        if (signal := signal_named(name)) is None or SIGNALS[signal].resource is not Resource.INODES:
            continue
        if (left := recorded_amount(each.get("available"))) is not None and (
            whole := recorded_amount(each.get("capacity"))
        ) is not None:
            yield name, left, whole, bool(each.get("met"))
