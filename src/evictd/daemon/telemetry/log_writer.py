"""Writes log lines on a thread of its own, so that no reader of the log can delay or end an eviction.

The caller appends to a bounded queue and returns. The thread writes to the descriptor: it may block there forever (the reader of
a pipe is stopped), or get an error (the disk of the log file is full, the reader has closed the pipe). A line that does not fit
into the queue, and a line that the descriptor refuses, is dropped and counted; the next line that is written is preceded by one
with the number of dropped lines. No call raises.
"""

import contextlib
import os
import threading

from evictd.worker import WorkQueue

MOST_PENDING_BYTES = 1 << 20
"""Size of the queue: some 5,000 lines. On a node that is short of memory, memory matters more than a log."""
MOST_LINE_BYTES = 64 << 10
CLOSE_SECONDS = 1.0
"""How long the end of the daemon waits for the pending lines to be written."""


class LogWriter:
    """A file-like object for text lines; `write` takes whole lines and returns at once. The descriptor is duplicated."""

    def __init__(self, fd: int, *, most_pending_bytes: int = MOST_PENDING_BYTES) -> None:
        self._fd = os.dup(fd)
        self._lock = threading.Lock()
        self._dropped = 0
        self._unreported = 0
        self._torn = False
        self._lines = WorkQueue("evictd-log", self._write_line, capacity=most_pending_bytes)

    @property
    def dropped(self) -> int:
        """The number of lines dropped so far."""
        return self._dropped

    def write(self, text: str) -> int:
        """Queue lines; they are dropped and counted where too many are pending."""
        line = text.encode("utf-8", "backslashreplace")
        if len(line) > MOST_LINE_BYTES:
            line = line[: MOST_LINE_BYTES - 4] + b"...\n"
        if not self._lines.put(line, len(line)):
            self._count_drop()
        return len(text)

    def flush(self) -> None:
        """Do nothing: the thread writes each line whole."""

    def close(self, timeout_seconds: float = CLOSE_SECONDS) -> None:
        """Write what is pending, within the time given; a thread that is blocked in a write ends with the process."""
        if self._lines.close(timeout_seconds):
            os.close(self._fd)

    def _write_line(self, line: bytes) -> None:
        unreported = self._unreported
        if unreported and self._put(b'{"event": "log lines dropped", "level": "warning", "count": %d}\n' % unreported):
            with self._lock:
                self._unreported -= unreported
        if not self._put(line):
            self._count_drop()

    def _put(self, line: bytes) -> bool:
        """Write a line; False if the descriptor refused any of it."""
        # A full disk may have cut the last line short; the next one begins a line of its own.
        left = memoryview(b"\n" + line if self._torn else line)
        begun = False
        with contextlib.suppress(OSError):
            while left:
                written = os.write(self._fd, left)
                begun, left = True, left[written:]
            self._torn = False
            return True
        self._torn = self._torn or begun
        return False

    def _count_drop(self) -> None:
        with self._lock:
            self._dropped += 1
            self._unreported += 1
