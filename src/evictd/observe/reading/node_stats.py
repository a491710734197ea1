"""Reads the node's statistics and assembles the core's `Observation` (kubelet `summaryProvider.Get`).

Every source is read once and carries its own time stamp; a source that fails is absent and named among the problems. Each read
has a time limit, and nothing is decided here.
"""

from collections.abc import Callable, Collection, Iterable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import NamedTuple, Self

from evictd.config.settings import Settings
from evictd.core.frozen import frozen
from evictd.core.model.config import MemoryFormula, Policy, memory_formula
from evictd.core.model.observation import Filesystems, Observation, Outcomes, Problem, RemovedPod
from evictd.core.model.pod import Pod
from evictd.core.model.signal import DISK_SIGNALS, Filesystem, Signal
from evictd.core.model.stats import FsStats, MemoryStats, NodeStats, RlimitStats
from evictd.errors import NodeError
from evictd.observe.cgroups.cgroup import PodsCgroup, find_hierarchy, pod_cgroups, pod_uids
from evictd.observe.cgroups.cgroup_reader import CgroupReader
from evictd.observe.cgroups.file_descriptor_cache import FileDescriptorCache
from evictd.observe.cgroups.kernel_kills import KernelKills
from evictd.observe.cgroups.memory import NodeMemoryReader, left_out
from evictd.observe.cgroups.process import pids_left, rlimit
from evictd.observe.disk_usage.cache import DiskUsageCache
from evictd.observe.disk_usage.disk_requests import DiskRequests
from evictd.observe.disk_usage.pod_disk import PodDisk
from evictd.observe.disk_usage.walk_age import WalkAge
from evictd.observe.filesystems.filesystem import FilesystemReader
from evictd.observe.filesystems.layout import FilesystemReadings, LayoutReader
from evictd.observe.filesystems.mounts import MountTable
from evictd.observe.oomd import OomdReader
from evictd.observe.pods.kubelet_folder import AllocatedPods, VolumeFolders
from evictd.observe.pods.pod_usage import PodUsageReader, UsageSources
from evictd.observe.pods.removed_pods import RemovedPods
from evictd.observe.reading.absent import absent_signals
from evictd.observe.reading.more_available import more_available
from evictd.observe.reading.problems import Problems
from evictd.observe.reading.roots import Roots
from evictd.observe.reading.stalls import stalled_resources, with_stalls
from evictd.observe.runtime.runtime_view import RuntimeView, running_uids
from evictd.observe.threshold_watch.recent_fill import RecentFill

_ANY = frozenset(Filesystem)


@frozen
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


class _OfNode(NamedTuple):
    """What was read of the node itself."""

    stats: NodeStats
    filesystems: Filesystems
    absent: frozenset[Signal]
    """The signals that it is known not to have."""


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
        self.cgroups: CgroupReader = find_hierarchy(roots.cgroup, self._files)
        self._mounts = MountTable(roots.proc)  # after what may raise: it holds a descriptor
        self._memory = NodeMemoryReader(roots, self.cgroups, self._files, formula=options.formula)
        self._layout = LayoutReader(roots.kubelet_dir, self._mounts, self._filesystems, policy=options.policy)
        self._disk_requests = DiskRequests(self.cgroups, policy=options.policy)
        self._pods = PodUsageReader(self.cgroups, policy=options.policy)
        self._volumes = VolumeFolders(roots.kubelet_dir)
        self._allocated = AllocatedPods(roots.kubelet_dir)
        self._removed = RemovedPods(roots.kubelet_dir)
        self.kubepods = PodsCgroup(self.cgroups, options.cgroup_root, options.pods_cgroup)
        """The cgroup of all pods."""
        self.kernel_kills = KernelKills(roots.proc, self.cgroups, self._files, self.kubepods)
        """The processes that the kernel killed."""
        self._oomd = OomdReader(roots)
        self._last_disks: tuple[FilesystemReadings, tuple[Problem, ...]] | None = None
        self.disks_read_at = 0
        """By `clock`, when the last reading of the filesystems had ended."""
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
        near: Collection[Filesystem] = _ANY,
        walk_age: WalkAge = WalkAge(),  # noqa: B008 - a frozen value
        outcomes: Outcomes = Outcomes(),  # noqa: B008 - a frozen value
        stalls: Collection[Signal] = (),
        disks_anew: bool = True,
        formula: MemoryFormula | None = None,
    ) -> Observation:
        """Take one reading.

        `pods` are the active pods; unknown volumes and requests are looked for in the kubelet's directory. `runtime` is `None` if
        it did not answer or there is none. `near` names the filesystems that are near a threshold: only then are pods measured
        that have no limit of their own, and again when their numbers are older than `walk_age`. `stalls` are the stall signals
        with a threshold; the pods' own stalls are read while one of them is not zero. Without `disks_anew` the filesystems are
        those read last. `formula`: that of `memory.available`.
        """
        problems = self._begin(runtime, formula)
        with self._walks_paused():
            read = partial(self._node, runtime, problems, stalls=stalls)
            node, filesystems, absent = read(disks_anew=disks_anew)
            seen_now = disks_anew and node.fs is not None  # else the disk may hang
            pods = self._volumes.complete(pods, problems, anew=seen_now)
            pods = self._allocated.complete(pods, problems, anew=seen_now)
            disks = self._disks(pods, near, walk_age, runtime, problems)
            usage = self._pods.read(pods, self._sources(node, runtime, disks, stalls, problems))
            removed = self._removed_pods(pods, runtime, problems) if seen_now else {}
            # A shortage that began or ended while the pods were read is not explained by their numbers.
            again = read(disks_anew=seen_now and bool(near))
            node = self._with_fresh_rates(more_available(node, again.stats))
            self._files.end_cycle()
        return Observation(
            node=node,
            pods=tuple(pods),
            pod_stats=usage,
            removed_pods=removed,
            filesystems=filesystems,
            outcomes=outcomes,
            problems=problems.found(),
            absent=absent,
            drops_page_cache=self._drops_page_cache(),
        )

    def observe_node(
        self,
        last: Observation,
        runtime: RuntimeView | None,
        *,
        outcomes: Outcomes,
        formula: MemoryFormula | None,
    ) -> Observation:
        """Read the node alone; the pods and their statistics are those of the reading `last`. The pods' files stay open."""
        problems = self._begin(runtime, formula)
        with self._walks_paused():
            node, filesystems, absent = self._node(runtime, problems)
            node = self._with_fresh_rates(node)
        return replace(
            last,
            node=node,
            pods_read=False,
            removed_pods={},
            filesystems=filesystems,
            outcomes=outcomes,
            problems=problems.found(),
            absent=absent,
            drops_page_cache=self._drops_page_cache(),
        )

    def _begin(self, runtime: RuntimeView | None, formula: MemoryFormula | None) -> Problems:
        """Take note of what this reading is given; return its problems so far."""
        if self._memory.use(formula):
            self.recent_fill.forget(Signal.MEMORY_AVAILABLE)  # the step from one formula to the other is no fill
        problems = Problems()
        if runtime is not None:
            problems.extend(runtime.problems)
            self.kubepods.note(runtime.pod_cgroups.values())
        return problems

    def _walks_paused(self) -> AbstractContextManager[None]:
        return nullcontext() if self._disk_usage is None else self._disk_usage.paused()

    def _drops_page_cache(self) -> bool:
        return self.kubepods.path is not None and self.cgroups.drops_page_cache(self.kubepods.path)

    def measure_since(self, since: int) -> None:
        """Begin to measure the disk usage of the pods that were measured before this time."""
        if self._disk_usage is not None:
            self._disk_usage.renew_since(since)

    def pod_uids(self) -> tuple[str, ...]:
        """List the uids of the pods that have a cgroup."""
        pods = self.kubepods.find(Problems())
        return () if pods is None else pod_uids(self.cgroups, pods)

    def any_containers(self, uids: Iterable[str]) -> bool:
        """Whether the cgroup of one of these pods has another in it; an ended pod may leave an empty one behind."""
        pods = self.kubepods.find(Problems())
        paths = () if pods is None else (path for uid in uids for path in pod_cgroups(pods, uid))
        return any(self.cgroups.children(path) for path in paths)

    def close(self) -> None:
        """Close descriptors and end threads; the disk-usage cache is closed by its owner."""
        self._files.close()
        self._filesystems.close()
        self._mounts.close()

    def _node(
        self,
        runtime: RuntimeView | None,
        problems: Problems,
        *,
        disks_anew: bool = True,
        stalls: Collection[Signal] = (),
    ) -> _OfNode:
        """Read the node's own numbers."""
        if self._last_disks is None or disks_anew:
            info, of_disks = None if runtime is None else runtime.image_fs, Problems()
            read = self._layout.read(info, self._clock(), of_disks)
            self._last_disks, self.disks_read_at = (read, of_disks.found()), self._clock()
        filesystems, found = self._last_disks
        problems.extend(found)
        reading = self._memory.node(self._roots.node_cgroup, problems)
        memory = self._memory.stats(reading, self._clock(), problems)
        pods_cgroup = self.kubepods.find(problems)
        problems.extend(self._oomd.problems(pods_cgroup))
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
        node = with_stalls(node, stalls, self._memory, problems, pods=self.kubepods.path, now=self._clock())
        swap = reading.meminfo.get("SwapTotal")
        return _OfNode(node, filesystems.layout, absent_signals(node, swap))

    def _sources(
        self,
        node: NodeStats,
        runtime: RuntimeView | None,
        disks: Mapping[str, PodDisk],
        stalls: Collection[Signal],
        problems: Problems,
    ) -> UsageSources:
        return UsageSources(
            now=self._clock(),
            problems=problems,
            runtime=runtime,
            pods_cgroup=self.kubepods.path,
            disks=disks,
            stalled=stalled_resources(node, stalls),
            swap=node.swap is not None,
            most_memory=self._memory.most,
        )

    def _pids(self, pods_cgroup: str | None, problems: Problems) -> RlimitStats:
        standard = self._options.policy is Policy.STANDARD
        left = pids_left(self.cgroups, pods_cgroup) if standard else None
        pids = rlimit(self._roots, self._files, self._clock(), problems, left_for_pods=left)
        if pids.max_pid is None or pids.current is None:
            return pids
        self.recent_fill.add(Signal.PID_AVAILABLE, pids.max_pid - pids.current, self._clock())
        return replace(pids, fill_rate=self.recent_fill.rate(Signal.PID_AVAILABLE))

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
        of_node, of_pods = Signal.MEMORY_AVAILABLE, Signal.ALLOCATABLE_MEMORY_AVAILABLE
        return replace(
            node,
            memory=self._with_fresh_rate(of_node, node.memory, self._roots.node_cgroup, left_out(node)),
            pods_memory=self._with_fresh_rate(of_pods, node.pods_memory, self.kubepods.path),
        )

    def _with_fresh_rate(
        self, signal: Signal, memory: MemoryStats | None, path: str | None, hidden: int = 0
    ) -> MemoryStats | None:
        """Read the cgroup at `path` again for this; `hidden` bytes beside its working set count as used."""
        if memory is None or memory.available_bytes is None or memory.working_set_bytes is None or path is None:
            return memory
        if not self.recent_fill.is_old(signal):
            return memory
        try:
            used = self.cgroups.memory_usage(path).working_set + hidden
        except NodeError:
            return memory  # the reading before it is no worse
        self.recent_fill.add(signal, memory.available_bytes + memory.working_set_bytes - used, self._clock())
        return replace(memory, fill_rate=self.recent_fill.rate(signal))

    def _removed_pods(
        self, pods: Collection[Pod], runtime: RuntimeView | None, problems: Problems
    ) -> Mapping[str, RemovedPod]:
        running = None if runtime is None else running_uids(runtime)
        return self._removed.read([pod.uid for pod in pods], running, self._clock(), problems)

    def _disks(
        self,
        pods: Collection[Pod],
        near: Collection[Filesystem],
        age: WalkAge,
        runtime: RuntimeView | None,
        problems: Problems,
    ) -> dict[str, PodDisk]:
        cache = self._disk_usage
        if cache is None:
            return {}
        cache.set_requests(
            self._disk_requests.of(pods, near, runtime, self.kubepods.path), active=(pod.uid for pod in pods), age=age
        )
        problems.extend(cache.problems(self._clock()))
        found = {pod.uid: disk for pod in pods if (disk := cache.find(pod.uid)) is not None}
        for disk in found.values():
            problems.extend(disk.problems)
        return found
