"""How much room is left on a filesystem?

`statvfs` as `df` shows it to ordinary users: the blocks that only root may use are not available (spec 3.3). A filesystem that
hangs must not stop the observation, so the call is made by a thread of its own for each path, and who asks waits a bounded
time and no longer at all while an old question is still unanswered.
"""

import os
import threading
from collections.abc import Callable
from pathlib import Path

from evictd.core.duration import SECOND
from evictd.core.stats import FsStats
from evictd.errors import NodeError
from evictd.observe.findings import Problems
from evictd.observe.kept_files import unreadable

Statvfs = Callable[[str], os.statvfs_result]

TIMEOUT = 2 * SECOND
"""How long the kubelet waits for a statfs, too."""


def fs_stats(answer: os.statvfs_result, now: int) -> FsStats:
    """Turn an answer of statvfs into bytes and inodes; a filesystem that makes its inodes as it goes has none to count."""
    counted = answer.f_files > 0
    return FsStats(
        time=now,
        available_bytes=answer.f_frsize * answer.f_bavail,
        capacity_bytes=answer.f_frsize * answer.f_blocks,
        used_bytes=answer.f_frsize * (answer.f_blocks - answer.f_bfree),
        inodes_free=answer.f_ffree if counted else None,
        inodes=answer.f_files if counted else None,
        inodes_used=answer.f_files - answer.f_ffree if counted else None,
    )


class FilesystemReader:
    """Reads filesystems by a path on them; keeps one waiting thread for each path that was ever asked for."""

    def __init__(self, *, statvfs: Statvfs = os.statvfs, timeout: int = TIMEOUT) -> None:
        self._statvfs = statvfs
        self._timeout = timeout
        self._askers: dict[str, _Asker] = {}

    def read(self, path: Path, name: str, now: int, problems: Problems) -> FsStats | None:
        """Give the numbers of the filesystem that holds a path, or `None` and a problem under this name."""
        try:
            asker = self._askers.get(str(path))
            if asker is None:
                asker = self._askers[str(path)] = _Asker(str(path), self._statvfs)
            stats = fs_stats(asker.ask(self._timeout), now)
        except NodeError as error:
            problems.add(name, error)
            return None
        if stats.inodes is None:
            problems.add(f"{name}: inodes", f"{path}: this filesystem does not count inodes")
        return stats

    def close(self) -> None:
        """Let the threads end; one that hangs in the kernel ends with the process."""
        for asker in self._askers.values():
            asker.stop()
        self._askers.clear()


class _Asker:
    """A thread that asks about one path whenever told to."""

    def __init__(self, path: str, statvfs: Statvfs) -> None:
        self._path = path
        self._statvfs = statvfs
        self._question = threading.Event()
        self._answered = threading.Event()
        self._answered.set()
        self._stopped = False
        self._answer: os.statvfs_result | NodeError = NodeError(f"{path}: not asked yet")
        # A daemon thread: a hung mount must not keep the process from ending either.
        try:
            threading.Thread(target=self._run, name=f"statvfs {path}", daemon=True).start()
        except RuntimeError as error:  # a node that is out of PIDs; the next reading tries again
            raise NodeError(f"{path}: cannot be asked about: {error}") from error

    def ask(self, timeout: int) -> os.statvfs_result:
        if not self._answered.is_set():
            raise NodeError(f"{self._path}: still no answer from this filesystem")
        self._answered.clear()
        self._question.set()
        if not self._answered.wait(timeout / SECOND):
            raise NodeError(f"{self._path}: no answer from this filesystem in {timeout / SECOND:g} s")
        if isinstance(self._answer, NodeError):
            raise self._answer
        return self._answer

    def stop(self) -> None:
        self._stopped = True
        self._question.set()

    def _run(self) -> None:
        while True:
            self._question.wait()
            self._question.clear()
            if self._stopped:
                return
            try:
                self._answer = self._statvfs(self._path)
            except OSError as error:
                self._answer = unreadable(self._path, error)
            self._answered.set()
