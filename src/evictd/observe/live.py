"""Reads this machine without a daemon, for `explain` (once) and `capture` (repeatedly).

It is read by the daemon's observer (`observe.reading.observer`). What differs is that volumes are measured in the same call, that
the API server's first list of pods is waited for, and that a machine without a runtime or a kubelet's directory is read too.
"""

from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Self

from evictd.clock import boot_clock, wall_clock
from evictd.config.file import load_yaml
from evictd.config.settings import MemoryQoSMode, Settings
from evictd.core.frozen import frozen
from evictd.core.model.observation import Observation, Outcomes, Problem
from evictd.core.model.oom import MemoryQoSDifference, OomScoreDifference
from evictd.core.model.signal import SIGNALS, STALLS, Filesystem, Signal, StallScope
from evictd.core.model.state import State
from evictd.core.units.duration import SECOND
from evictd.observe.disk_usage.cache import DiskUsageCache
from evictd.observe.disk_usage.pod_meter import PodDiskMeter
from evictd.observe.pods.active_pods import ActivePodSource, StandalonePods
from evictd.observe.pods.manifests import ManifestReader
from evictd.observe.pods.memory_qos import memory_qos_differences
from evictd.observe.pods.oom_score import containers_root, oom_score_differences
from evictd.observe.reading.node_stats import NodeStatsReader, observe_options
from evictd.observe.reading.observer import RUNTIME, NodeObserver, ObserveRequest
from evictd.observe.reading.reading import Reading
from evictd.observe.reading.roots import Roots, existing, missing_root_dir
from evictd.observe.runtime.runtime_view import RuntimeReader, RuntimeView
from evictd.observe.runtime_socket import NO_SOCKET

if TYPE_CHECKING:  # it brings the API's client along
    from evictd.observe.cluster_watch import ClusterWatch


@frozen
class LiveReading:
    """One reading of this machine; `now` is on the boot-time clock, in nanoseconds."""

    now: int
    observation: Observation
    oom_scores: tuple[OomScoreDifference, ...] = ()
    memory_qos: tuple[MemoryQoSDifference, ...] = ()
    sources: Mapping[Signal, str] = field(default_factory=dict)
    """A description of where each signal's numbers come from, for display."""


_HERE = Roots()


class LiveNode:
    """Reads one machine repeatedly; a context manager. Raises `NodeError` if there is no cgroup hierarchy.

    `machine` says where /proc and the cgroups are; the other directories are those of the settings.
    """

    def __init__(self, settings: Settings, machine: Roots = _HERE) -> None:
        self._settings = settings
        self._roots = replace(
            machine,
            kubelet_dir=existing(settings.evictd.root_dir),
            pod_logs_dir=settings.kubelet.logs_dir,
        )
        self._resources = ExitStack()
        missing = missing_root_dir(settings.evictd.root_dir, self._roots.kubelet_dir)
        self._problems: tuple[Problem, ...] = ()
        if missing:
            self._problems = (Problem(source=Filesystem.NODEFS.value, detail=missing),)
        self._stats = self._resources.enter_context(
            NodeStatsReader(
                self._roots,
                observe_options(settings, settings.evictd.cluster.node_name),
                clock=boot_clock,
                disk_usage=DiskUsageCache(PodDiskMeter(self._roots, boot_clock).begin, clock=boot_clock, at_once=True),
            )
        )
        self._cluster: ClusterWatch | None = None
        self._observer = NodeObserver(
            self._stats, self._runtime(), ManifestReader(settings.kubelet.static_pods, load_yaml), self._source()
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._resources.close()

    def read(self) -> LiveReading:
        """Take one observation of the daemon's observer, as in the first cycle of a daemon that finds all volumes measured."""
        now = boot_clock()
        cluster = () if self._cluster is None else self._cluster.wait()
        request = ObserveRequest(
            now=now,
            wall=wall_clock(),
            state=State(),
            config=self._settings.eviction,
            outcomes=Outcomes(),
            problems=(*self._problems, *cluster),
        )
        reading = self._observer.observe(request)
        return LiveReading(
            now=now,
            observation=reading.observation,
            oom_scores=self._oom_scores(reading),
            memory_qos=self._memory_qos(reading),
            sources=self._sources(reading.view),
        )

    def _runtime(self) -> RuntimeReader | None:
        """Connect to the runtime at the first call; without a socket at its endpoint the machine has none."""
        endpoint = self._settings.kubelet.container_runtime_endpoint
        if not Path(endpoint.removeprefix("unix://")).exists():
            self._problems += (Problem(source=RUNTIME, detail=f"{endpoint}: {NO_SOCKET}"),)
            return None
        from evictd.clients.cri.client import CriClient  # noqa: PLC0415 - brings the gRPC library along

        seconds = max(1, self._settings.kubelet.runtime_request_timeout // SECOND)
        client = self._resources.enter_context(CriClient(endpoint, timeout_seconds=seconds))
        return RuntimeReader(client, pods=self._stats)

    def _source(self) -> ActivePodSource:
        if self._settings.evictd.cluster.standalone:
            return StandalonePods()
        from evictd.observe.cluster_watch import ClusterWatch  # noqa: PLC0415 - brings the API's client along

        self._cluster = self._resources.enter_context(ClusterWatch(self._settings.evictd.cluster, clock=boot_clock))
        return self._cluster.pods

    def _sources(self, view: RuntimeView | None) -> dict[Signal, str]:
        version, formula = self._stats.cgroups.version, self._stats.memory_formula.value
        node = self._roots.node_cgroup if self._roots.node_cgroup.strip("/") else "root"
        reported = "as the runtime reports it" if view is not None else "unknown without a runtime"
        filesystems = {
            Filesystem.NODEFS: f"statfs of {self._roots.kubelet_dir}",
            Filesystem.IMAGEFS: f"where images are, {reported}",
            Filesystem.CONTAINERFS: f"where writable layers are, {reported}",
        }
        return {
            Signal.MEMORY_AVAILABLE: f"cgroup {version}, {node}, {formula}",
            Signal.ALLOCATABLE_MEMORY_AVAILABLE: f"cgroup {version}, all pods",
            Signal.SWAP_AVAILABLE: f"{self._roots.proc}/meminfo",
            Signal.PID_AVAILABLE: f"{self._roots.proc}: pid_max, threads-max, loadavg",
            **{signal: filesystems[spec.filesystem] for signal, spec in SIGNALS.items() if spec.filesystem is not None},
            **{
                signal: f"{self._roots.proc}/pressure"
                if stall.scope is StallScope.NODE
                else f"cgroup {version}, all pods, PSI"
                for signal, stall in STALLS.items()
            },
        }

    def _oom_scores(self, reading: Reading) -> tuple[OomScoreDifference, ...]:
        view, capacity = reading.view, reading.observation.memory_capacity
        if view is None or not capacity:
            return ()
        return oom_score_differences(
            reading.observation.pods,
            view,
            memory_capacity=capacity,
            cgroup_root=containers_root(self._roots.cgroup),
            proc_root=self._roots.proc,
        )

    def _memory_qos(self, reading: Reading) -> tuple[MemoryQoSDifference, ...]:
        view, capacity = reading.view, reading.observation.memory_capacity
        if self._settings.evictd.memory_qos is MemoryQoSMode.OFF or view is None or not capacity:
            return ()
        return memory_qos_differences(
            reading.observation.pods,
            view,
            self._settings.memory_qos_rules("" if self._cluster is None else self._cluster.kubelet_version()),
            memory_capacity=capacity,
            cgroup_root=containers_root(self._roots.cgroup),
        )
