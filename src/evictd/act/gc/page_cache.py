"""Has the kernel drop clean file pages of all pods (cgroup v2, `memory.reclaim`), on a thread that exists before any pressure.

The kernel gives back inactive pages first and moves active ones to them, in small steps here so that each write is short. With
`swappiness=0` no anonymous memory goes to swap. A kernel that does not know the word (before 6.9) is asked without it only where
the machine has no swap. What counts as freed is by how much the working set of the pods' cgroup fell: inactive pages are no part
of `memory.available`'s formula.
"""

import errno
import os
from collections.abc import Callable
from pathlib import Path
from threading import Lock

from evictd.core.model.observation import Reclaim, ReclaimOutcome
from evictd.core.units.duration import SECOND
from evictd.errors import NodeError
from evictd.observe.cgroups.cgroup_reader import CgroupV2
from evictd.observe.cgroups.file_descriptor_cache import FileDescriptorCache
from evictd.worker import CLOSE_SECONDS, WorkQueue, describe

LIMIT = 3 * SECOND
"""Nanoseconds for which evictd asks the kernel for pages."""
STEP = 16 << 20
"""Bytes for each write; the kernel drops as many in some milliseconds."""
_FILE_ONLY = " swappiness=0"


class PageCacheReclaimer:
    """One reclaim of page cache at a time. `find` returns the directory of the pods' cgroup; `clock` returns nanoseconds."""

    def __init__(
        self,
        find: Callable[[], Path | None],
        *,
        proc: Path,
        clock: Callable[[], int],
        wake: Callable[[], None] = lambda: None,
    ) -> None:
        self._find = find
        self._proc = proc
        self._clock = clock
        self._wake = wake
        self._lock = Lock()
        self._outcome: ReclaimOutcome | None = None
        self._busy = False
        """Whether the thread is at work."""
        self._argument = _FILE_ONLY
        """Text that is written after the number of bytes; empty once the kernel has rejected it in this reclaim."""
        self._requests = WorkQueue("page-cache", self._work, capacity=1)

    def begin(self, wanted: int) -> None:
        """Drop pages until the working set of all pods is smaller by these bytes; never blocks."""
        with self._lock:
            busy, self._busy, self._outcome = self._busy, True, None
            if busy:
                error = "the kernel is still at work on the last request"
                self._outcome = ReclaimOutcome(action=Reclaim.PAGE_CACHE, error=error)
        if busy:
            self._wake()
        else:
            self._requests.put(wanted)

    def outcome(self) -> ReclaimOutcome | None:
        """Return the outcome of the last `begin`; `None` before its end."""
        with self._lock:
            return self._outcome

    def close(self) -> None:
        """End the thread after the reclaim under way; one that hangs in the kernel ends with the process."""
        self._requests.close(CLOSE_SECONDS)

    def _work(self, wanted: int) -> None:
        try:
            found = ReclaimOutcome(action=Reclaim.PAGE_CACHE, freed_bytes=self._drop(wanted))
        except (NodeError, OSError) as error:
            found = ReclaimOutcome(action=Reclaim.PAGE_CACHE, error=str(error))
        except Exception as error:  # unforeseen: the eviction needs an outcome
            found = ReclaimOutcome(action=Reclaim.PAGE_CACHE, error=describe(error))
        with self._lock:
            self._outcome, self._busy = found, False
        self._wake()

    def _drop(self, wanted: int) -> int:
        """Return by how many bytes the working set fell; raises `NodeError` or `OSError` where nothing can be asked for."""
        folder, ends = self._find(), self._clock() + LIMIT
        if folder is None:
            raise NodeError("the cgroup of all pods is not known")
        cgroup, path = CgroupV2(folder.parent, FileDescriptorCache(0)), f"/{folder.name}"
        if not cgroup.drops_page_cache(path):
            raise NodeError("page cache can be dropped only with cgroup v2 and Linux 5.19 or newer")
        usage, before = cgroup.memory_usage(path)
        # The kernel drops inactive pages first, which are no part of the working set.
        left, now = wanted + usage - before, before
        self._argument = _FILE_ONLY
        with (folder / "memory.reclaim").open("wb", buffering=0) as file:
            while now > before - wanted and left > 0 and self._clock() < ends:
                if not self._ask(file.fileno(), min(STEP, left)):
                    break
                left -= STEP
                now = cgroup.memory_usage(path).working_set
        return max(0, before - cgroup.memory_usage(path).working_set)

    def _ask(self, file: int, size: int) -> bool:
        """Ask the kernel to drop `size` bytes; return whether it dropped as many."""
        try:
            os.write(file, f"{size}{self._argument}".encode())
        except OSError as error:
            if error.errno == errno.EAGAIN:
                return False
            if error.errno != errno.EINVAL:
                raise
            if not self._argument or self._has_swap():
                raise NodeError("this kernel would swap as well: memory.reclaim takes no swappiness") from error
            self._argument = ""
            return self._ask(file, size)
        return True

    def _has_swap(self) -> bool:
        lines = (self._proc / "swaps").read_text().splitlines()
        return len(lines) > 1
