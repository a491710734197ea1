"""Shares the time for walks among the pods, so that a small volume is measured soon beside ten of a million files.

Theory of operation: pods are put into classes by the entries that their measurement takes: at most `TURN` in the first, and in
each further class `_GROWTH` times as many. In each class at most one measurement is under way, so that the memory of walks stays
bounded; the others of the class wait, in the order in which they are due. Classes with something to do take turns of `TURN`
entries: each class gets twice the share of the next, by the entries that it has used so far (`_used`, weighted). So a pod of the
first class waits for the others of its class and for as much again of all larger ones.

The pods that write the most at present (`writers`) have a class of their own beside these, with a share like that of the first:
neither their size nor the measurements of others make them wait for more than a turn or two. So what fills a disk is measured
before the rest.

A pod's class is that of its last measurement; one that was never measured begins in the first. A measurement that exceeds its
class goes on in the next one. If one is under way there already, it is given up and begun again later, which costs a seventh at
most; what it had counted is a lower bound of the pod's usage until then.

Everything is counted in entries, not in time, so that the shares are the same on any processor.
"""

from collections.abc import Callable, Generator, Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

from evictd.observe.disk_usage.pod_disk import DiskRequest, PodDisk

TURN = 4096
"""Entries that are walked before another pod may have its turn: 0.2 s at a tenth of a processor."""
_GROWTH = 8
_CLASSES = 5
"""The classes of a turn's entries, 32 thousand, 256 thousand, 2 million, and more."""
_WRITERS = _CLASSES
"""The number of the class of the pods that write the most."""
_TURN_COST = 16
"""Cost of a turn itself, in entries, for pods with almost nothing on disk."""


class Measurement(Protocol):
    """The measurement of one pod, under way."""

    @property
    def found(self) -> PodDisk:
        """The amounts so far; at the end the result."""
        ...

    def steps(self) -> Generator[None, None, None]:
        """Continue measuring; yields every few dozen entries."""
        ...


@dataclass(slots=True)
class _UnderWay:
    """A measurement with its steps, and the entries that it has taken so far."""

    request: DiskRequest
    measurement: Measurement
    steps: Generator[None, None, None]
    entries: int = 0


class Turns:
    """Decides whose turn it is, and takes it. Used by one thread.

    `begin` begins a measurement; `entries` gives the number of entries walked so far, by all.
    """

    def __init__(self, begin: Callable[[DiskRequest], Measurement], entries: Callable[[], int]) -> None:
        self._begin = begin
        self._entries = entries
        self._under_way: dict[int, _UnderWay] = {}
        """By class."""
        self._classes: dict[str, int] = {}
        """The class of each pod that is not of the first."""
        self._used = [0] * (_CLASSES + 1)
        """The entries that each class has used, each counted for twice as much as in the class before."""

    @property
    def uids(self) -> frozenset[str]:
        """The pods whose measurement is under way."""
        return frozenset(each.request.uid for each in self._under_way.values())

    def keep(self, uids: Iterable[str]) -> None:
        """Drop the measurements of all other pods, and forget their classes."""
        kept = set(uids)
        for number, each in [*self._under_way.items()]:
            if each.request.uid not in kept:
                self._give_up(number)
        self._classes = {uid: number for uid, number in self._classes.items() if uid in kept}

    def next(self, due: Sequence[DiskRequest]) -> DiskRequest | None:
        """Return the next pod among those under way and those `due`, the first due first; `None` without any."""
        waiting: dict[int, DiskRequest] = {}
        for request in due:
            waiting.setdefault(self._class_of(request), request)
        busy = waiting.keys() | self._under_way.keys()
        if not busy:
            return None
        number = min(busy, key=lambda each: (self._used[each], each != _WRITERS, each))
        # A class that had nothing to do has saved up nothing.
        self._used = [max(used, self._used[number]) for used in self._used]
        return self._under_way[number].request if number in self._under_way else waiting[number]

    def take(self, request: DiskRequest) -> PodDisk:
        """Take the turn of a pod that `next` has named. Return the amounts so far, with a time if the measurement has ended.

        What it raises ends the measurement.
        """
        number = self._class_of(request)
        if number not in self._under_way:
            measurement = self._begin(request)
            self._under_way[number] = _UnderWay(request, measurement, measurement.steps())
        turn = self._under_way[number]
        first = self._entries()
        try:
            ended = self._step(turn, first + TURN)
        except BaseException:
            self._give_up(number)
            raise
        used = self._entries() - first
        turn.entries += used
        self._used[number] += (used + _TURN_COST) << (0 if number == _WRITERS else number)
        found = turn.measurement.found
        if ended:
            self._end(number)
        elif turn.entries >= TURN * _GROWTH**number and number + 1 < _CLASSES:
            self._move_up(number)
        return found

    def _class_of(self, request: DiskRequest) -> int:
        return _WRITERS if request.writes_most else self._classes.get(request.uid, 0)

    def _step(self, turn: _UnderWay, last: int) -> bool:
        return all(self._entries() < last for _ in turn.steps)

    def _end(self, number: int) -> None:
        turn = self._under_way.pop(number)
        self._classes[turn.request.uid] = next(
            (each for each in range(_CLASSES) if turn.entries <= TURN * _GROWTH**each), _CLASSES - 1
        )

    def _move_up(self, number: int) -> None:
        turn = self._under_way[number]
        self._classes[turn.request.uid] = number + 1
        if number + 1 in self._under_way:
            self._give_up(number)
        else:
            self._under_way[number + 1] = self._under_way.pop(number)

    def _give_up(self, number: int) -> None:
        self._under_way.pop(number).steps.close()
