"""Reads the files that the cgroups of both versions have in common; `cgroup_v1` and `cgroup_v2` read the others."""

from abc import ABC, abstractmethod
from pathlib import Path
from typing import ClassVar

from evictd.core.model.signal import StalledResource
from evictd.core.model.stats import PressureStall
from evictd.observe.cgroups.file_descriptor_cache import FileDescriptorCache, child_names
from evictd.observe.cgroups.kernel_text import (
    CgroupMemory,
    CgroupWrites,
    parse_clean_file,
    parse_count,
    parse_limit,
    parse_pressure,
    parse_stat,
)


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
    def drops_page_cache(self, path: str) -> bool:
        """Whether the kernel can be asked to reclaim memory of the cgroup."""

    def working_set(self, path: str) -> tuple[int, int]:
        """Return usage, and usage minus inactive file cache (the working set), at least zero; in bytes."""
        return self._charged(path)[:2]

    def memory(self, path: str) -> CgroupMemory:
        """Return the same, and the clean active file pages."""
        usage, working_set, stat, what = self._charged(path)
        return CgroupMemory(usage, working_set, parse_clean_file(stat, self._file_pages, what))

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

    def _charged(self, path: str) -> tuple[int, int, bytes, str]:
        """Return usage, working set, `memory.stat` and its path."""
        usage, (stat, what) = self.usage(path), self._stat(path)
        return usage, max(usage - parse_stat(stat, self._inactive, what), 0), stat, what

    def _stat(self, path: str) -> tuple[bytes, str]:
        """Return `memory.stat` and its path."""
        what = f"{self._memory}{path}/memory.stat"
        return self._files.read(what), what

    def _count(self, what: str) -> int:
        return parse_count(self._files.read(what), what)
