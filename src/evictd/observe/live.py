"""Reads this machine without a daemon, for `explain` (once) and `capture` (repeatedly).

The node is read by `observe.reading.node_stats`; the pods come from the container runtime and the manifests, or from the API
server if one is configured; their disk usage is measured in the same call. An unavailable runtime is a problem of the reading.
"""

from collections.abc import Iterable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Self

from evictd.config.file import load_yaml
from evictd.config.settings import MemoryQoSMode, Settings
from evictd.core.model.config import stall_signals
from evictd.core.model.observation import Observation, Problem
from evictd.core.model.oom import MemoryQoSDifference, OomScoreDifference
from evictd.core.model.pod import Pod
from evictd.core.model.signal import SIGNAL_TO_FILESYSTEM, STALLS, Filesystem, Signal, StallScope
from evictd.core.model.stats import NodeStats
from evictd.core.units.duration import SECOND
from evictd.errors import EvictdError, NodeError
from evictd.observe.disk_usage.cache import DiskUsageCache
from evictd.observe.disk_usage.pod_disk import PodDiskMeter, disk_request
from evictd.observe.pods.manifests import ManifestReader
from evictd.observe.reading.node_stats import NodeStatsReader, ObserveOptions
from evictd.observe.reading.roots import Roots

if TYPE_CHECKING:  # the client brings the whole gRPC library along
    from evictd.observe.pods.cluster_pods import ClusterPods
    from evictd.observe.runtime.runtime_view import RuntimeReader, RuntimeView

RUNTIME = "container runtime"


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveReading:
    """One reading of this machine; `now` is on the boot-time clock, in nanoseconds."""

    now: int
    observation: Observation
    oom_scores: tuple[OomScoreDifference, ...] = ()
    memory_qos: tuple[MemoryQoSDifference, ...] = ()
    sources: Mapping[Signal, str] = field(default_factory=dict)
    """A description of where each signal's numbers come from, for display."""


def boot_time(proc: Path) -> int:
    """Read the time since boot in nanoseconds from `uptime`; raises `NodeError`."""
    path = proc / "uptime"
    try:
        seconds = path.read_text(encoding="ascii").split()[0]
        return int(float(seconds) * SECOND)
    except (OSError, ValueError, IndexError) as error:
        raise NodeError(f"{path}: cannot be read: {error}") from error


def wall_time(proc: Path, now: int) -> int | None:
    """Give the wall-clock time of a time since boot, in nanoseconds, to a second; `None` where `stat` does not say it."""
    try:
        lines = (proc / "stat").read_text(encoding="ascii").splitlines()
        return next(int(line.split()[1]) * SECOND + now for line in lines if line.startswith("btime "))
    except (OSError, ValueError, IndexError, StopIteration):
        return None


class LiveNode:
    """Reads one machine repeatedly; a context manager. Raises `NodeError` if there is no cgroup hierarchy."""

    def __init__(
        self, settings: Settings, *, proc: Path = Path("/proc"), cgroup: Path = Path("/sys/fs/cgroup")
    ) -> None:
        self._settings = settings
        self._roots = Roots(
            proc=proc, cgroup=cgroup, kubelet_dir=_existing(settings.root_dir), pod_logs_dir=settings.pod_logs_dir
        )
        self._disk_usage = DiskUsageCache(PodDiskMeter(self._roots, self.now).measure, clock=self.now)
        self._manifests = ManifestReader(settings.static_pod_path, load_yaml)
        self._runtime: RuntimeReader | None = None
        self._cluster_pods: ClusterPods | None = None
        self._resources = ExitStack()
        options = ObserveOptions(
            policy=settings.eviction.policy,
            formula=settings.memory_formula,
            cgroup_root=settings.cgroup_root,
            node_name=settings.cluster.node_name,
        )
        self._observer = self._resources.enter_context(
            NodeStatsReader(self._roots, options, clock=self.now, disk_usage=self._disk_usage)
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._resources.close()

    def now(self) -> int:
        """Return the time on the boot-time clock, in nanoseconds."""
        return boot_time(self._roots.proc)

    def read(self) -> LiveReading:
        """Read everything once; parts that could not be read are problems of the observation."""
        now = self.now()
        view, problems = self._view(now)
        pods: tuple[Pod, ...] = ()
        of_api_server = False
        if view is not None:
            from evictd.observe.pods.node_pods import (  # noqa: PLC0415 - brings the gRPC library along
                API_PODS_STANDALONE,
                node_pods,
            )

            manifests = self._manifests.read()
            found = node_pods(
                view,
                manifests,
                node_name=self._settings.cluster.node_name,
                memory_capacity=self._observer.memory_capacity,
            )
            pods, problems = found.active, (*problems, *found.problems, *manifests.problems)
            of_api_server = found.of_api_server and self._settings.cluster.standalone
            if of_api_server and not self._settings.eviction.allow_api_pods_standalone:
                problems = (*problems, API_PODS_STANDALONE)
        if self._settings.cluster.kubeconfig:
            pods, more = self._of_api_server(pods, view)
            problems = (*problems, *more)
        self._measure(pods)
        stalls = stall_signals(self._settings.eviction)
        reading = self._observer.observe(pods, view, has_runtime=view is not None, stalls=stalls)
        observation = Observation(
            node=reading.node,
            pods=reading.pods,
            pod_stats=reading.pod_stats,
            filesystems=reading.filesystems,
            problems=(*problems, *reading.problems),
            api_pods_standalone=of_api_server,
        )
        return LiveReading(
            now=now,
            observation=observation,
            oom_scores=self._oom_scores(observation, view),
            memory_qos=self._memory_qos(observation, view),
            sources=self._sources(view),
        )

    def _of_api_server(
        self, found: tuple[Pod, ...], view: "RuntimeView | None"
    ) -> tuple[tuple[Pod, ...], tuple[Problem, ...]]:
        """Give the API server's pods, and those of the runtime's that it does not list; the runtime's if it does not answer.

        The same pods as the daemon's (`NodeObserver`).
        """
        from evictd.observe.pods.node_pods import known_sandboxes  # noqa: PLC0415
        from evictd.observe.pods.unlisted import with_unlisted  # noqa: PLC0415

        cluster, policy = self._cluster(), self._settings.eviction.policy
        bound, problems = cluster.active(known_sandboxes(view))
        if bound is None:
            return found, problems
        active, more = with_unlisted(bound, found, view, policy, unlisted=cluster.unlisted)
        return active, (*problems, *more)

    def read_node(self) -> NodeStats | None:
        """Read the node alone, without its pods and the runtime."""
        return self._observer.observe(has_runtime=False, stalls=stall_signals(self._settings.eviction)).node

    def _sources(self, view: "RuntimeView | None") -> dict[Signal, str]:
        version, formula = self._observer.cgroups.version, self._settings.memory_formula.value
        reported = "as the runtime reports it" if view is not None else "unknown without a runtime"
        filesystems = {
            Filesystem.NODEFS: f"statfs of {self._roots.kubelet_dir}",
            Filesystem.IMAGEFS: f"where images are, {reported}",
            Filesystem.CONTAINERFS: f"where writable layers are, {reported}",
        }
        return {
            Signal.MEMORY_AVAILABLE: f"cgroup {version}, root, {formula}",
            Signal.ALLOCATABLE_MEMORY_AVAILABLE: f"cgroup {version}, all pods",
            Signal.SWAP_AVAILABLE: f"{self._roots.proc}/meminfo",
            Signal.PID_AVAILABLE: f"{self._roots.proc}: pid_max, threads-max, loadavg",
            **{signal: filesystems[filesystem] for signal, filesystem in SIGNAL_TO_FILESYSTEM.items()},
            **{
                signal: f"{self._roots.proc}/pressure"
                if stall.scope is StallScope.NODE
                else f"cgroup {version}, all pods, PSI"
                for signal, stall in STALLS.items()
            },
        }

    def _view(self, now: int) -> tuple["RuntimeView | None", tuple[Problem, ...]]:
        try:
            return replace(self._reader().read(now), wall=wall_time(self._roots.proc, now)), ()
        except EvictdError as error:
            detail = f"{self._settings.container_runtime_endpoint}: {' '.join(str(error).split())}"
            return None, (Problem(source=RUNTIME, detail=detail),)

    def _reader(self) -> "RuntimeReader":
        if self._runtime is None:
            from evictd.clients.cri import CriClient  # noqa: PLC0415
            from evictd.observe.runtime.runtime_view import RuntimeReader  # noqa: PLC0415

            seconds = max(1, self._settings.runtime_request_timeout // SECOND)
            client = CriClient(self._settings.container_runtime_endpoint, timeout_seconds=seconds)
            self._runtime = RuntimeReader(self._resources.enter_context(client))
        return self._runtime

    def _cluster(self) -> "ClusterPods":
        if self._cluster_pods is None:
            from evictd.observe.pods.cluster_pods import ClusterPods  # noqa: PLC0415 - brings the API's client along

            self._cluster_pods = self._resources.enter_context(ClusterPods(self._settings.cluster, clock=self.now))
        return self._cluster_pods

    def _measure(self, pods: Iterable[Pod]) -> None:
        """Measure every pod's disk usage in this thread: a single reading cannot use results of a thread in the background."""
        active = tuple(pods)
        self._disk_usage.set_requests([disk_request(pod) for pod in active], active=[pod.uid for pod in active])
        for _ in active:
            if not self._disk_usage.renew_one():
                return

    def _oom_scores(self, observation: Observation, view: "RuntimeView | None") -> tuple[OomScoreDifference, ...]:
        gauges = None if observation.node is None else observation.node.gauges
        if view is None or gauges is None or not gauges.capacity_bytes:
            return ()
        from evictd.observe.pods.oom_score import containers_root, oom_score_differences  # noqa: PLC0415

        return oom_score_differences(
            observation.pods,
            view,
            memory_capacity=gauges.capacity_bytes,
            cgroup_root=containers_root(self._roots.cgroup),
            proc_root=self._roots.proc,
        )

    def _memory_qos(self, observation: Observation, view: "RuntimeView | None") -> tuple[MemoryQoSDifference, ...]:
        gauges = None if observation.node is None else observation.node.gauges
        if (
            self._settings.memory_qos is MemoryQoSMode.OFF
            or view is None
            or gauges is None
            or not gauges.capacity_bytes
        ):
            return ()
        from evictd.observe.pods.memory_qos import memory_qos_differences  # noqa: PLC0415
        from evictd.observe.pods.oom_score import containers_root  # noqa: PLC0415

        return memory_qos_differences(
            observation.pods,
            view,
            self._settings.memory_qos_rules,
            memory_capacity=gauges.capacity_bytes,
            cgroup_root=containers_root(self._roots.cgroup),
        )


def _existing(path: Path) -> Path:
    """Return the nearest existing directory at or above a path: before a kubelet ran, it is on the filesystem to be used."""
    return next((one for one in (path, *path.parents) if one.is_dir()), Path("/"))
