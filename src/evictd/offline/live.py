"""What does this machine say right now, without a daemon?

One look for `explain`, and one after the other for `capture`: the node through `observe.node`, the pods from the container
runtime and the manifests, or from the API server where one is configured, their disk usage measured on the spot. Works with no
runtime at all, and says so.
"""

from collections.abc import Iterable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Self

from evictd.config.file import parse_documents
from evictd.config.settings import Settings
from evictd.core.duration import SECOND
from evictd.core.observation import Observation, Problem
from evictd.core.oom import OomScoreDifference
from evictd.core.pod import Pod
from evictd.core.signal import SIGNAL_TO_FILESYSTEM, Filesystem, Signal
from evictd.errors import EvictdError, InputError, NodeError
from evictd.observe.disk_usage_cache import DiskUsageCache
from evictd.observe.manifests import ManifestReader
from evictd.observe.memory import MemoryFormula
from evictd.observe.node import NodeObserver, ObserveOptions
from evictd.observe.pod_disk import PodDiskMeter, disk_request
from evictd.observe.roots import Roots

if TYPE_CHECKING:  # the client brings the whole gRPC library along
    from evictd.observe.runtime_view import RuntimeReader, RuntimeView
    from evictd.offline.cluster_pods import ClusterPods

RUNTIME = "container runtime"


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """One look at this machine. `now` on the boot-time clock, in nanoseconds."""

    now: int
    observation: Observation
    oom_scores: tuple[OomScoreDifference, ...] = ()
    sources: Mapping[Signal, str] = field(default_factory=dict)
    """Where each signal's numbers come from, for people."""


def boot_time(proc: Path) -> int:
    """Read the time since boot in nanoseconds from `uptime`; raises `NodeError`."""
    path = proc / "uptime"
    try:
        seconds = path.read_text(encoding="ascii").split()[0]
        return int(float(seconds) * SECOND)
    except (OSError, ValueError, IndexError) as error:
        raise NodeError(f"{path}: cannot be read: {error}") from error


class LiveNode:
    """Looks at one machine again and again; a context manager. Raises `NodeError` where there is no cgroup hierarchy."""

    def __init__(
        self, settings: Settings, *, proc: Path = Path("/proc"), cgroup: Path = Path("/sys/fs/cgroup")
    ) -> None:
        self._settings = settings
        self._roots = Roots(
            proc=proc, cgroup=cgroup, kubelet_dir=_holding(settings.root_dir), pod_logs_dir=settings.pod_logs_dir
        )
        self._disk_usage = DiskUsageCache(PodDiskMeter(self._roots, self.now).measure, clock=self.now)
        self._manifests = ManifestReader(settings.static_pod_path, load_yaml)
        self._runtime: RuntimeReader | None = None
        self._bound: ClusterPods | None = None
        self._held = ExitStack()
        options = ObserveOptions(
            policy=settings.eviction.policy,
            formula=MemoryFormula(settings.memory_formula.value),
            cgroup_root=settings.cgroup_root,
            node_name=settings.cluster.node_name,
        )
        self._observer = self._held.enter_context(
            NodeObserver(self._roots, options, clock=self.now, disk_usage=self._disk_usage)
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._held.close()

    def now(self) -> int:
        """Give the time on the boot-time clock, in nanoseconds."""
        return boot_time(self._roots.proc)

    def look(self) -> Look:
        """Take one look; what could not be read is among the observation's problems."""
        now = self.now()
        view, problems = self._view(now)
        pods: tuple[Pod, ...] = ()
        if view is not None:
            from evictd.observe.pods import node_pods  # noqa: PLC0415 - brings the gRPC library along

            manifests = self._manifests.read()
            found = node_pods(view, manifests, node_name=self._settings.cluster.node_name)
            pods, problems = found.active, (*problems, *found.problems, *manifests.problems)
        if self._settings.cluster.kubeconfig:
            bound, more = self._cluster().active()
            pods, problems = pods if bound is None else bound, (*problems, *more)
        self._measure(pods)
        seen = self._observer.observe(pods, view, has_runtime=view is not None)
        observation = Observation(
            node=seen.node,
            pods=seen.pods,
            pod_stats=seen.pod_stats,
            filesystems=seen.filesystems,
            problems=(*problems, *seen.problems),
        )
        return Look(
            now=now,
            observation=observation,
            oom_scores=self._oom_scores(observation, view),
            sources=self._sources(view),
        )

    def _sources(self, view: "RuntimeView | None") -> dict[Signal, str]:
        version, formula = self._observer.cgroups.version, self._settings.memory_formula.value
        told = "as the runtime tells it" if view is not None else "unknown without a runtime"
        filesystems = {
            Filesystem.NODEFS: f"statfs of {self._roots.kubelet_dir}",
            Filesystem.IMAGEFS: f"where images are, {told}",
            Filesystem.CONTAINERFS: f"where writable layers are, {told}",
        }
        return {
            Signal.MEMORY_AVAILABLE: f"cgroup {version}, root, {formula}",
            Signal.ALLOCATABLE_MEMORY_AVAILABLE: f"cgroup {version}, all pods",
            Signal.PID_AVAILABLE: f"{self._roots.proc}: pid_max, threads-max, loadavg",
            **{signal: filesystems[filesystem] for signal, filesystem in SIGNAL_TO_FILESYSTEM.items()},
        }

    def _view(self, now: int) -> tuple["RuntimeView | None", tuple[Problem, ...]]:
        try:
            return self._reader().read(now), ()
        except EvictdError as error:
            detail = f"{self._settings.container_runtime_endpoint}: {' '.join(str(error).split())}"
            return None, (Problem(source=RUNTIME, detail=detail),)

    def _reader(self) -> "RuntimeReader":
        if self._runtime is None:
            from evictd.clients.cri import CriClient  # noqa: PLC0415
            from evictd.observe.runtime_view import RuntimeReader  # noqa: PLC0415

            seconds = max(1, self._settings.runtime_request_timeout // SECOND)
            client = CriClient(self._settings.container_runtime_endpoint, timeout_seconds=seconds)
            self._runtime = RuntimeReader(self._held.enter_context(client))
        return self._runtime

    def _cluster(self) -> "ClusterPods":
        if self._bound is None:
            from evictd.offline.cluster_pods import ClusterPods  # noqa: PLC0415 - brings the API's client along

            self._bound = self._held.enter_context(ClusterPods(self._settings.cluster, clock=self.now))
        return self._bound

    def _measure(self, pods: Iterable[Pod]) -> None:
        """Measure every pod's disk usage now: one look has no time to wait for a thread in the background."""
        active = tuple(pods)
        self._disk_usage.want([disk_request(pod) for pod in active], active=[pod.uid for pod in active])
        for _ in active:
            if not self._disk_usage.renew_one():
                return

    def _oom_scores(self, observation: Observation, view: "RuntimeView | None") -> tuple[OomScoreDifference, ...]:
        gauges = None if observation.node is None else observation.node.gauges
        if view is None or gauges is None or not gauges.capacity_bytes:
            return ()
        from evictd.observe.oom_score import containers_root, oom_score_differences  # noqa: PLC0415

        return oom_score_differences(
            observation.pods,
            view,
            memory_capacity=gauges.capacity_bytes,
            cgroup_root=containers_root(self._roots.cgroup),
            proc_root=self._roots.proc,
        )


def _holding(path: Path) -> Path:
    """Give the folder, or where there is no kubelet yet the nearest one above it: the filesystem that would hold it."""
    return next((one for one in (path, *path.parents) if one.is_dir()), Path("/"))


def load_yaml(text: str) -> object:
    """Read the one document of a manifest; raises `InputError`."""
    documents, problems = parse_documents(text, "manifest")
    if problems:
        raise InputError(tuple(str(problem) for problem in problems))
    return documents[0] if documents else None
