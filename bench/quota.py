"""Makes a cgroup with a quota of processor time: `cpu: 100m` of a container."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from evictd_testnode.cgroups import group, is_unified

_PERIOD_US, _QUOTA_US = 100_000, 10_000


@contextmanager
def tenth_of_a_processor() -> Iterator[Path]:
    """Create a cgroup whose processes have 10 ms of processor time in each 100 ms; gives its directory."""
    folder = group("cpu", f"evictd-bench-{os.getpid()}")
    folder.mkdir()
    try:
        if is_unified():
            (folder / "cpu.max").write_text(f"{_QUOTA_US} {_PERIOD_US}")
        else:
            (folder / "cpu.cfs_period_us").write_text(str(_PERIOD_US))
            (folder / "cpu.cfs_quota_us").write_text(str(_QUOTA_US))
        yield folder
    finally:
        folder.rmdir()


def begin_in(folder: Path, *argv: str) -> list[str]:
    """Return the command that runs `argv` in a cgroup from its first instruction on."""
    return ["sh", "-c", 'echo $$ > "$0"; exec "$@"', str(folder / "cgroup.procs"), *argv]
