"""What does the node say now?

Puts one `Observation` together: every source is read once and carries its own time stamp; a source that fails is absent and
named among the problems. Nothing here waits longer than a bound, and nothing is decided (kubelet `summaryProvider.Get`).
"""

from collections.abc import Callable, Collection, Iterable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

from evictd.core.config import Policy
from evictd.core.observation import Filesystems, Observation, Outcomes
from evictd.core.pod import Pod
from evictd.core.signal import Filesystem
from evictd.core.stats import NodeStats
from evictd.observe.cgroup import CgroupReader, find_hierarchy, find_pods_cgroup, is_safe_path
from evictd.observe.disk_usage_cache import DiskUsageCache
from evictd.observe.filesystem import FilesystemReader
from evictd.observe.findings import Problems
from evictd.observe.kept_files import KeptFiles
from evictd.observe.layout import LayoutReader
from evictd.observe.memory import MemoryFormula, NodeMemory
from evictd.observe.mounts import MountTable
from evictd.observe.pod_disk import PodDisk, disk_request
from evictd.observe.pod_usage import PodUsageReader, UsageSources
from evictd.observe.process import rlimit
from evictd.observe.roots import Roots

if TYPE_CHECKING:  # the values' package brings the whole gRPC library along
    from evictd.observe.runtime_view import RuntimeView

_ANY = frozenset(Filesystem)


@dataclass(frozen=True, slots=True, kw_only=True)
class ObserveOptions:
    """What the configuration says about reading the node."""

    node_name: str = ""
    policy: Policy = Policy.STANDARD
    formula: MemoryFormula = MemoryFormula.WORKING_SET
    cgroup_root: str = "/"
    """`cgroupRoot`: the cgroup of all pods is looked for below it, under the name that either driver gives it."""
    pods_cgroup: str | None = None
    """The cgroup of all pods, where it is neither."""
    node_cgroup: str = "/"
    """Another than the root makes a cgroup with a memory limit stand for a node."""


class NodeObserver:
    """Reads one node again and again. For one thread; holds descriptors and threads until `close`."""

    def __init__(
        self,
        roots: Roots,
        options: ObserveOptions,
        *,
        clock: Callable[[], int],
        disk_usage: DiskUsageCache | None = None,
        filesystems: FilesystemReader | None = None,
        files: KeptFiles | None = None,
    ) -> None:
        """Find the cgroup hierarchy; raises `NodeError` where there is none, or no mount table."""
        self._roots = roots
        self._options = options
        self._clock = clock
        self._disk_usage = disk_usage
        self._files = files or KeptFiles()
        self._filesystems = filesystems or FilesystemReader()
        self._mounts = MountTable(roots.proc)
        self.cgroups: CgroupReader = find_hierarchy(roots.cgroup, self._files)
        self._memory = NodeMemory(roots, self.cgroups, self._files, formula=options.formula)
        self._layout = LayoutReader(roots.kubelet_dir, self._mounts, self._filesystems, policy=options.policy)
        self._pods = PodUsageReader(self.cgroups, policy=options.policy)
        self._pods_cgroup: str | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def observe(
        self,
        pods: Collection[Pod] = (),
        runtime: "RuntimeView | None" = None,
        *,
        has_runtime: bool | None = None,
        near: Collection[Filesystem] = _ANY,
        outcomes: Outcomes = Outcomes(),  # noqa: B008 - a frozen value
    ) -> Observation:
        """Take one reading.

        `pods` are the active ones. `runtime` is `None` where it did not answer or there is none; `has_runtime` tells which,
        and is taken from it by default. `near` names the filesystems that are not calm: only for nodefs are pods walked that
        have no limit of their own.
        """
        problems = Problems()
        if runtime is not None:
            problems.extend(runtime.problems)
        with self._quiet():
            node, filesystems = self._node(runtime, problems, has_runtime=runtime is not None or bool(has_runtime))
            disks = self._disks(pods, near, problems)
            sources = UsageSources(
                now=self._clock(), problems=problems, runtime=runtime, pods_cgroup=self._pods_cgroup, disks=disks
            )
            usage = self._pods.read(pods, sources)
            self._files.turn()
        return Observation(
            node=node,
            pods=tuple(pods),
            pod_stats=usage,
            filesystems=filesystems,
            outcomes=outcomes,
            problems=problems.found(),
        )

    def close(self) -> None:
        """Give back descriptors and threads; the disk-usage cache is its owner's."""
        self._files.close()
        self._filesystems.close()
        self._mounts.close()

    def _quiet(self) -> AbstractContextManager[None]:
        return nullcontext() if self._disk_usage is None else self._disk_usage.pace

    def _node(
        self, runtime: "RuntimeView | None", problems: Problems, *, has_runtime: bool
    ) -> tuple[NodeStats, Filesystems]:
        reading = self._memory.node(self._options.node_cgroup, problems)
        memory = self._memory.stats(reading, self._clock(), problems)
        pods_cgroup = self._find_pods_cgroup(problems)
        pods_memory = None if pods_cgroup is None else self._memory.pods(pods_cgroup, self._clock(), problems)
        info = None if runtime is None else runtime.image_fs
        filesystems = self._layout.read(info, self._clock(), problems, has_runtime=has_runtime)
        node = NodeStats(
            name=self._options.node_name,
            memory=memory,
            pods_memory=pods_memory,
            fs=filesystems.node,
            image_fs=filesystems.image,
            container_fs=filesystems.container,
            rlimit=rlimit(self._roots, self._files, self._clock(), problems),
            gauges=self._memory.gauges(reading, pods_cgroup, problems),
        )
        return node, filesystems.layout

    def _find_pods_cgroup(self, problems: Problems) -> str | None:
        """Look for the cgroup of all pods again as long as there is none, and after it went away."""
        explicit = self._options.pods_cgroup
        if explicit is not None and not is_safe_path(explicit):
            problems.add("pods cgroup", f"unsafe path: {explicit!r}")
            return None
        if self._pods_cgroup is None or not self.cgroups.exists(self._pods_cgroup):
            found = find_pods_cgroup(self.cgroups, self._options.cgroup_root) if explicit is None else explicit
            self._pods_cgroup = found if found is not None and self.cgroups.exists(found) else None
        if self._pods_cgroup is None:
            problems.add("pods cgroup", f"there is no {explicit or 'kubepods or kubepods.slice'}")
        return self._pods_cgroup

    def _disks(self, pods: Iterable[Pod], near: Collection[Filesystem], problems: Problems) -> dict[str, PodDisk]:
        cache = self._disk_usage
        if cache is None:
            return {}
        everyone = Filesystem.NODEFS in near
        cache.want(
            (disk_request(pod) for pod in pods if everyone or pod.accounts.local_limits),
            active=(pod.uid for pod in pods),
        )
        problems.extend(cache.problems(self._clock()))
        found = {pod.uid: disk for pod in pods if (disk := cache.find(pod.uid)) is not None}
        for disk in found.values():
            problems.extend(disk.problems)
        return found
