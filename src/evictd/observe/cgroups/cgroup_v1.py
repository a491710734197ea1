"""Reads memory, tasks and PSI of cgroups of version 1, which has one tree per controller.

Usage is `memory.usage_in_bytes`, for the root too; inactive file cache is `total_inactive_file`, which includes descendants
(docs/kubelet.md, Statistics). PSI exists only in a unified tree mounted beside them (hybrid).
"""

from contextlib import suppress
from pathlib import Path

from evictd.core.model.signal import StalledResource
from evictd.core.model.stats import PressureStall
from evictd.observe.cgroups.file_descriptor_cache import FileDescriptorCache, VanishedError, child_names
from evictd.observe.cgroups.kernel_text import (
    CgroupMemory,
    CgroupWrites,
    parse_blkio,
    parse_clean_file,
    parse_count,
    parse_limit,
    parse_pressure,
    parse_stat,
    sum_of_stat,
)

_FILE_PAGES = (b"total_active_file", b"total_dirty", b"total_writeback")
_WAITING = (b"total_dirty", b"total_writeback")


class CgroupV1:
    """Implements `CgroupReader` on the trees `memory`, `pids` and `blkio` below `root`, and PSI on `unified`."""

    def __init__(self, root: Path, files: FileDescriptorCache, *, unified: Path | None = None) -> None:
        self._memory = str(root / "memory")
        self._pids = str(root / "pids")
        self._blkio = str(root / "blkio")
        self._unified = None if unified is None else str(unified)
        self._files = files

    @property
    def version(self) -> str:
        """`v1`, or `v1 (hybrid)` with a unified tree."""
        return "v1" if self._unified is None else "v1 (hybrid)"

    def usage(self, path: str) -> int:
        """Read `memory.usage_in_bytes`."""
        what = f"{self._memory}{path}/memory.usage_in_bytes"
        return parse_count(self._files.read(what), what)

    def working_set(self, path: str) -> tuple[int, int]:
        """Return usage, and usage minus `total_inactive_file`, at least zero; in bytes."""
        usage = self.usage(path)
        what = f"{self._memory}{path}/memory.stat"
        inactive = parse_stat(self._files.read(what), b"total_inactive_file", what)
        return usage, max(usage - inactive, 0)

    def memory(self, path: str) -> CgroupMemory:
        """Return the same, and the clean active file pages."""
        usage = self.usage(path)
        what = f"{self._memory}{path}/memory.stat"
        stat = self._files.read(what)
        working_set = max(usage - parse_stat(stat, b"total_inactive_file", what), 0)
        return CgroupMemory(usage, working_set, parse_clean_file(stat, _FILE_PAGES, what))

    def writes(self, path: str) -> CgroupWrites:
        """Return the cgroup's writes. `blkio` counts only writes that bypass the page cache, so the cache's growth counts too."""
        what = f"{self._memory}{path}/memory.stat"
        stat = self._files.read(what)
        total = sum_of_stat(stat, (b"total_cache",), what)
        with suppress(VanishedError):  # a kernel without accounting of its own memory
            kernels = f"{self._memory}{path}/memory.kmem.usage_in_bytes"
            total += parse_count(self._files.read(kernels), kernels)
        with suppress(VanishedError):
            direct = f"{self._blkio}{path}/blkio.throttle.io_service_bytes_recursive"
            total += parse_blkio(self._files.read(direct), direct)
        return CgroupWrites(total, sum_of_stat(stat, _WAITING, what))

    def limit(self, path: str) -> int | None:
        """Read `memory.limit_in_bytes`; close to 2^63 where there is no limit (`NO_LIMIT`)."""
        what = f"{self._memory}{path}/memory.limit_in_bytes"
        return parse_count(self._files.read(what), what)

    def swap(self, path: str) -> int | None:  # noqa: ARG002
        """Return `None`: the files exist only with `swapaccount=1`."""
        return None

    def pids_current(self, path: str) -> int:
        """Read `pids.current`."""
        what = f"{self._pids}{path}/pids.current"
        return parse_count(self._files.read(what), what)

    def pids_max(self, path: str) -> int | None:
        """Read `pids.max`."""
        what = f"{self._pids}{path}/pids.max"
        return parse_limit(self._files.read(what), what)

    def pressure(self, path: str, resource: StalledResource = StalledResource.MEMORY) -> dict[str, PressureStall]:
        """Read `memory.pressure` or `io.pressure` of the cgroup of the same path in the unified tree; empty without one."""
        if self._unified is None:
            return {}
        what = f"{self._unified}{path}/{resource.value}.pressure"
        return parse_pressure(self._files.read(what), what)

    def children(self, path: str) -> tuple[str, ...]:
        """Return the names of the cgroups directly below; empty where there are none or they cannot be listed."""
        return child_names(f"{self._memory}{path}")

    def folder(self, path: str) -> Path:
        """Return the cgroup's directory in the tree of the memory controller."""
        return Path(f"{self._memory}{path}")

    def exists(self, path: str) -> bool:
        """Whether the cgroup exists in the tree of the memory controller."""
        return Path(f"{self._memory}{path}").is_dir()

    def drops_page_cache(self, path: str) -> bool:  # noqa: ARG002
        """Return False: only cgroup v2 has `memory.reclaim`."""
        return False
