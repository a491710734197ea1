"""Traverses a pod's cgroup and those below it, of any depth and number.

A privileged pod makes cgroups below its own: deeper than any stack, with names that add up to more than a path may have, more
than fit into memory. So each is opened relative to the one above it, a bounded number of names is held, and the caller takes as
many as it has time for and goes on later. What cannot be read is an error and never an empty cgroup.
"""

import errno
import os
from collections.abc import Generator, Iterable
from contextlib import suppress
from functools import partial
from itertools import islice
from pathlib import Path

from evictd.observe.untrusted_paths import OPEN_DIRECTORY

NAMES_AT_ONCE = 4096
"""Most names of cgroups held in memory; beyond that a directory is read repeatedly, `_FEWEST` names at a time."""
_FEWEST = 16
THREADS = 64
"""Most threads of a process that are read."""
_CHUNK = 1 << 16
REMOVED = frozenset({errno.ENOENT, errno.ENODEV})
"""The kernel's errors for a cgroup that was removed while it was open."""


def walk(directory: Path) -> Generator[int]:
    """Visit a cgroup and every one below it; return an open descriptor of each, which is valid until the next one is asked for.

    Raises `FileNotFoundError` if there is no such cgroup, and another `OSError` where one below it cannot be read. Closes what
    it has opened when it ends or is dropped.
    """
    here = os.open(directory, OPEN_DIRECTORY)
    levels: list[_Level] = []
    try:
        yield here
        levels.append(_Level())
        while levels:
            name = levels[-1].next_name(here, NAMES_AT_ONCE - sum(len(each.names) for each in levels))
            if name is None:
                levels.pop()
                if levels:
                    here = _replaced(here, "..")  # a cgroup stays below the one in which it was made
                continue
            try:
                here = _replaced(here, name)
            except OSError as error:
                if error.errno in REMOVED:
                    continue
                raise
            yield here
            levels.append(_Level())
    finally:
        os.close(here)


def _replaced(here: int, name: str) -> int:
    below = os.open(name, OPEN_DIRECTORY, dir_fd=here)
    os.close(here)
    return below


class _Level:
    """The cgroups directly below one that were not visited yet."""

    __slots__ = ("_read", "names")

    def __init__(self) -> None:
        self.names: list[str] = []
        self._read: int | None = 0
        """Number of names read before; `None` when none are left. The kernel lists them in a fixed order."""

    def next_name(self, folder: int, most: int) -> str | None:
        """Take the next one; `None` if that was the last. `folder` is the open directory, `most` how many names may be held."""
        if not self.names and self._read is not None:
            chunk = max(most, _FEWEST)
            self.names = list(islice(_below(folder), self._read, self._read + chunk))
            self._read = self._read + chunk if len(self.names) == chunk else None
        return self.names.pop() if self.names else None


def _below(folder: int) -> Iterable[str]:
    try:
        with os.scandir(folder) as entries:
            yield from (entry.name for entry in entries if entry.is_dir(follow_symlinks=False))
    except OSError as error:
        if error.errno not in REMOVED:
            raise


def processes(folder: int) -> frozenset[int]:
    """Return the processes in one open cgroup itself; 0 means a process of another PID namespace."""
    try:
        return frozenset(int(each) for each in read(folder, "cgroup.procs").split())
    except OSError as error:
        # A threaded cgroup of v2 does not list its processes; the one above it that is not threaded does.
        if error.errno in {*REMOVED, errno.EOPNOTSUPP}:
            return frozenset()
        raise


def is_populated(directory: Path) -> bool | None:
    """Whether there is a task in a cgroup or below, by the kernel's own count; `None` where it keeps none.

    A cgroup that does not exist has none. On v1 only the pids controller counts, also those that have ended and were not waited
    for. Raises `OSError` where it cannot be read.
    """
    try:
        folder = os.open(directory, OPEN_DIRECTORY)
    except FileNotFoundError:
        return False
    try:
        for name, nothing in (("cgroup.events", b"populated 0"), ("pids.current", b"0")):
            try:
                return nothing not in read(folder, name).split(b"\n")
            except FileNotFoundError:
                continue
            except OSError as error:
                if error.errno in REMOVED:
                    return False
                raise
    finally:
        os.close(folder)
    return None


def read(folder: int, name: str) -> bytes:
    """Return the content of a file in an open directory."""
    descriptor = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=folder)
    try:
        return b"".join(iter(partial(os.read, descriptor, _CHUNK), b""))
    except OSError as error:
        error.filename = name
        raise
    finally:
        os.close(descriptor)


def write(folder: int, name: str, value: bytes) -> None:
    """Write a value to a file of the kernel in an open directory."""
    descriptor = os.open(name, os.O_WRONLY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=folder)
    try:
        os.write(descriptor, value)
    finally:
        os.close(descriptor)


def uninterruptible(pids: Iterable[int], proc: Path = Path("/proc")) -> tuple[int, ...]:
    """Return those processes of which a thread, one of the first `THREADS`, is in uninterruptible sleep (state D).

    No signal ends it before the kernel wakes it up, for example when a frozen filesystem is thawed or a disk answers.
    """
    return tuple(pid for pid in pids if any(state == b"D" for state in islice(_states(proc / str(pid)), THREADS)))


def _states(process: Path) -> Iterable[bytes]:
    """Yield the state of each thread, as far as it can be read."""
    with suppress(OSError), os.scandir(process / "task") as threads:
        for thread in threads:
            with suppress(OSError):
                # The name of the program, in parentheses, may have any bytes.
                yield Path(thread.path, "stat").read_bytes().rpartition(b")")[2].split()[0]
