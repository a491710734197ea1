"""Starts a process and reads the lines that it writes, with the time of each; and counts those of evictd's log."""

import re
import subprocess
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from queue import Empty, Queue


class Lines:
    """The lines that a process writes, with a time limit on each."""

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        self._queue: Queue[tuple[int, str]] = Queue()
        self._stream = process.stdout
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        for line in self._stream or ():
            self._queue.put((time.clock_gettime_ns(time.CLOCK_BOOTTIME), line))

    def next(self, word: str, seconds: float = 60) -> tuple[int, str]:
        """Return the next line with this word, and when it was read."""
        while True:
            try:
                at, line = self._queue.get(timeout=seconds)
            except Empty:
                raise AssertionError(f"no line with {word!r} in {seconds} s") from None
            if word in line:
                return at, line

    def forget(self) -> None:
        """Drop the lines read so far."""
        while not self._queue.empty():
            self._queue.get_nowait()


def pressure_ends(log: Path) -> int:
    """Return how often evictd has logged that a condition of the node ended."""
    return len(re.findall('"report node conditions: [^"]* ended"', log.read_text()))


@contextmanager
def started(argv: Sequence[str], *, cgroups: Sequence[Path] = ()) -> Iterator[tuple["subprocess.Popen[str]", Lines]]:
    """Start a process, moved into these cgroups; it is killed at the end."""
    process = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    for folder in cgroups:
        (folder / "cgroup.procs").write_text(str(process.pid))
    try:
        yield process, Lines(process)
    finally:
        process.kill()
        process.wait(60)
