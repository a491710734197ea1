"""Reads memory, tasks and PSI of cgroups of version 1, which has one tree per controller.

Usage is `memory.usage_in_bytes`, for the root too; inactive file cache is `total_inactive_file`, which includes descendants
(docs/kubelet.md, Statistics). PSI exists only in a unified tree mounted beside them (hybrid).
"""

from contextlib import suppress
from pathlib import Path

from evictd.observe.cgroups.cgroup_reader import CgroupReader
from evictd.observe.cgroups.file_descriptor_cache import FileDescriptorCache, VanishedError
from evictd.observe.cgroups.kernel_text import CgroupWrites, parse_blkio, sum_of_stat

_WAITING = (b"total_dirty", b"total_writeback")


class CgroupV1(CgroupReader):
    """Reads the trees `memory`, `pids` and `blkio` below `root`, and PSI of `unified`."""

    _inactive = b"total_inactive_file"
    _file_pages = (b"total_active_file", *_WAITING)

    def __init__(self, root: Path, files: FileDescriptorCache, *, unified: Path | None = None) -> None:
        super().__init__(files, memory=root / "memory", pids=root / "pids", psi=unified)
        self._blkio = str(root / "blkio")

    @property
    def version(self) -> str:
        """`v1`, or `v1 (hybrid)` with a unified tree."""
        return "v1" if self._psi is None else "v1 (hybrid)"

    def usage(self, path: str) -> int:
        """Read `memory.usage_in_bytes`."""
        return self._count(f"{self._memory}{path}/memory.usage_in_bytes")

    def writes(self, path: str) -> CgroupWrites:
        """Return the cgroup's writes. `blkio` counts only writes that bypass the page cache, so the cache's growth counts too."""
        stat, what = self._stat(path)
        total = sum_of_stat(stat, (b"total_cache",), what)
        with suppress(VanishedError):  # a kernel without accounting of its own memory
            total += self._count(f"{self._memory}{path}/memory.kmem.usage_in_bytes")
        with suppress(VanishedError):
            direct = f"{self._blkio}{path}/blkio.throttle.io_service_bytes_recursive"
            total += parse_blkio(self._files.read(direct), direct)
        return CgroupWrites(total, sum_of_stat(stat, _WAITING, what))

    def limit(self, path: str) -> int | None:
        """Read `memory.limit_in_bytes`; close to 2^63 where there is no limit (`NO_LIMIT`)."""
        return self._count(f"{self._memory}{path}/memory.limit_in_bytes")

    def swap(self, path: str) -> int | None:  # noqa: ARG002
        """Return `None`: the files exist only with `swapaccount=1`."""
        return None

    def drops_page_cache(self, path: str) -> bool:  # noqa: ARG002
        """Return False: only cgroup v2 has `memory.reclaim`."""
        return False
