"""Finds the processes that the kernel killed for want of memory of the node, by pod.

/proc/vmstat counts all kills for want of memory (`oom_kill`), those at a cgroup's own limit included. It is read after each
cycle, and the cgroups only where it rose: `memory.events` counts the kills in a cgroup and its descendants (`oom_kill`), and how
often a limit in there was reached (`oom`; kernel Documentation/admin-guide/cgroup-v2.rst). A cgroup in which a limit was reached
since the last reading is left out: its kills say nothing of the node, and a pod can have one each second.

Cgroup v1 does not tell the two apart: nothing is found there. A kill is also not found where the pod's cgroup is gone by then.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from evictd.core.frozen import frozen
from evictd.core.model.pod import Pod
from evictd.errors import NodeError
from evictd.observe.cgroups.cgroup import PodsCgroup, pod_cgroups, pod_uids
from evictd.observe.cgroups.cgroup_reader import CgroupReader, KillCounters
from evictd.observe.cgroups.file_descriptor_cache import FileDescriptorCache
from evictd.observe.cgroups.kernel_text import parse_stat


@frozen
class KernelKill:
    """Processes of one pod, or of a cgroup outside pods, that the kernel killed since the last reading."""

    where: str
    """`namespace/name` of the pod, or the name of the cgroup directly below the root."""
    uid: str = ""
    """Of the pod; empty for a cgroup outside pods."""
    count: int


_NONE = KillCounters(0, 0)


class KernelKills:
    """Reads the counters and remembers them. Used by one thread."""

    def __init__(self, proc: Path, cgroups: CgroupReader, files: FileDescriptorCache, kubepods: PodsCgroup) -> None:
        self._vmstat = str(proc / "vmstat")
        self._cgroups = cgroups
        self._files = files
        self._kubepods = kubepods
        self._total: int | None = None
        self._known: Mapping[str, KillCounters] | None = None
        """The counters by cgroup; `None` before the first reading, whose kills were before evictd."""

    def fresh(self, pods: Iterable[Pod]) -> tuple[KernelKill, ...]:
        """Return what was killed since the last call; empty the first time, and where the kernel does not say."""
        try:
            total = parse_stat(self._files.read(self._vmstat), b"oom_kill", self._vmstat)
        except NodeError:  # a kernel before 4.13, or a file that cannot be read
            return ()
        kubepods = self._kubepods.path
        if total == self._total or kubepods is None:
            return ()
        self._total = total
        before, now, found = self._known, dict[str, KillCounters](), list[KernelKill]()
        names = {pod.uid: pod.full_name for pod in pods}
        for path, place in self._places(kubepods, names):
            last = (before or {}).get(path, _NONE)
            if (counters := self._counters(path, last)) is None:
                continue
            now[path] = counters
            if place.where and before is not None and counters.kills > last.kills and counters.limits <= last.limits:
                found.append(replace(place, count=counters.kills - last.kills))
        self._known = now
        return tuple(found)

    def _counters(self, path: str, last: KillCounters) -> KillCounters | None:
        """Return the counters of a cgroup; the last ones where they cannot be read, `None` where there is no cgroup."""
        try:
            return self._cgroups.kills(path)
        except NodeError:
            return last

    def _places(self, kubepods: str, names: Mapping[str, str]) -> Iterator[tuple[str, KernelKill]]:
        """Yield the cgroups of the pods and those beside them below the root, each with a kill of no process.

        A pod that is not listed has no name: its counters are remembered, so that older kills are not reported later.
        """
        for uid in pod_uids(self._cgroups, kubepods):
            for path in pod_cgroups(kubepods, uid):
                yield path, KernelKill(where=names.get(uid, ""), uid=uid, count=0)
        above = kubepods.strip("/").partition("/")[0]
        for name in self._cgroups.children("/"):
            if name != above:
                yield f"/{name}", KernelKill(where=name, count=0)
