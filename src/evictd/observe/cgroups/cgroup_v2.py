"""Reads memory, tasks and PSI of cgroups of version 2, the unified tree.

Usage is `memory.current`. The root has no such file; its usage is `anon` plus `file` of `memory.stat`, which leaves out kernel
memory, as in the kubelet (docs/kubelet.md, Statistics).
"""

from contextlib import suppress
from pathlib import Path

from evictd.observe.cgroups.cgroup_reader import CgroupReader
from evictd.observe.cgroups.file_descriptor_cache import FileDescriptorCache, VanishedError
from evictd.observe.cgroups.kernel_text import CgroupWrites, parse_io_stat, parse_limit, parse_stat, sum_of_stat

_WAITING = (b"file_dirty", b"file_writeback")


class CgroupV2(CgroupReader):
    """Reads the unified tree at `root`."""

    version = "v2"
    _inactive = b"inactive_file"
    _file_pages = (b"active_file", *_WAITING)

    def __init__(self, root: Path, files: FileDescriptorCache) -> None:
        super().__init__(files, memory=root, pids=root, psi=root)

    def usage(self, path: str) -> int:
        """Read `memory.current`; for the root, `anon` plus `file`."""
        try:
            return self._count(f"{self._memory}{path}/memory.current")
        except VanishedError:
            if path.strip("/"):
                raise
        stat, what = self._stat(path)
        return parse_stat(stat, b"anon", what) + parse_stat(stat, b"file", what)

    def writes(self, path: str) -> CgroupWrites:
        """Return the cgroup's writes; new inodes show as the kernel's memory (`slab_reclaimable`)."""
        stat, what = self._stat(path)
        total = sum_of_stat(stat, (b"slab_reclaimable",), what)
        with suppress(VanishedError):  # without the io controller
            written = f"{self._memory}{path}/io.stat"
            total += parse_io_stat(self._files.read(written), written)
        return CgroupWrites(total, sum_of_stat(stat, _WAITING, what))

    def limit(self, path: str) -> int | None:
        """Read `memory.max`; `None` for `max`."""
        what = f"{self._memory}{path}/memory.max"
        return parse_limit(self._files.read(what), what)

    def swap(self, path: str) -> int | None:
        """Read `memory.swap.current`."""
        return self._count(f"{self._memory}{path}/memory.swap.current")

    def drops_page_cache(self, path: str) -> bool:
        """Whether there is `memory.reclaim` (Linux 5.19)."""
        return Path(f"{self._memory}{path}/memory.reclaim").exists()
