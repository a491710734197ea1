"""Memory and tasks of a cgroup, version 1: one tree per controller.

Usage is `memory.usage_in_bytes`, also of the root; inactive file cache is `total_inactive_file`, the descendants' included
(spec 3.2). Where a unified tree lies beside it, PSI comes from there.
"""

from pathlib import Path

from evictd.core.stats import PressureStall
from evictd.observe.kept_files import KeptFiles
from evictd.observe.kernel_text import parse_count, parse_pressure, parse_stat


class CgroupV1:
    """The trees of the memory and pids controllers below one folder."""

    def __init__(self, root: Path, files: KeptFiles, *, unified: Path | None = None) -> None:
        self._memory = str(root / "memory")
        self._pids = str(root / "pids")
        self._unified = None if unified is None else str(unified)
        self._files = files

    @property
    def version(self) -> str:
        """Which version, for people."""
        return "v1" if self._unified is None else "v1 (hybrid)"

    def usage(self, path: str) -> int:
        """Memory charged to the cgroup and below."""
        what = f"{self._memory}{path}/memory.usage_in_bytes"
        return parse_count(self._files.read(what), what)

    def working_set(self, path: str) -> tuple[int, int]:
        """Usage, and usage without inactive file cache, floored at zero."""
        usage = self.usage(path)
        what = f"{self._memory}{path}/memory.stat"
        inactive = parse_stat(self._files.read(what), b"total_inactive_file", what)
        return usage, max(usage - inactive, 0)

    def limit(self, path: str) -> int | None:
        """The limit; what version 1 shows for "none" is close to 2^63."""
        what = f"{self._memory}{path}/memory.limit_in_bytes"
        return parse_count(self._files.read(what), what)

    def pids_current(self, path: str) -> int:
        """Tasks in the cgroup and below."""
        what = f"{self._pids}{path}/pids.current"
        return parse_count(self._files.read(what), what)

    def pressure(self, path: str) -> dict[str, PressureStall]:
        """PSI of the cgroup of the same name in the unified tree; empty without one."""
        if self._unified is None:
            return {}
        what = f"{self._unified}{path}/memory.pressure"
        return parse_pressure(self._files.read(what), what)

    def exists(self, path: str) -> bool:
        """Whether the memory controller knows it."""
        return Path(f"{self._memory}{path}").is_dir()
