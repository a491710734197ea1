"""Reads capacity and available space and inodes of filesystems by `statvfs`.

Available is what `df` shows to ordinary users: blocks reserved for root do not count. `statvfs` on a hung mount never
returns, so each path has a thread of its own that makes the call; the caller waits at most `TIMEOUT`, and while an earlier
call has not returned, it does not wait at all.
"""

import os
import threading
from collections.abc import Callable
from pathlib import Path

from evictd.core.model.stats import FsStats
from evictd.core.units.duration import SECOND
from evictd.errors import NodeError
from evictd.observe.cgroups.file_descriptor_cache import unreadable
from evictd.observe.reading.problems import Problems
from evictd.worker import describe

Statvfs = Callable[[str], os.statvfs_result]

TIMEOUT = 2 * SECOND
"""Nanoseconds; the bound for a statfs in the kubelet's cAdvisor."""


def fs_stats(answer: os.statvfs_result, now: int) -> FsStats:
    """Convert a result of statvfs to bytes and inodes; `None` for inodes on filesystems without a fixed number (btrfs).

    `read_only` holds for a read-only mount and for a read-only filesystem: statvfs does not distinguish them
    (`MountTable.is_read_only` does).
    """
    counted = answer.f_files > 0
    return FsStats(
        time=now,
        available_bytes=answer.f_frsize * answer.f_bavail,
        capacity_bytes=answer.f_frsize * answer.f_blocks,
        used_bytes=answer.f_frsize * (answer.f_blocks - answer.f_bfree),
        inodes_free=answer.f_ffree if counted else None,
        inodes=answer.f_files if counted else None,
        inodes_used=answer.f_files - answer.f_ffree if counted else None,
        read_only=bool(answer.f_flag & os.ST_RDONLY),
    )


class FilesystemReader:
    """Reads filesystems by a path on them; holds one thread for each path that was ever read, until `close`."""

    def __init__(self, *, statvfs: Statvfs = os.statvfs, timeout: int = TIMEOUT) -> None:
        self._statvfs = statvfs
        self._timeout = timeout
        self._callers: dict[str, _StatvfsThread] = {}

    def read(self, path: Path, name: str, now: int, problems: Problems) -> FsStats | None:
        """Read the filesystem that holds `path`; on failure returns `None` and adds a problem with source `name`."""
        try:
            stats = fs_stats(self._call(path), now)
        except NodeError as error:
            problems.add(name, error)
            return None
        if stats.inodes is None:
            problems.add(f"{name}: inodes", f"{path}: this filesystem does not count inodes")
        return stats

    def _call(self, path: Path) -> os.statvfs_result:
        if not path.is_absolute():  # it comes from the runtime; it would be read in evictd's own directory
            raise NodeError(f"{str(path)!r}: not an absolute path")
        caller = self._callers.get(str(path))
        if caller is None:
            caller = self._callers[str(path)] = _StatvfsThread(str(path), self._statvfs)
        answer = caller.call(self._timeout)
        if answer.f_blocks == 0:  # FUSE without statfs, an automount that was not triggered: it would count as full
            raise NodeError(f"{path}: this filesystem does not say how large it is")
        if max(answer.f_bavail, answer.f_bfree) > answer.f_blocks or answer.f_ffree > answer.f_files:
            raise NodeError(f"{path}: this filesystem says that more of it is free than it has")
        return answer

    def close(self) -> None:
        """Stop the threads; one that hangs in the kernel ends with the process."""
        for caller in self._callers.values():
            caller.stop()
        self._callers.clear()


class _StatvfsThread:
    """A thread that calls statvfs on one path, once for each `call`."""

    def __init__(self, path: str, statvfs: Statvfs) -> None:
        self._path = path
        self._statvfs = statvfs
        self._requested = threading.Event()
        self._idle = threading.Event()
        self._idle.set()
        self._stopped = False
        self._result: os.statvfs_result | NodeError = NodeError(f"{path}: not read yet")
        # A daemon thread, so that a hung mount does not keep the process from exiting either.
        try:
            threading.Thread(target=self._run, name=f"statvfs {path}", daemon=True).start()
        except RuntimeError as error:  # the node has no free PID; the next reading tries again
            raise NodeError(f"{path}: no thread to read it with: {error}") from error

    def call(self, timeout: int) -> os.statvfs_result:
        if not self._idle.is_set():
            raise NodeError(f"{self._path}: this filesystem still does not respond")
        self._idle.clear()
        self._requested.set()
        if not self._idle.wait(timeout / SECOND):
            raise NodeError(f"{self._path}: this filesystem does not respond within {timeout / SECOND:g} s")
        if isinstance(self._result, NodeError):
            raise self._result
        return self._result

    def stop(self) -> None:
        self._stopped = True
        self._requested.set()

    def _run(self) -> None:
        while True:
            self._requested.wait()
            self._requested.clear()
            if self._stopped:
                return
            try:
                self._result = self._statvfs(self._path)
            except OSError as error:
                self._result = unreadable(self._path, error)
            except ValueError as error:  # the path comes from the runtime and may hold a NUL or a lone surrogate
                self._result = NodeError(f"{self._path!r}: invalid path: {error}")
            except Exception as error:
                # An unforeseen error must not end the thread: the path would never be read again.
                self._result = NodeError(f"{self._path!r}: {describe(error)}")
            self._idle.set()
