"""Memory and tasks of a cgroup, version 2: the unified tree.

Usage is `memory.current`; the root has none, and then counts as anon plus file (spec 3.2), which leaves out the kernel's own
memory, as the kubelet does.
"""

from pathlib import Path

from evictd.core.stats import PressureStall
from evictd.observe.kept_files import KeptFiles, VanishedError
from evictd.observe.kernel_text import parse_count, parse_limit, parse_pressure, parse_stat


class CgroupV2:
    """The unified tree."""

    version = "v2"

    def __init__(self, root: Path, files: KeptFiles) -> None:
        self._root = str(root)
        self._files = files

    def usage(self, path: str) -> int:
        """Memory charged to the cgroup and below."""
        what = f"{self._root}{path}/memory.current"
        try:
            return parse_count(self._files.read(what), what)
        except VanishedError:
            if path.strip("/"):
                raise
        stat = self._stat(path)
        return parse_stat(stat, b"anon", what) + parse_stat(stat, b"file", what)

    def working_set(self, path: str) -> tuple[int, int]:
        """Usage, and usage without inactive file cache, floored at zero."""
        usage = self.usage(path)
        inactive = parse_stat(self._stat(path), b"inactive_file", f"{self._root}{path}/memory.stat")
        return usage, max(usage - inactive, 0)

    def limit(self, path: str) -> int | None:
        """The limit; `None` for `max`."""
        what = f"{self._root}{path}/memory.max"
        return parse_limit(self._files.read(what), what)

    def pids_current(self, path: str) -> int:
        """Tasks in the cgroup and below."""
        what = f"{self._root}{path}/pids.current"
        return parse_count(self._files.read(what), what)

    def pressure(self, path: str) -> dict[str, PressureStall]:
        """PSI of the cgroup."""
        what = f"{self._root}{path}/memory.pressure"
        return parse_pressure(self._files.read(what), what)

    def exists(self, path: str) -> bool:
        """Whether there is such a cgroup."""
        return Path(self._root + path).is_dir()

    def _stat(self, path: str) -> bytes:
        return self._files.read(f"{self._root}{path}/memory.stat")
