"""Ends the loop's wait from a signal handler or from another thread, through one pipe.

Python writes the number of each signal to the pipe (`signal.set_wakeup_fd`), worker threads write through `wake`. The loop polls
the reading end. A change of the node's pods has a byte of its own, because the loop need not react to it at once. At most one
byte of each kind is in the pipe, so that it is never full: the byte of a signal would be lost.
"""

import os
import select
import signal
from collections.abc import Iterable
from contextlib import suppress
from typing import Self

from evictd.core.frozen import frozen

_WOKEN, _PODS_CHANGED = 0, 255
"""The bytes that are no signal's number."""


@frozen
class Arrivals:
    """The notifications received since the pipe was last emptied."""

    signals: frozenset[int] = frozenset()
    woken: bool = False
    """Whether a thread called `wake`."""
    pods_changed: bool = False

    @property
    def urgent(self) -> bool:
        """Whether anything but a change of the pods arrived."""
        return self.woken or bool(self.signals)


class WakeUp:
    """The pipe, and what arrived through it."""

    def __init__(self) -> None:
        self.fd, self._write = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        self._previous: dict[int, object] = {}
        self._unread = set[int]()
        """The bytes of threads that are in the pipe."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def listen(self, signals: Iterable[signal.Signals]) -> None:
        """Receive these signals through the pipe; only on the main thread."""
        for number in signals:
            self._previous[number] = signal.signal(number, _ignore)
        signal.set_wakeup_fd(self._write, warn_on_full_buffer=False)

    def wake(self) -> None:
        """End the wait; safe from any thread, and cheap if it has ended already."""
        self._notify(_WOKEN)

    def pods_changed(self) -> None:
        """Notify of a change of the node's pods; from any thread."""
        self._notify(_PODS_CHANGED)

    def take(self) -> Arrivals:
        """Empty the pipe and return what was in it."""
        arrived: set[int] = set()
        while select.select([self.fd], [], [], 0)[0]:
            arrived.update(os.read(self.fd, 512))
        # A notice that is dropped before this line is of a change that the caller's next reading shows.
        self._unread.clear()
        return Arrivals(
            signals=frozenset(arrived - {_WOKEN, _PODS_CHANGED}),
            woken=_WOKEN in arrived,
            pods_changed=_PODS_CHANGED in arrived,
        )

    def _notify(self, byte: int) -> None:
        if byte not in self._unread:
            self._unread.add(byte)
            with suppress(OSError):  # closed: the loop has ended
                os.write(self._write, bytes([byte]))

    def close(self) -> None:
        """Restore the previous signal handlers and close the pipe."""
        if self._previous:
            signal.set_wakeup_fd(-1)
        for number, handler in self._previous.items():
            signal.signal(number, handler)  # type: ignore[arg-type] # what signal() itself had returned
        self._previous.clear()
        reading, writing = self.fd, self._write
        self.fd = self._write = -1  # a later `wake` must not write to another file with that number
        os.close(reading)
        os.close(writing)


def _ignore(_number: int, _frame: object) -> None:
    """Do nothing: the byte in the pipe is what counts."""
