"""Finds how fast each signal fell at most, also in a fall that no eviction followed."""

from collections.abc import Iterator, Sequence

from evictd.codec.reading_record import RecordedCycle
from evictd.core.model.signal import Signal
from evictd.core.units.duration import MINUTE, SECOND

_SHORTEST = SECOND
"""The shortest time over which a fall counts: over less, one step is a high rate."""
_LONGEST = 2 * MINUTE
"""The longest time between two readings that give a rate."""


def fastest_falls(readings: Sequence[RecordedCycle]) -> dict[Signal, int]:
    """Return the fastest fall of each signal in units a second; signals that never fell are left out."""
    fastest: dict[Signal, int] = {}
    before: dict[Signal, tuple[int, int]] = {}
    last = 0
    for reading in readings:
        if reading.at < last:
            before.clear()  # another boot
        last = reading.at
        for signal, at, left in _points(reading):
            then, more = before.get(signal, (at, left))
            if signal in before and (at - then < _SHORTEST and left < more):
                continue
            rate = (more - left) * SECOND // (at - then) if 0 < at - then <= _LONGEST else 0
            if rate > fastest.get(signal, 0):
                fastest[signal] = rate
            if at >= then:
                before[signal] = at, left
    return fastest


def _points(reading: RecordedCycle) -> Iterator[tuple[Signal, int, int]]:
    """Yield the readings before a cycle, oldest first, and its own; the time and what was available."""
    for signal, level in reading.levels.items():
        for ago, left in sorted(reading.earlier.get(signal, ()), reverse=True):
            yield signal, reading.at - round(ago * SECOND), left
        yield signal, reading.at, level.available
