"""Adds up what one process tree holds of the node: that of a pod, or a part of the host; and keeps when it could not grow."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from evictd.core.units.duration import SECOND
from evictd.world.behaviours import (
    OF_THE_PROCESS,
    Behaviour,
    Burst,
    Grow,
    Hold,
    LeakAndRelease,
    TakeRest,
    Taking,
    Usage,
    amount,
    next_change,
    slope,
)


@dataclass(slots=True)
class Standstills:
    """The spans in which usages stood still, in nanoseconds of the world; the last span of a usage may still last.

    A full disk refuses writes, and a node without a free PID refuses forks. A `grow` of such a usage stands still until something
    is freed, and goes on from where it was. The other behaviours follow their times: a burst ends when it ends.
    """

    _spans: dict[Usage, list[tuple[int, int | None]]] = field(default_factory=dict)

    def begin(self, usages: Iterable[Usage], at: int) -> None:
        """Let usages stand still from a time on."""
        for usage in usages:
            self._spans.setdefault(usage, []).append((at, None))

    def end(self, usages: Iterable[Usage], at: int) -> None:
        """Let usages go on from a time on."""
        for usage in usages:
            began, _ = self._spans[usage].pop()
            self._spans[usage].append((began, at))

    def lasts(self, usage: Usage) -> bool:
        """Whether a usage stands still at present."""
        spans = self._spans.get(usage)
        return spans is not None and spans[-1][1] is None

    def duration(self, usage: Usage, since: int, until: int) -> int:
        """Return for how long a usage stood still between two times."""
        spans = self._spans.get(usage, ())
        return sum(max(min(until if end is None else end, until) - max(began, since), 0) for began, end in spans)


class Process:
    """The behaviours of one pod or host part, from `started` on. A restart begins those of the process anew."""

    __slots__ = ("begun", "ended_at", "fixed", "moving", "rest", "standstills", "started", "taken")

    def __init__(self, behaviours: Iterable[Behaviour], started: int, standstills: Standstills | None = None) -> None:
        taking = [each for each in behaviours if isinstance(each, Hold | Grow | LeakAndRelease | Burst)]
        self.fixed: dict[Usage, int] = {}
        self.moving: tuple[Taking, ...] = tuple(each for each in taking if not isinstance(each, Hold))
        self.rest = next((each for each in behaviours if isinstance(each, TakeRest)), None)
        self.taken = 0
        """Amount that `rest` has taken so far."""
        self.started = started
        self.begun = started
        """Start of the present process; later than now while it is being restarted."""
        self.ended_at: int | None = None
        self.standstills = standstills or Standstills()
        """The PIDs of the node, which all its processes share."""
        for each in taking:
            if isinstance(each, Hold):
                self.fixed[each.of] = self.fixed.get(each.of, 0) + each.amount

    @property
    def ended(self) -> bool:
        """Whether it has ended for good."""
        return self.ended_at is not None

    @property
    def is_still(self) -> bool:
        """Whether it always holds the same."""
        return not self.moving and self.rest is None

    def held(self, now: int) -> dict[Usage, int]:
        """Return what it holds of each usage."""
        alive = not self.ended and now >= self.begun
        if alive and self.is_still:
            return self.fixed
        held = self.fixed.copy() if alive else {u: a for u, a in self.fixed.items() if u not in OF_THE_PROCESS}
        for each in self.moving:
            if alive or each.of not in OF_THE_PROCESS:
                held[each.of] = held.get(each.of, 0) + amount(each, self._age(each, now))
        if alive and self.taken:
            held[Usage.MEMORY] = held.get(Usage.MEMORY, 0) + self.taken
        return held

    def growth(self, of: Iterable[Usage], now: int, free: int) -> int:
        """Return by how much a second these usages grow, with this memory free: `TakeRest` takes no more than that."""
        if self.ended or now < self.begun:
            return 0
        found = sum(slope(each, self._age(each, now)) for each in self.moving if each.of in of and self._moves(each))
        takes = self.rest is not None and free > self.rest.leave and Usage.MEMORY in of and self.takes(now)
        return found + (self.rest.rate if self.rest is not None and takes else 0)

    def next_change(self, now: int) -> int | None:
        """Return when the growth of a usage changes next."""
        if self.ended:
            return None
        if now < self.begun:
            return self.begun
        found = [
            now - age + at
            for each in self.moving
            if self._moves(each)
            for age in (self._age(each, now),)
            if (at := next_change(each, age)) is not None
        ]
        if self.rest is not None and now - self.begun < self.rest.start:
            found.append(self.begun + self.rest.start)
        return min(found, default=None)

    def takes(self, now: int) -> bool:
        """Whether its `TakeRest` has begun."""
        return self.rest is not None and not self.ended and now - self.begun >= self.rest.start

    def take(self, since: int, now: int, free: int) -> None:
        """Let its `TakeRest` take from `since` until now, of these free bytes."""
        if self.rest is not None and self.takes(since):
            self.taken += max(min(self.rest.rate * (now - since) // SECOND, free - self.rest.leave), 0)

    def restart(self, at: int) -> None:
        """End the process, and begin it anew at a time."""
        self.begun, self.taken = at, 0

    def end(self, at: int) -> None:
        """End the process for good."""
        self.ended_at, self.taken = at, 0

    def _moves(self, behaviour: Taking) -> bool:
        return not isinstance(behaviour, Grow) or not self.standstills.lasts(behaviour.of)

    def _age(self, behaviour: Taking, now: int) -> int:
        """Return how long a behaviour has gone on: a `grow` without the time in which it stood still."""
        since = self.begun if behaviour.of in OF_THE_PROCESS else self.started
        until = now if self.ended_at is None else min(now, self.ended_at)
        stood = self.standstills.duration(behaviour.of, since, until) if isinstance(behaviour, Grow) else 0
        return until - since - stood
