"""What was decided, on which numbers, and what became of it: a file of JSON lines.

Every cycle that decided anything is one line with the observation it decided on, so that `evictd replay` can run it
again. Rotated by size: `journal.jsonl` is the newest, `journal.1.jsonl` the one before. A record that cannot be
written is lost and complained about; it never holds up an eviction.
"""

import errno
import os
from pathlib import Path

MAX_BYTES = 16 << 20
KEPT_FILES = 4


class JournalFile:
    """The open journal. Used by one thread only; raises OSError where the disk refuses."""

    def __init__(self, path: Path, *, max_bytes: int = MAX_BYTES, kept: int = KEPT_FILES) -> None:
        self.path = path
        self._max_bytes = max_bytes
        self._kept = kept
        self._fd = -1
        self._size = 0
        self._torn = False

    def append(self, line: bytes) -> None:
        """Add one record, newline included, and begin a new file first where this one is full."""
        if self._fd < 0:
            self._open()
        if self._size and self._size + len(line) > self._max_bytes:
            self._rotate()
        try:
            self._write(line)
        except OSError:
            # The next record opens the file anew, in case somebody mounted or emptied something meanwhile.
            self.close()
            raise

    def close(self) -> None:
        """Give the descriptor back."""
        if self._fd >= 0:
            os.close(self._fd)
        self._fd = -1

    def _open(self) -> None:
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
        self._fd = os.open(self.path, flags, 0o600)
        self._size = os.fstat(self._fd).st_size

    def _write(self, line: bytes) -> None:
        # A full disk may have cut the last record short; what follows must not be glued to it.
        written = os.write(self._fd, b"\n" + line if self._torn else line)
        self._torn = written < len(line)
        self._size += written
        if self._torn:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(self.path))

    def _rotate(self) -> None:
        self.close()
        for number in range(self._kept - 1, 0, -1):
            older = self._numbered(number - 1)
            if older.exists():
                older.replace(self._numbered(number))
        self._open()

    def _numbered(self, number: int) -> Path:
        return self.path if number == 0 else self.path.with_name(f"{self.path.stem}.{number}{self.path.suffix}")
