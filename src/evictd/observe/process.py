"""How many tasks are there, and how many may there be?

The kubelet's numbers (spec 3.5): the smaller of pid_max and threads-max, and the kernel's count of scheduling entities, threads
included, in /proc/loadavg.
"""

from evictd.core.stats import RlimitStats
from evictd.errors import NodeError
from evictd.observe.findings import Problems
from evictd.observe.kept_files import KeptFiles
from evictd.observe.kernel_text import parse_count
from evictd.observe.roots import Roots

_LOADAVG_FIELDS = 5


def rlimit(roots: Roots, files: KeptFiles, now: int, problems: Problems) -> RlimitStats:
    """Read both numbers; one that cannot be had is `None`."""
    return RlimitStats(time=now, max_pid=_max_pid(roots, files, problems), current=_current(roots, files, problems))


def _max_pid(roots: Roots, files: KeptFiles, problems: Problems) -> int | None:
    found = []
    for name in ("pid_max", "threads-max"):
        path = f"{roots.proc}/sys/kernel/{name}"
        try:
            found.append(parse_count(files.read(path), path))
        except NodeError as error:
            problems.add(f"pids: {name}", error)
    return min(found, default=None)


def _current(roots: Roots, files: KeptFiles, problems: Problems) -> int | None:
    path = f"{roots.proc}/loadavg"
    try:
        fields = files.read(path).split()
    except NodeError as error:
        problems.add("pids: loadavg", error)
        return None
    total = fields[3].partition(b"/")[2] if len(fields) >= _LOADAVG_FIELDS else b""
    if not total.isdigit():
        problems.add("pids: loadavg", f"{path}: not understood")
        return None
    return int(total)
