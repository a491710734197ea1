"""Follows the hard thresholds that the readings of a node cross, and how long before the decision that was."""

from collections.abc import Collection, Sequence
from itertools import pairwise

from evictd.advice.episode import PRECISION, Episode
from evictd.codec.records.reading_record import Chosen, RecordedCycle
from evictd.core.model.signal import MEMORY_SIGNALS, Signal
from evictd.core.units.duration import SECOND

_NOTICED_WITHIN = 3 * SECOND
"""A crossing that begins a cycle is decided on in less, also where the growth comes in steps."""


class Crossings:
    """Follows from where each signal has fallen since it crossed its hard threshold, and whether the kernel killed since."""

    def __init__(self, between_cycles: Collection[Signal] = ()) -> None:
        self._between_cycles = between_cycles
        """Signals of which a crossing was seen before the next cycle was due (`seen_between_cycles`)."""
        self._from: dict[Signal, int] = {}
        self._clear: set[Signal] = set()
        self.new: set[Signal] = set()
        """Signals that the last reading is the first to be below their threshold, after one that was not."""
        self._at = 0
        self.killed: set[Signal] = set()
        """Signals of memory that are below a threshold, and the kernel has killed for want of it since they are."""

    def add(self, reading: RecordedCycle) -> None:
        """Note one more reading. A threshold that is met in the first one of a boot was not seen to be crossed."""
        if reading.at < self._at:
            self._from.clear()
            self._clear.clear()
            self.killed.clear()
        self._at = reading.at
        chosen = {each.signal for each in reading.chosen}
        met = {
            signal
            for signal, level in reading.levels.items()
            if signal in chosen or level.available < max(level.hard or 0, level.soft or 0)
        }
        self.killed = met & MEMORY_SIGNALS if reading.killed else self.killed & met
        self.new.clear()
        for signal, level in reading.levels.items():
            if level.hard is None or level.available >= level.hard:
                self._clear.add(signal)
                self._from.pop(signal, None)
            else:
                if signal in self._clear and signal not in self._from:
                    self.new.add(signal)
                self._from.setdefault(signal, level.hard if signal in self._clear else level.available)

    def fell(self, chosen: Chosen, reading: RecordedCycle) -> int:
        """Return what was used up of the signal from the crossing to this reading; 0 for a soft threshold."""
        available = reading.levels[chosen.signal].available
        return max(0, self._from.get(chosen.signal, available) - available) if chosen.hard else 0

    def cycle_waited_for(self, episode: Episode, reading: RecordedCycle) -> int:
        """Return the time between two cycles where the crossing began none; else 0.

        A higher threshold can be crossed just after a cycle. Where no crossing was seen between two cycles, nothing watched it.
        """
        least = _NOTICED_WITHIN if episode.signal in self._between_cycles else PRECISION
        late = episode.signal in self.new and episode.fell > episode.rate * least // SECOND > 0
        return reading.period if late else 0


def seen_between_cycles(readings: Sequence[RecordedCycle]) -> set[Signal]:
    """Return the signals of which a crossing was seen sooner after the reading before than the next cycle was due."""
    crossings, found = Crossings(), set[Signal]()
    for before, reading in pairwise((readings[0], *readings)) if readings else ():
        crossings.add(reading)
        for signal in crossings.new:
            ago = [round(each[0] * SECOND) for each in reading.earlier.get(signal, ()) if each[0] > 0]
            if min([*ago, reading.at - before.at]) < reading.period - PRECISION:
                found.add(signal)
    return found
