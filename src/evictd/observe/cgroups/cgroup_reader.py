"""Reads memory, tasks and PSI of cgroups of both versions.

Version 1 has one tree per controller. Usage is `memory.usage_in_bytes`, for the root too; inactive file cache is
`total_inactive_file`, which includes descendants. PSI exists only in a unified tree mounted beside them (hybrid).

Version 2 has one unified tree. Usage is `memory.current`. The root has no such file; its usage is `anon` plus `file` of
`memory.stat`, which leaves out kernel memory, as in the kubelet (docs/kubelet.md, Statistics).
"""

from abc import ABC, abstractmethod
from contextlib import suppress
from pathlib import Path
from typing import ClassVar, NamedTuple

from evictd.core.model.signal import StalledResource
from evictd.core.model.stats import PressureStall
from evictd.observe.cgroups.file_descriptor_cache import FileDescriptorCache, VanishedError, child_names
from evictd.observe.cgroups.kernel_text import (
    CgroupMemory,
    CgroupWrites,
    parse_blkio,
    parse_clean_file,
    parse_count,
    parse_io_stat,
    parse_limit,
    parse_pressure,
    parse_stat,
    sum_of_stat,
)


class CgroupUsage(NamedTuple):
    """The memory of a cgroup and its descendants, in bytes."""

    usage: int
    working_set: int
    """The usage without inactive file cache, at least zero."""


class KillCounters(NamedTuple):
    """The counters of `memory.events`."""

    kills: int
    """Processes that the kernel killed (`oom_kill`)."""
    limits: int
    """How often a limit was reached and nothing could be reclaimed (`oom`)."""


class CgroupReader(ABC):
    """Reads one hierarchy, with its trees `memory` and `pids`, and `psi` where there is one.

    Paths are absolute within it; every method but `exists` raises `NodeError` on a failed read.
    """

    _inactive: ClassVar[bytes]
    """The key of `memory.stat` for inactive file cache, descendants included."""
    _file_pages: ClassVar[tuple[bytes, bytes, bytes]]
    """The keys of `memory.stat` for active, dirty and waiting file pages."""

    def __init__(self, files: FileDescriptorCache, *, memory: Path, pids: Path, psi: Path | None) -> None:
        self._files = files
        self._memory = str(memory)
        self._pids = str(pids)
        self._psi = None if psi is None else str(psi)

    @property
    @abstractmethod
    def version(self) -> str:
        """`v1`, `v1 (hybrid)` or `v2`."""

    @abstractmethod
    def usage(self, path: str) -> int:
        """Return the memory charged to the cgroup and its descendants, in bytes; for the root as the kubelet computes it."""

    @abstractmethod
    def writes(self, path: str) -> CgroupWrites:
        """Return the disk writes of the cgroup and its descendants."""

    @abstractmethod
    def limit(self, path: str) -> int | None:
        """Return the memory limit in bytes; `None`, or a value above `NO_LIMIT`, means no limit."""

    @abstractmethod
    def swap(self, path: str) -> int | None:
        """Return the bytes of swap that the cgroup and its descendants use; `None` where the hierarchy does not say."""

    @abstractmethod
    def kills(self, path: str) -> KillCounters | None:
        """Return how often the kernel killed in the cgroup and its descendants; `None` where it does not say."""

    @abstractmethod
    def drops_page_cache(self, path: str) -> bool:
        """Whether the kernel can be asked to reclaim memory of the cgroup."""

    def memory_usage(self, path: str) -> CgroupUsage:
        """Return the usage, and the working set, which is a part of it."""
        return self._charged(path)[0]

    def memory(self, path: str) -> CgroupMemory:
        """Return the same, and the clean active file pages."""
        found, stat, what = self._charged(path)
        return CgroupMemory(found.usage, found.working_set, parse_clean_file(stat, self._file_pages, what))

    def pids_current(self, path: str) -> int:
        """Return the number of tasks (threads) in the cgroup and its descendants."""
        return self._count(f"{self._pids}{path}/pids.current")

    def pids_max(self, path: str) -> int | None:
        """Return the greatest number of tasks that the cgroup may have; `None` without a limit."""
        what = f"{self._pids}{path}/pids.max"
        return parse_limit(self._files.read(what), what)

    def pressure(self, path: str, resource: StalledResource = StalledResource.MEMORY) -> dict[str, PressureStall]:
        """Return the PSI of the cgroup by line name (`some`, `full`); empty where the hierarchy has none."""
        if self._psi is None:
            return {}
        what = f"{self._psi}{path}/{resource.value}.pressure"
        return parse_pressure(self._files.read(what), what)

    def children(self, path: str) -> tuple[str, ...]:
        """Return the names of the cgroups directly below; empty where there are none or they cannot be listed."""
        return child_names(f"{self._memory}{path}")

    def folder(self, path: str) -> Path:
        """Return the directory of the cgroup, with its `cgroup.procs`."""
        return Path(f"{self._memory}{path}")

    def exists(self, path: str) -> bool:
        """Whether the cgroup exists."""
        return self.folder(path).is_dir()

    def _charged(self, path: str) -> tuple[CgroupUsage, bytes, str]:
        """Return the usage, `memory.stat` and its path."""
        usage, (stat, what) = self.usage(path), self._stat(path)
        return CgroupUsage(usage, max(usage - parse_stat(stat, self._inactive, what), 0)), stat, what

    def _stat(self, path: str) -> tuple[bytes, str]:
        """Return `memory.stat` and its path."""
        what = f"{self._memory}{path}/memory.stat"
        return self._files.read(what), what

    def _count(self, what: str) -> int:
        return parse_count(self._files.read(what), what)


class CgroupV1(CgroupReader):
    """Reads the trees `memory`, `pids` and `blkio` below `root`, and PSI of `unified`."""

    _inactive = b"total_inactive_file"
    _file_pages = (b"total_active_file", b"total_dirty", b"total_writeback")

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
        return CgroupWrites(total, sum_of_stat(stat, self._file_pages[1:], what))

    def limit(self, path: str) -> int | None:
        """Read `memory.limit_in_bytes`; close to 2^63 where there is no limit (`NO_LIMIT`)."""
        return self._count(f"{self._memory}{path}/memory.limit_in_bytes")

    def swap(self, path: str) -> int | None:  # noqa: ARG002
        """Return `None`: the files exist only with `swapaccount=1`."""
        return None

    def kills(self, path: str) -> KillCounters | None:  # noqa: ARG002
        """Return `None`: kills at a limit and for want of memory of the node count as one."""
        return None

    def drops_page_cache(self, path: str) -> bool:  # noqa: ARG002
        """Return False: only cgroup v2 has `memory.reclaim`."""
        return False


class CgroupV2(CgroupReader):
    """Reads the unified tree at `root`."""

    version = "v2"
    _inactive = b"inactive_file"
    _file_pages = (b"active_file", b"file_dirty", b"file_writeback")

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
        return CgroupWrites(total, sum_of_stat(stat, self._file_pages[1:], what))

    def limit(self, path: str) -> int | None:
        """Read `memory.max`; `None` for `max`."""
        what = f"{self._memory}{path}/memory.max"
        return parse_limit(self._files.read(what), what)

    def swap(self, path: str) -> int | None:
        """Read `memory.swap.current`."""
        return self._count(f"{self._memory}{path}/memory.swap.current")

    def kills(self, path: str) -> KillCounters | None:
        """Read `memory.events`; `None` where there is no such cgroup."""
        what = f"{self._memory}{path}/memory.events"
        try:
            text = self._files.read(what)
        except VanishedError:
            return None
        return KillCounters(parse_stat(text, b"oom_kill", what), parse_stat(text, b"oom", what))

    def drops_page_cache(self, path: str) -> bool:
        """Whether there is `memory.reclaim` (Linux 5.19)."""
        return Path(f"{self._memory}{path}/memory.reclaim").exists()
