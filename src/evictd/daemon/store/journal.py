"""Appends the journal: a file of JSON lines, rotated by size.

Every cycle that decided anything is one line with the observation it decided on, so that `evictd replay` can run it again.
`journal.jsonl` is the newest file, `journal.1.jsonl` the one before. The oldest file holds evictions alone: of the records that
would have to go, those that evicted a pod, or show one that the kubelet evicted or the kernel killed, are kept as long as they
fit into it, because they are asked for longest. The journal often lies on the very filesystem whose shortage it records, so
blocks for the next records are reserved while there are some.
"""

import ctypes
import errno
import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

from evictd.daemon.store.own_file import open_own
from evictd.errors import InputError

MAX_BYTES = 16 << 20
KEPT_FILES = 4
RESERVED_BYTES = 1 << 20
"""Some ten records of a node with a hundred pods."""

_FILES_WITH_EVICTIONS = 2
"""With at most this many files the oldest one holds records of every kind, not only evictions."""
_EVICTION, _FINDINGS = b'"kind":"EvictPod"', b'"findings":'
_BY_OTHERS = b'"kubeletEvicted":[', b'"kernelKilled":['
_KEEP_SIZE = 1  # FALLOC_FL_KEEP_SIZE of linux/falloc.h


class JournalFile:
    """The open journal. Used by one thread only; raises OSError where the disk refuses, `InputError` for what is no file."""

    def __init__(self, path: Path, *, max_bytes: int = MAX_BYTES, kept: int = KEPT_FILES) -> None:
        self.path = path
        self._max_bytes = max_bytes
        self._kept = kept
        self._fd = -1
        self._size = 0
        self._reserved = 0
        self._torn = False

    def reserve(self) -> None:
        """Open the file and reserve the blocks of the next records; raises OSError where it cannot be opened."""
        if self._fd < 0:
            self._open()
        if self._reserved < self._size + RESERVED_BYTES // 2 and _reserve_beyond_end(self._fd, self._size):
            self._reserved = self._size + RESERVED_BYTES

    def append(self, line: bytes) -> None:
        """Add one record, newline included, in a new file if this one is full."""
        if self._fd >= 0 and self._was_changed():
            self.close()
        if self._fd < 0:
            self._open()
        if self._size and self._size + len(line) > self._max_bytes:
            self._rotate()
        try:
            self._write(line)
            self.reserve()
        except OSError:
            # The next record opens the file again, in case its directory was mounted over or emptied meanwhile.
            self.close()
            raise

    def close(self) -> None:
        """Close the descriptor."""
        if self._fd >= 0:
            os.close(self._fd)
        self._fd = -1

    def _was_changed(self) -> bool:
        """Whether the file was removed, so that what is written into it is lost, or has another length than evictd gave it."""
        found = os.fstat(self._fd)
        return not found.st_nlink or found.st_size != self._size

    def _open(self) -> None:
        self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._fd = open_own(self.path, os.O_RDWR | os.O_APPEND | os.O_CREAT)
        self._size = os.fstat(self._fd).st_size
        self._reserved = 0
        self._torn = _is_cut_short(self._fd, self._size)

    def _write(self, line: bytes) -> None:
        # A full disk, or the end of an earlier run, may have cut the last record short; the next one begins a line of its own.
        data = b"\n" + line if self._torn else line
        written = os.write(self._fd, data)
        self._torn = written < len(data)
        self._size += written
        if self._torn:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(self.path))

    def _rotate(self) -> None:
        os.ftruncate(self._fd, self._size)  # frees the reserved blocks that are not needed
        self.close()
        if self._kept > _FILES_WITH_EVICTIONS:
            self._keep_evictions()
        for number in range(self._kept - 1, 0, -1):
            older = self._numbered(number - 1)
            if older.exists():
                older.replace(self._numbered(number))
        self.path.unlink(missing_ok=True)  # it is there if no older file is kept
        self._open()

    def _keep_evictions(self) -> None:
        """Reduce the file that becomes the oldest to its evictions, after those of the oldest so far, as many as fit.

        Where the disk has no space for that, the file stays as it is, and the evictions of the oldest are lost with it.
        """
        next_oldest = self._numbered(self._kept - 2)
        paths = (self._numbered(self._kept - 1), next_oldest)
        fresh = next_oldest.with_name(f".{next_oldest.name}.new")
        try:
            # Twice through the files, so that one record at a time is in memory: the node may have none to spare.
            excess = sum(len(line) for path in paths for line in _evictions(path)) - self._max_bytes
            with _opened_new(fresh) as file:
                for line in (line for path in paths for line in _evictions(path)):
                    if excess <= 0:
                        file.write(line)
                    excess -= len(line)
            fresh.replace(next_oldest)
        except (OSError, InputError):
            fresh.unlink(missing_ok=True)

    def _numbered(self, number: int) -> Path:
        return self.path if number == 0 else self.path.with_name(f"{self.path.stem}.{number}{self.path.suffix}")


def _opened_new(path: Path) -> BinaryIO:
    path.unlink(missing_ok=True)
    return os.fdopen(open_own(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL), "wb")


def _evictions(path: Path) -> Iterator[bytes]:
    """Yield the records of a file in which evictd or the kubelet evicted a pod; none of a file that does not exist."""
    with suppress(FileNotFoundError), os.fdopen(open_own(path, os.O_RDONLY), "rb") as file:
        # Decisions come before the findings. A text of a pod's author has its quotation marks escaped, so it cannot match.
        yield from (line for line in file if line.endswith(b"\n") and _is_eviction(line))


def _is_eviction(line: bytes) -> bool:
    return _EVICTION in line.partition(_FINDINGS)[0] or any(each in line for each in _BY_OTHERS)


def _is_cut_short(fd: int, size: int) -> bool:
    """Whether the last record of a file of `size` bytes lacks its end; also where that cannot be read."""
    try:
        return size > 0 and os.pread(fd, 1, size - 1) != b"\n"
    except OSError:
        return True


def _reserve_beyond_end(fd: int, size: int) -> bool:
    """Reserve `RESERVED_BYTES` after the first `size` of a file without making it longer; whether that was possible.

    Reserved blocks cannot be taken by another file, except on copy-on-write filesystems such as btrfs, where this does nothing.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    return bool(libc.fallocate(fd, _KEEP_SIZE, ctypes.c_int64(size), ctypes.c_int64(RESERVED_BYTES)) == 0)
