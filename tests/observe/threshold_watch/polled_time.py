"""A clock that stands still but while the watch polls: a wait takes no time of the machine, and always the same of its own."""

import select
from collections.abc import Callable, Iterator
from types import SimpleNamespace

import pytest

from evictd.core.units.duration import MILLISECOND, SECOND
from evictd.observe.threshold_watch import memory_watch


class PolledTime:
    """The clock; `at` has something done at a time that passes in a poll."""

    def __init__(self) -> None:
        self.now = 100 * SECOND
        self._due: list[tuple[int, Callable[[], None]]] = []

    def __call__(self) -> int:
        return self.now

    def soon(self, milliseconds: int = 20) -> int:
        """Return the time so many milliseconds from now."""
        return self.now + milliseconds * MILLISECOND

    def at(self, time: int, action: Callable[[], None]) -> None:
        self._due.append((time, action))
        self._due.sort(key=lambda each: each[0])

    def pass_until(self, time: int) -> None:
        """Let time pass, until the next action at the longest."""
        if not self._due or self._due[0][0] > time:
            self.now = max(self.now, time)
            return
        at, action = self._due.pop(0)
        self.now = max(self.now, at)
        action()


class _Poll:
    """Polls real file descriptors without waiting for them."""

    def __init__(self, time: PolledTime) -> None:
        self._time = time
        self._poll = select.poll()
        self.register = self._poll.register

    def poll(self, milliseconds: int) -> list[tuple[int, int]]:
        ends = self._time.soon(milliseconds)
        while not (ready := self._poll.poll(0)) and self._time.now < ends:
            self._time.pass_until(ends)
        return ready


@pytest.fixture
def polled_time(monkeypatch: pytest.MonkeyPatch) -> Iterator[PolledTime]:
    """Return the time of every watch of the test."""
    time = PolledTime()
    kernel = {name: getattr(select, name) for name in dir(select) if name.startswith("POLL")}
    monkeypatch.setattr(memory_watch, "select", SimpleNamespace(**kernel, poll=lambda: _Poll(time)))
    yield time
    assert not time._due, "what was to happen did not"
