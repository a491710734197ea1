"""Which files were counted already, among those with several names?

A pod may make millions of them, so a set of numbers will not do: it would take 100 bytes for each. Filesystems hand out inode
numbers in rows, and a row of 256 is kept as the bits of one number: 16 million neighbours, or 65,536 that are far from one
another, take some 10 MiB.
"""

from evictd.errors import NodeError

_ROW_BITS = 8
_MASK = (1 << _ROW_BITS) - 1
_MOST_ROWS = 1 << 16


class InodeSet:
    """Inode numbers of one filesystem."""

    __slots__ = ("_rows",)

    def __init__(self) -> None:
        self._rows: dict[int, int] = {}

    def add(self, inode: int) -> bool:
        """Note an inode; whether it is new. Raises `NodeError` for a tree that is there to exhaust us."""
        number, bit = inode >> _ROW_BITS, 1 << (inode & _MASK)
        row = self._rows.get(number, 0)
        if row & bit:
            return False
        if not row and len(self._rows) >= _MOST_ROWS:
            raise NodeError("disk usage: too many files with several links")
        self._rows[number] = row | bit
        return True
