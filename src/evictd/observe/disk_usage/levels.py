"""Stores where a walk is: the path to the current directory, and the subdirectories that are still to be visited.

A pod can make both arbitrarily long, so both are flat arrays with a bound each, and neither bound ends the walk:

* The path takes the name and 25 bytes for each level. Where it is `full` the walk goes on below with an empty one (`tree_walk`).
* The subdirectories of a directory are visited in the order of their inode numbers. So a list of them may be dropped at any time:
  the directory is read again, for those with a number above the last visited (`unread_after`). Of one directory at most a `Batch`
  is kept; and where the lists of all levels take too much, those of the levels above the current one are dropped.

Since the walk is depth first, the lists form a stack, with that of the current directory on top.
"""

import os
from array import array
from collections.abc import Iterable

_LEVEL_BYTES = 25
"""Bytes of a level beside its name: three numbers of 64 bits and a flag."""
_MAX_PATH_BYTES = 16 << 20
"""Bytes for the path to the current directory: 600,000 levels with names of one letter, 60,000 with the longest names."""
_MAX_PENDING_BYTES = 16 << 20
"""Bytes for the names of directories still to be visited, in all levels; more than one batch takes."""
_BATCH = 1 << 15
"""The subdirectories of one directory that are kept until they are visited; others are read when those were."""
_SURPLUS = 1 << 13
"""Number of further names collected before a batch is sorted and cut."""

Row = tuple[int, str]
"""Inode number and name of a subdirectory."""


class Batch:
    """Collects the subdirectories of one directory with the lowest inode numbers above `after`."""

    __slots__ = ("after", "more", "rows")

    def __init__(self, after: int = -1) -> None:
        self.after = after
        self.rows: list[Row] = []
        """The subdirectories found so far; the caller appends to them, and calls `cut` every few dozen."""
        self.more = False
        """Whether some were left out."""

    def cut(self) -> None:
        """Leave out what does not fit in a batch."""
        if len(self.rows) > _BATCH + _SURPLUS:
            self.more = True
            self._keep_lowest()

    def in_order(self) -> list[Row]:
        """Return the batch, lowest inode number last."""
        if self.more:
            self._keep_lowest()  # what was added since the last cut may be above what that left out
        self.rows.sort(reverse=True)
        return self.rows

    def _keep_lowest(self) -> None:
        self.rows.sort()
        del self.rows[_BATCH:]


class Levels:
    """The path and the subdirectories still to be visited; level 0 is the top."""

    def __init__(self) -> None:
        self.inodes = array("Q")
        """The inode of each level."""
        self._names = bytearray()
        """The name of each level, each after a slash."""
        self._visited = array("Q")
        """The inode number, in its directory, of the last subdirectory visited of each level."""
        self._starts = array("Q")
        """Start of each level's list, counted from the first byte that was ever in `_pending`."""
        self._more = bytearray()
        """Whether a batch of the level's subdirectories left some out."""
        self._pending = bytearray()
        """A NUL, the inode number, a slash and the name of each subdirectory not visited yet; the next to visit last."""
        self._dropped_bytes = 0
        self._dropped_levels = 0
        """The lists of the levels below this number were dropped."""

    @property
    def depth(self) -> int:
        """The number of the current level."""
        return len(self.inodes) - 1

    @property
    def full(self) -> bool:
        """Whether the path may have no further level."""
        return len(self._names) + _LEVEL_BYTES * len(self.inodes) > _MAX_PATH_BYTES

    def enter(self, name: bytes, inode: int) -> None:
        """Add a level below the current one."""
        self._names += b"/" + name
        self.inodes.append(inode)
        self._visited.append(0)
        self._starts.append(self._dropped_bytes + len(self._pending))
        self._more.append(False)

    def leave(self) -> int:
        """Remove the current level and return its inode. Its subdirectories were all visited."""
        self._starts.pop()
        self._visited.pop()
        self._more.pop()
        del self._names[self._names.rindex(b"/") :]
        return self.inodes.pop()

    def push(self, batch: Batch) -> None:
        """Set the subdirectories of the current level, of which none is pending."""
        self._starts[-1] = self._dropped_bytes + len(self._pending)
        self._more[-1] = batch.more
        self._dropped_levels = min(self._dropped_levels, self.depth)
        for inode, name in batch.in_order():
            self._pending += b"\0%x/" % inode + os.fsencode(name)
        if len(self._pending) > _MAX_PENDING_BYTES:
            self._drop_lists_above()

    def pop(self) -> bytes | None:
        """Remove and return the name of the next subdirectory to visit; `None` if the list of the current level is empty."""
        if len(self._pending) <= self._start(self.depth):
            return None
        start = self._pending.rindex(0)
        inode, _, name = bytes(self._pending[start + 1 :]).partition(b"/")
        del self._pending[start:]
        self._visited[-1] = int(inode, 16)
        return name

    def unread_after(self) -> int | None:
        """Return the inode number above which the current directory may have more to visit; `None` if it has no more."""
        return self._visited[-1] if self._more[-1] or self.depth < self._dropped_levels else None

    def names_below_top(self) -> Iterable[bytes]:
        """Yield the names of the levels from 1 on."""
        start = self._end_of_name(0)
        while start < len(self._names):
            end = self._end_of_name(start)
            yield bytes(self._names[start + 1 : end])
            start = end

    def cut(self, reached: int) -> None:
        """Remove the levels below `reached`, with their lists."""
        if reached >= self.depth:
            return
        end = self._end_of_name(0)
        for _ in range(reached):
            end = self._end_of_name(end)
        del self._pending[self._start(reached + 1) :]
        for column in (self.inodes, self._visited, self._starts, self._more):
            del column[reached + 1 :]
        del self._names[end:]

    def _start(self, level: int) -> int:
        return max(0, self._starts[level] - self._dropped_bytes)

    def _drop_lists_above(self) -> None:
        dropped = self._start(self.depth)
        del self._pending[:dropped]
        self._dropped_bytes += dropped
        self._dropped_levels = self.depth

    def _end_of_name(self, start: int) -> int:
        """Return the offset at which the name after the slash at `start` ends."""
        end = self._names.find(b"/", start + 1)
        return len(self._names) if end < 0 else end
