"""Reads the node's statistics and assembles the core's `Observation` (kubelet `summaryProvider.Get`).

Every source is read once and carries its own time stamp; a source that fails is absent and named among the problems. Each read
has a time limit, and nothing is decided here.
"""

from collections.abc import Callable, Collection, Iterable, Mapping
from contextlib import nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Self

from evictd.config.settings import Settings
from evictd.core.model.config import MemoryFormula, Policy, memory_formula
from evictd.core.model.observation import Filesystems, Observation, Outcomes, Problem, signal_observations
from evictd.core.model.pod import Pod
from evictd.core.model.signal import DISK_SIGNALS, STALLS, Filesystem, Signal, StalledResource
from evictd.core.model.stats import FsStats, IOStats, MemoryStats, NodeStats, RlimitStats
from evictd.errors import NodeError
from evictd.observe.cgroups.cgroup import (
    CgroupReader,
    PlacedPods,
    container_cgroups,
    find_hierarchy,
    find_pods_cgroup,
    is_safe_path,
    place_of,
    pod_cgroups,
    pod_uids,
)
from evictd.observe.cgroups.file_descriptor_cache import FileDescriptorCache
from evictd.observe.cgroups.memory import NodeMemoryReader, left_out
from evictd.observe.cgroups.process import pids_left, rlimit
from evictd.observe.disk_usage.cache import DiskUsageCache
from evictd.observe.disk_usage.layer_folder import layer_requests
from evictd.observe.disk_usage.pod_disk import PodDisk, disk_request
from evictd.observe.disk_usage.walk_age import WalkAge
from evictd.observe.filesystems.filesystem import FilesystemReader
from evictd.observe.filesystems.layout import FilesystemReadings, LayoutReader
from evictd.observe.filesystems.mounts import MountTable
from evictd.observe.pods.allocated_pods import AllocatedPods
from evictd.observe.pods.pod_usage import PodUsageReader, UsageSources
from evictd.observe.pods.volume_folders import VolumeFolders
from evictd.observe.reading.absent import absent_signals
from evictd.observe.reading.problems import Problems
from evictd.observe.reading.roots import Roots
from evictd.observe.runtime.runtime_view import RuntimeView
from evictd.observe.threshold_watch.recent_fill import RecentFill

_ANY = frozenset(Filesystem)


@dataclass(frozen=True, slots=True, kw_only=True)
class ObserveOptions:
    """The configuration of reading a node."""

    node_name: str = ""
    policy: Policy = Policy.STANDARD
    formula: MemoryFormula = MemoryFormula.WORKING_SET
    cgroup_root: str = "/"
    """`cgroupRoot`: the cgroup of all pods is searched below it, under the names of both cgroup drivers."""
    pods_cgroup: str | None = None
    """The cgroup of all pods, if it has neither name."""


def observe_options(settings: Settings, node_name: str) -> ObserveOptions:
    """Return what the settings say of reading a node."""
    return ObserveOptions(
        node_name=node_name,
        policy=settings.eviction.policy,
        formula=memory_formula(settings.eviction),
        cgroup_root=settings.kubelet.parent_cgroup,
    )


class NodeStatsReader:
    """Reads one node. Not thread-safe; holds descriptors and threads until `close`."""

    def __init__(
        self,
        roots: Roots,
        options: ObserveOptions,
        *,
        clock: Callable[[], int],
        disk_usage: DiskUsageCache | None = None,
        filesystems: FilesystemReader | None = None,
        stop_time: Callable[[], int | None] = lambda: None,
        collect_time: Callable[[], int | None] = lambda: None,
    ) -> None:
        """Find the cgroup hierarchy; raises `NodeError` if there is none, or no mount table.

        `stop_time` and `collect_time` return the values of these fields of `NodeStats`.
        """
        self._roots = roots
        self._options = options
        self._clock = clock
        self._disk_usage = disk_usage
        self._files = FileDescriptorCache()
        self._filesystems = filesystems or FilesystemReader()
        self._mounts = MountTable(roots.proc)
        self.cgroups: CgroupReader = find_hierarchy(roots.cgroup, self._files)
        self._memory = NodeMemoryReader(roots, self.cgroups, self._files, formula=options.formula)
        self._layout = LayoutReader(roots.kubelet_dir, self._mounts, self._filesystems, policy=options.policy)
        self._pods = PodUsageReader(self.cgroups, policy=options.policy)
        self._volumes = VolumeFolders(roots.kubelet_dir)
        self._allocated = AllocatedPods(roots.kubelet_dir)
        self._pods_cgroup: str | None = None
        self._placed: PlacedPods | None = None
        """Where the runtime's sandboxes say that the pods are."""
        self._elsewhere: PlacedPods | None = None
        """The same, while the pods are not where `cgroupRoot` says."""
        self._last_disks: tuple[FilesystemReadings, tuple[Problem, ...]] | None = None
        self.recent_fill = RecentFill(stop_time, collect_time)
        """The readings of memory, PIDs and disks, of the cycles and of the threshold watch."""

    @property
    def node_name(self) -> str:
        """The node's name."""
        return self._options.node_name

    @property
    def disk_paths(self) -> Mapping[Filesystem, Path]:
        """A path on each filesystem that was read last."""
        return self._layout.paths

    @property
    def memory_formula(self) -> MemoryFormula:
        """The formula of `memory.available` that the last reading was made by."""
        return self._memory.formula_here

    @property
    def memory_capacity(self) -> int | None:
        """The machine's memory (MemTotal) in bytes; `None` where it cannot be read."""
        return self._memory.total()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def observe(
        self,
        pods: Collection[Pod] = (),
        runtime: RuntimeView | None = None,
        *,
        has_runtime: bool | None = None,
        near: Collection[Filesystem] = _ANY,
        walk_age: WalkAge = WalkAge(),  # noqa: B008 - a frozen value
        outcomes: Outcomes = Outcomes(),  # noqa: B008 - a frozen value
        stalls: Collection[Signal] = (),
        disks_anew: bool = True,
        formula: MemoryFormula | None = None,
    ) -> Observation:
        """Take one reading.

        `pods` are the active pods; unknown volumes and requests are looked for in the kubelet's directory. `runtime` is `None` if
        it did not answer or there is none; `has_runtime` tells which, by default whether `runtime` is given. `near` names the
        filesystems that are near a threshold: only then are pods measured that have no limit of their own, and again when their
        numbers are older than `walk_age`. `stalls` are the stall signals that have a threshold; the pods' own stalls are read
        while one of them is not zero. Without `disks_anew` the filesystems are those that were read last, with their times.
        `formula` is that of `memory.available` from now on.
        """
        if self._memory.use(formula):
            self.recent_fill.forget(Signal.MEMORY_AVAILABLE)  # the step from one formula to the other is no fill
        problems = Problems()
        if runtime is not None:
            problems.extend(runtime.problems)
            self._placed = next(filter(None, map(place_of, runtime.pod_cgroups.values())), self._placed)
        pods = self._allocated.complete(self._volumes.complete(pods, problems), problems)
        with nullcontext() if self._disk_usage is None else self._disk_usage.paused():
            if self._last_disks is None or disks_anew:
                has_runtime = runtime is not None or bool(has_runtime)
                self._last_disks = self._read_disks(runtime, has_runtime=has_runtime)
            node, filesystems, absent = self._node(*self._last_disks, problems)
            node = self._with_stalls(node, stalls, problems)
            disks = self._disks(pods, near, walk_age, runtime, problems)
            sources = UsageSources(
                now=self._clock(),
                problems=problems,
                runtime=runtime,
                pods_cgroup=self._pods_cgroup,
                disks=disks,
                stalled=_stalled(node, stalls),
                swap=node.swap is not None,
                most_memory=self._memory.most,
            )
            usage = self._pods.read(pods, sources)
            node = self._with_fresh_rates(node)
            self._files.end_cycle()
        return Observation(
            node=node,
            pods=pods,
            pod_stats=usage,
            filesystems=filesystems,
            outcomes=outcomes,
            problems=problems.found(),
            absent=absent,
        )

    def measure_since(self, since: int) -> None:
        """Begin to measure the disk usage of the pods that were measured before this time."""
        if self._disk_usage is not None:
            self._disk_usage.renew_since(since)

    def pod_uids(self) -> tuple[str, ...]:
        """List the uids of the pods that have a cgroup."""
        pods = self._find_pods_cgroup(Problems())
        return () if pods is None else pod_uids(self.cgroups, pods)

    def any_containers(self, uids: Iterable[str]) -> bool:
        """Whether one of these pods has a cgroup with another one in it; that of a pod that has ended may stay behind, empty."""
        pods = self._find_pods_cgroup(Problems())
        paths = () if pods is None else (path for uid in uids for path in pod_cgroups(pods, uid))
        return any(self.cgroups.children(path) for path in paths)

    def close(self) -> None:
        """Close descriptors and end threads; the disk-usage cache is closed by its owner."""
        self._files.close()
        self._filesystems.close()
        self._mounts.close()

    def _read_disks(
        self, runtime: RuntimeView | None, *, has_runtime: bool
    ) -> tuple[FilesystemReadings, tuple[Problem, ...]]:
        problems, info = Problems(), None if runtime is None else runtime.image_fs
        return self._layout.read(info, self._clock(), problems, has_runtime=has_runtime), problems.found()

    def _node(
        self, filesystems: FilesystemReadings, found: tuple[Problem, ...], problems: Problems
    ) -> tuple[NodeStats, Filesystems, frozenset[Signal]]:
        problems.extend(found)
        reading = self._memory.node(self._roots.node_cgroup, problems)
        memory = self._memory.stats(reading, self._clock(), problems)
        pods_cgroup = self._find_pods_cgroup(problems)
        pods_memory = None if pods_cgroup is None else self._memory.pods(pods_cgroup, self._clock(), problems)
        node = NodeStats(
            name=self._options.node_name,
            memory=self._with_fill_rate(Signal.MEMORY_AVAILABLE, memory),
            pods_memory=self._with_fill_rate(Signal.ALLOCATABLE_MEMORY_AVAILABLE, pods_memory),
            fs=self._with_disk_rates(Filesystem.NODEFS, filesystems.node),
            image_fs=self._with_disk_rates(Filesystem.IMAGEFS, filesystems.image),
            container_fs=self._with_disk_rates(Filesystem.CONTAINERFS, filesystems.container),
            rlimit=self._pids(pods_cgroup, problems),
            swap=self._memory.swap(reading, self._clock()),
            stop_time=self.recent_fill.stop_time(),
            collect_time=self.recent_fill.collect_time(),
            gauges=self._memory.gauges(reading, pods_cgroup, problems),
        )
        return node, filesystems.layout, absent_signals(node, swap_total=reading.meminfo.get("SwapTotal"))

    def _pids(self, pods_cgroup: str | None, problems: Problems) -> RlimitStats:
        standard = self._options.policy is Policy.STANDARD
        left = pids_left(self.cgroups, pods_cgroup) if standard else None
        pids = rlimit(self._roots, self._files, self._clock(), problems, left_for_pods=left)
        if pids.max_pid is None or pids.current is None:
            return pids
        self.recent_fill.add(Signal.PID_AVAILABLE, pids.max_pid - pids.current, self._clock())
        return replace(pids, fill_rate=self.recent_fill.rate(Signal.PID_AVAILABLE))

    def _with_stalls(self, node: NodeStats, wanted: Iterable[Signal], problems: Problems) -> NodeStats:
        """Add how long tasks stalled for the resources of these signals."""
        resources = {STALLS[signal].resource for signal in wanted}
        if StalledResource.MEMORY in resources:
            psi = {
                cgroup: self._memory.stalls(StalledResource.MEMORY, cgroup, problems)
                for cgroup in (None, self._pods_cgroup)
            }
            node = replace(
                node,
                memory=node.memory and replace(node.memory, psi=psi[None]),
                pods_memory=node.pods_memory and replace(node.pods_memory, psi=psi[self._pods_cgroup]),
            )
        if StalledResource.IO in resources:
            read = IOStats(time=self._clock(), psi=self._memory.stalls(StalledResource.IO, None, problems))
            of_pods = self._pods_cgroup and self._memory.stalls(StalledResource.IO, self._pods_cgroup, problems)
            node = replace(node, io=read, pods_io=replace(read, psi=of_pods) if of_pods else None)
        return node

    def _with_fill_rate(self, signal: Signal, memory: MemoryStats | None) -> MemoryStats | None:
        if memory is None or memory.available_bytes is None:
            return memory
        self.recent_fill.add(signal, memory.available_bytes, self._clock())
        return replace(memory, fill_rate=self.recent_fill.rate(signal))

    def _with_disk_rates(self, filesystem: Filesystem, fs: FsStats | None) -> FsStats | None:
        """Add how fast a disk fills; policy Kubelet has the runtime's time stamps here, and no use for rates."""
        if fs is None or fs.time is None or self._options.policy is Policy.KUBELET:
            return fs
        of_bytes, of_inodes = DISK_SIGNALS[filesystem]
        for signal, available in ((of_bytes, fs.available_bytes), (of_inodes, fs.inodes_free)):
            if available is not None:
                self.recent_fill.add(signal, available, fs.time)
        return replace(fs, fill_rate=self.recent_fill.rate(of_bytes), inodes_fill_rate=self.recent_fill.rate(of_inodes))

    def _with_fresh_rates(self, node: NodeStats) -> NodeStats:
        """Read memory once more where the fill rate is old, as directly after a notification: the reading took milliseconds."""
        paths = {
            Signal.MEMORY_AVAILABLE: self._roots.node_cgroup,
            Signal.ALLOCATABLE_MEMORY_AVAILABLE: self._pods_cgroup,
        }
        return replace(
            node,
            memory=self._with_fresh_rate(Signal.MEMORY_AVAILABLE, node.memory, paths, left_out(node)),
            pods_memory=self._with_fresh_rate(Signal.ALLOCATABLE_MEMORY_AVAILABLE, node.pods_memory, paths),
        )

    def _with_fresh_rate(
        self, signal: Signal, memory: MemoryStats | None, paths: Mapping[Signal, str | None], hidden: int = 0
    ) -> MemoryStats | None:
        path = paths[signal]
        if memory is None or memory.available_bytes is None or memory.working_set_bytes is None or path is None:
            return memory
        if not self.recent_fill.is_old(signal):
            return memory
        try:
            used = self.cgroups.working_set(path)[1] + hidden
        except NodeError:
            return memory  # the reading before it is no worse
        self.recent_fill.add(signal, memory.available_bytes + memory.working_set_bytes - used, self._clock())
        return replace(memory, fill_rate=self.recent_fill.rate(signal))

    def _find_pods_cgroup(self, problems: Problems) -> str | None:
        """Search the cgroup of all pods, again as long as there is none and after it was removed."""
        explicit = self._options.pods_cgroup
        if explicit is not None and not is_safe_path(explicit):
            problems.add("pods cgroup", f"unsafe path: {explicit!r}")
            return None
        if self._pods_cgroup is None or not self.cgroups.exists(self._pods_cgroup):
            found = find_pods_cgroup(self.cgroups, self._options.cgroup_root) if explicit is None else explicit
            self._elsewhere = self._placed if found is None else None
            found = found if self._elsewhere is None else self._elsewhere.cgroup
            self._pods_cgroup = found if found is not None and self.cgroups.exists(found) else None
        if self._pods_cgroup is None:
            problems.add("pods cgroup", f"there is no {explicit or 'kubepods or kubepods.slice'}")
        elif self._elsewhere is not None:
            remedy = f"the runtime's pods are in {self._elsewhere.cgroup}: set cgroupRoot: {self._elsewhere.root}"
            problems.add("pods cgroup", f"there is no kubepods below cgroupRoot {self._options.cgroup_root}; {remedy}")
        return self._pods_cgroup

    def _disks(
        self,
        pods: Iterable[Pod],
        near: Collection[Filesystem],
        age: WalkAge,
        runtime: RuntimeView | None,
        problems: Problems,
    ) -> dict[str, PodDisk]:
        cache = self._disk_usage
        if cache is None:
            return {}
        everyone = Filesystem.NODEFS in near
        # Not only once a threshold is met: the walks after that would have to be made twice.
        with_deleted = everyone and self._options.policy is Policy.STANDARD
        layers = {} if runtime is None or not with_deleted else layer_requests(runtime, self._container_folders)
        cache.set_requests(
            (
                replace(
                    disk_request(pod),
                    cgroups=self._cgroup_folders(pod, runtime) if with_deleted else (),
                    layers=layers.get(pod.uid, ()),
                )
                for pod in pods
                if everyone or pod.resource_totals.local_limits
            ),
            active=(pod.uid for pod in pods),
            age=age,
        )
        problems.extend(cache.problems(self._clock()))
        found = {pod.uid: disk for pod in pods if (disk := cache.find(pod.uid)) is not None}
        for disk in found.values():
            problems.extend(disk.problems)
        return found

    def _container_folders(self, uid: str, container_id: str, runtime: RuntimeView) -> tuple[Path, ...]:
        """List the directories that a container's cgroup may have."""
        paths = (path for pod in self._pod_cgroups(uid, runtime) for path in container_cgroups(pod, container_id))
        return tuple(self.cgroups.folder(path) for path in paths)

    def _cgroup_folders(self, pod: Pod, runtime: RuntimeView | None) -> tuple[Path, ...]:
        """List the directories that a pod's cgroup may have."""
        return tuple(self.cgroups.folder(path) for path in self._pod_cgroups(pod.uid, runtime))

    def _pod_cgroups(self, uid: str, runtime: RuntimeView | None) -> tuple[str, ...]:
        """List the paths that a pod's cgroup may have."""
        reported = None if runtime is None else runtime.pod_cgroups.get(uid)
        if reported is not None:
            return (reported,) if is_safe_path(reported) else ()
        pods = self._pods_cgroup
        return () if pods is None else tuple(pod_cgroups(pods, uid))


def _stalled(node: NodeStats, wanted: Collection[Signal]) -> frozenset[StalledResource]:
    """Return the resources that tasks have stalled for lately, by the signals that have a threshold."""
    seen = signal_observations(node) if wanted else {}
    return frozenset(
        STALLS[signal].resource
        for signal in wanted
        if signal in seen and seen[signal].available < seen[signal].capacity
    )
