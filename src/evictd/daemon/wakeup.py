"""How does anybody end the loop's wait?

One pipe: signals write to it through `signal.set_wakeup_fd`, worker threads through `wake`. The loop polls the
reading end.
"""

import os
import select
import signal
from collections.abc import Iterable
from typing import Self


class WakeUp:
    """The pipe, and the signals that arrived over it."""

    def __init__(self) -> None:
        self.fd, self._write = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        self._previous: dict[int, object] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def listen(self, signals: Iterable[signal.Signals]) -> None:
        """Let these signals arrive as bytes of the pipe; only on the main thread."""
        for number in signals:
            self._previous[number] = signal.signal(number, _ignore)
        signal.set_wakeup_fd(self._write, warn_on_full_buffer=False)

    def wake(self) -> None:
        """End the wait; safe from any thread, and cheap if it has ended already."""
        try:
            os.write(self._write, b"\0")
        except (BlockingIOError, OSError):
            return  # full: the loop is awake anyway; closed: there is no loop any more

    def take(self) -> frozenset[int]:
        """Empty the pipe and give the signals that were in it."""
        arrived: set[int] = set()
        while select.select([self.fd], [], [], 0)[0]:
            arrived.update(os.read(self.fd, 512))
        return frozenset(arrived - {0})

    def close(self) -> None:
        """Give the signals back to whoever had them, and the pipe."""
        if self._previous:
            signal.set_wakeup_fd(-1)
        for number, handler in self._previous.items():
            signal.signal(number, handler)  # type: ignore[arg-type] # what signal() itself had returned
        self._previous.clear()
        os.close(self.fd)
        os.close(self._write)
        self.fd = self._write = -1  # whoever wakes us later must not write to a file that has got the number


def _ignore(_number: int, _frame: object) -> None:
    """Do nothing: the byte in the pipe says it all."""
