"""Reads memory, tasks and PSI of cgroups of version 2, the unified tree.

Usage is `memory.current`. The root has no such file; its usage is `anon` plus `file` of `memory.stat`, which leaves out kernel
memory, as in the kubelet (docs/kubelet.md, Statistics).
"""

from contextlib import suppress
from pathlib import Path

from evictd.core.model.signal import StalledResource
from evictd.core.model.stats import PressureStall
from evictd.observe.cgroups.file_descriptor_cache import FileDescriptorCache, VanishedError, child_names
from evictd.observe.cgroups.kernel_text import (
    CgroupMemory,
    CgroupWrites,
    parse_clean_file,
    parse_count,
    parse_io_stat,
    parse_limit,
    parse_pressure,
    parse_stat,
    sum_of_stat,
)

_FILE_PAGES = (b"active_file", b"file_dirty", b"file_writeback")
_WAITING = (b"file_dirty", b"file_writeback")


class CgroupV2:
    """Implements `CgroupReader` on the unified tree at `root`."""

    version = "v2"

    def __init__(self, root: Path, files: FileDescriptorCache) -> None:
        self._root = str(root)
        self._files = files

    def usage(self, path: str) -> int:
        """Read `memory.current`; for the root, `anon` plus `file`."""
        what = f"{self._root}{path}/memory.current"
        try:
            return parse_count(self._files.read(what), what)
        except VanishedError:
            if path.strip("/"):
                raise
        stat = self._stat(path)
        return parse_stat(stat, b"anon", what) + parse_stat(stat, b"file", what)

    def working_set(self, path: str) -> tuple[int, int]:
        """Return usage, and usage minus `inactive_file`, at least zero; in bytes."""
        usage = self.usage(path)
        inactive = parse_stat(self._stat(path), b"inactive_file", f"{self._root}{path}/memory.stat")
        return usage, max(usage - inactive, 0)

    def memory(self, path: str) -> CgroupMemory:
        """Return the same, and the clean active file pages."""
        usage, what = self.usage(path), f"{self._root}{path}/memory.stat"
        stat = self._stat(path)
        working_set = max(usage - parse_stat(stat, b"inactive_file", what), 0)
        return CgroupMemory(usage, working_set, parse_clean_file(stat, _FILE_PAGES, what))

    def writes(self, path: str) -> CgroupWrites:
        """Return the cgroup's writes; new inodes show as the kernel's memory (`slab_reclaimable`)."""
        stat, what = self._stat(path), f"{self._root}{path}/memory.stat"
        total = sum_of_stat(stat, (b"slab_reclaimable",), what)
        with suppress(VanishedError):  # without the io controller
            written = f"{self._root}{path}/io.stat"
            total += parse_io_stat(self._files.read(written), written)
        return CgroupWrites(total, sum_of_stat(stat, _WAITING, what))

    def limit(self, path: str) -> int | None:
        """Read `memory.max`; `None` for `max`."""
        what = f"{self._root}{path}/memory.max"
        return parse_limit(self._files.read(what), what)

    def swap(self, path: str) -> int | None:
        """Read `memory.swap.current`."""
        what = f"{self._root}{path}/memory.swap.current"
        return parse_count(self._files.read(what), what)

    def pids_current(self, path: str) -> int:
        """Read `pids.current`."""
        what = f"{self._root}{path}/pids.current"
        return parse_count(self._files.read(what), what)

    def pids_max(self, path: str) -> int | None:
        """Read `pids.max`."""
        what = f"{self._root}{path}/pids.max"
        return parse_limit(self._files.read(what), what)

    def pressure(self, path: str, resource: StalledResource = StalledResource.MEMORY) -> dict[str, PressureStall]:
        """Read `memory.pressure` or `io.pressure`."""
        what = f"{self._root}{path}/{resource.value}.pressure"
        return parse_pressure(self._files.read(what), what)

    def children(self, path: str) -> tuple[str, ...]:
        """Return the names of the cgroups directly below; empty where there are none or they cannot be listed."""
        return child_names(f"{self._root}{path}")

    def folder(self, path: str) -> Path:
        """Return the cgroup's directory."""
        return Path(self._root + path)

    def exists(self, path: str) -> bool:
        """Whether the cgroup exists."""
        return Path(self._root + path).is_dir()

    def drops_page_cache(self, path: str) -> bool:
        """Whether there is `memory.reclaim` (Linux 5.19)."""
        return Path(f"{self._root}{path}/memory.reclaim").exists()

    def _stat(self, path: str) -> bytes:
        return self._files.read(f"{self._root}{path}/memory.stat")
