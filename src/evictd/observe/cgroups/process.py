"""Reads the number of tasks on the node and its maximum, for `pid.available`.

As the kubelet's `stats/pidlimit`: the maximum is the smaller of `pid_max` and `threads-max`; the current number is
the kernel's count of scheduling entities, threads included, in the fourth field of /proc/loadavg. Policy Standard also looks at
the limit of all pods (`pids.max`, which the kubelet sets with `enforceNodeAllocatable` and a reservation of PIDs), because a fork
bomb reaches that one first: PIDs that no pod can have count as taken.
"""

from collections.abc import Callable

from evictd.core.model.stats import RlimitStats
from evictd.errors import NodeError
from evictd.observe.cgroups.cgroup_reader import CgroupReader
from evictd.observe.cgroups.file_descriptor_cache import FileDescriptorCache
from evictd.observe.cgroups.kernel_text import parse_count, parse_tasks
from evictd.observe.reading.problems import Problems
from evictd.observe.reading.roots import Roots


def rlimit(
    roots: Roots, files: FileDescriptorCache, now: int, problems: Problems, *, left_for_pods: int | None = None
) -> RlimitStats:
    """Read both numbers; one that cannot be read is `None` and a problem. `left_for_pods` is what `pids_left` gives."""
    maxima = [
        _read(files, f"{roots.proc}/sys/kernel/{name}", parse_count, problems) for name in ("pid_max", "threads-max")
    ]
    maximum = min((each for each in maxima if each is not None), default=None)
    current = _read(files, f"{roots.proc}/loadavg", parse_tasks, problems)
    if maximum is not None and current is not None and left_for_pods is not None:
        current = max(current, maximum - left_for_pods)
    return RlimitStats(time=now, max_pid=maximum, current=current)


def pids_left(cgroups: CgroupReader, pods: str | None) -> int | None:
    """Return how many PIDs the limit of all pods leaves; `None` without a limit, and where it cannot be read."""
    try:
        limit = None if pods is None else cgroups.pids_max(pods)
        return None if limit is None or pods is None else limit - cgroups.pids_current(pods)
    except NodeError:
        return None  # the node's own numbers still hold


def _read(files: FileDescriptorCache, path: str, parse: Callable[[bytes, str], int], problems: Problems) -> int | None:
    try:
        return parse(files.read(path), path)
    except NodeError as error:
        problems.add(f"pids: {path.rpartition('/')[2]}", error)
        return None
