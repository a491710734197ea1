"""Remembers inode numbers in bounded memory: the hard-linked files that a walk has counted, and the directories above it.

A pod may create millions of both, and a Python set takes 100 bytes per number. Filesystems assign inode numbers mostly in
sequence, so numbers are stored as bitmaps of 256: 16 million adjacent numbers, or 65,536 scattered ones, take about 10 MiB.
"""

from evictd.errors import NodeError

_ROW_BITS = 8
_MASK = (1 << _ROW_BITS) - 1
_MAX_ROWS = 1 << 16


class InodeSet:
    """A set of inode numbers; `add` raises `NodeError` when it is full."""

    __slots__ = ("_rows",)

    def __init__(self) -> None:
        self._rows: dict[int, int] = {}

    def add(self, inode: int) -> bool:
        """Add an inode and return whether it is new; raises `NodeError` when the set is full (a hostile tree)."""
        number, bit = inode >> _ROW_BITS, 1 << (inode & _MASK)
        row = self._rows.get(number, 0)
        if row & bit:
            return False
        if not row and len(self._rows) >= _MAX_ROWS:
            raise NodeError(f"more than {_MAX_ROWS} rows of inodes")
        self._rows[number] = row | bit
        return True

    @property
    def full(self) -> bool:
        """Whether a further inode may not fit."""
        return len(self._rows) >= _MAX_ROWS

    def discard(self, inode: int) -> None:
        """Remove an inode if present."""
        number = inode >> _ROW_BITS
        rest = self._rows.get(number, 0) & ~(1 << (inode & _MASK))
        if rest:
            self._rows[number] = rest
        else:
            self._rows.pop(number, None)

    def __contains__(self, inode: int) -> bool:
        return bool(self._rows.get(inode >> _ROW_BITS, 0) >> (inode & _MASK) & 1)
