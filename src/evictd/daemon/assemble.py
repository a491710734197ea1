"""Builds the daemon's parts from the settings.

Each part is built when it is first used, from the parts that it needs. Building opens files and starts threads and waits for
nothing else; what is opened is closed by the exit stack, in reverse order, also if the assembly fails half-way.
"""

from collections.abc import Callable
from contextlib import ExitStack
from functools import cached_property
from pathlib import Path
from random import SystemRandom
from threading import Event
from typing import TYPE_CHECKING

from evictd.act.actuator import NodeActuator
from evictd.act.cluster.actuator import ClusterActuator
from evictd.act.conditions_file import ConditionsFile
from evictd.act.gc.collector import Collector
from evictd.act.gc.containers import ContainerCollector, remove_dead_containers
from evictd.act.gc.images import ImageCollector
from evictd.act.gc.page_cache import PageCacheReclaimer
from evictd.act.logs import PodLogs
from evictd.act.node_actuation import NodeActuation, OomScoreWriter
from evictd.act.standalone import StandaloneActuator
from evictd.act.stop.cleanup import Cleanup
from evictd.act.stop.freezer import PodFreezer
from evictd.act.stop.pod_directories import PodDirectories
from evictd.act.stop.stopper import PodStopper
from evictd.act.stop.victim_cgroups import VictimCgroups
from evictd.act.trees import Budget, UnfinishedError
from evictd.act.volumes import remove_empty_dirs
from evictd.clients.cri.client import CriClient
from evictd.clock import boot_clock, wall_clock
from evictd.config.file import load_yaml
from evictd.config.settings import MemoryQoSMode, OomScoreAdj, Settings
from evictd.core.eviction.choice.evict import policy_minimum_grace_seconds
from evictd.core.model.config import Policy
from evictd.core.model.oom import MemoryQoSRules
from evictd.core.model.stats import FsStats
from evictd.core.units.duration import SECOND
from evictd.daemon.effects import Effects
from evictd.daemon.hooks import Hooks
from evictd.daemon.host.liveness import Liveness
from evictd.daemon.host.signals import WakeUp
from evictd.daemon.node import Node
from evictd.daemon.oom_scores import OomScores
from evictd.daemon.store.checkpoint import Checkpoint, CheckpointSource, load_checkpoint
from evictd.daemon.store.journal import JournalFile
from evictd.daemon.store.known_pods import KnownPods
from evictd.daemon.store.own_file import read_own
from evictd.daemon.store.recorder import Cycle, Recorder
from evictd.daemon.store.state_file import StateFile, boot_id
from evictd.daemon.telemetry.telemetry import Telemetry
from evictd.observe.cgroups.cgroup import find_hierarchy
from evictd.observe.cgroups.file_descriptor_cache import FileDescriptorCache
from evictd.observe.disk_usage.cache import DiskUsageCache
from evictd.observe.disk_usage.pod_meter import PodDiskMeter
from evictd.observe.disk_usage.rate_limiter import BudgetedRateLimiter
from evictd.observe.filesystems.filesystem import FilesystemReader
from evictd.observe.pods.active_pods import StandalonePods
from evictd.observe.pods.manifests import ManifestReader
from evictd.observe.reading.node_stats import NodeStatsReader, observe_options
from evictd.observe.reading.observer import NodeObserver
from evictd.observe.reading.problems import Problems
from evictd.observe.reading.roots import Roots, own_node
from evictd.observe.runtime.runtime_view import RuntimeReader
from evictd.observe.threshold_watch.watch import ThresholdWatch, build_threshold_watch
from evictd.worker import JobQueue

if TYPE_CHECKING:  # importing it loads the API's client
    from evictd.act.cluster.wiring import Cluster

_ENTRIES_PER_SECOND = 200_000
_LEGACY_LINKS = {Path("/var/log/pods"): Path("/var/log/containers")}
"""Directory of the kubelet's symlinks to the logs of containers."""


class Assembly:
    """The parts of one daemon. Reads the state file of the previous run at once."""

    def __init__(
        self, settings: Settings, roots: Roots, telemetry: Telemetry, stack: ExitStack, liveness: Liveness
    ) -> None:
        self._settings = settings
        self._roots = roots
        self._telemetry = telemetry
        self._stack = stack
        self._liveness = liveness
        self._node_name = own_node(settings.evictd.cluster)
        self._state_file = StateFile(settings.evictd.state_directory / "state.json", boot_id())
        self.checkpoint: Checkpoint = load_checkpoint(self._state_file, telemetry, boot_clock())
        self._evicted = set(self.checkpoint.evicted)
        self.wake = stack.enter_context(WakeUp())

    # --- what the loop uses -----------------------------------------------------------------------------------------

    @cached_property
    def node(self) -> Node:
        """The node: its observer and its effects."""
        settings, roots = self._settings, self._roots
        stats = self._stats
        runtime = RuntimeReader(self._client, pods=stats, alive=self._liveness)
        live = Effects(
            actuator=self._standalone()
            if settings.evictd.cluster.standalone
            else ClusterActuator(self._actuation, self._cluster),
            oom_scores=OomScoreWriter(self._telemetry, cgroup=roots.cgroup, proc=roots.proc),
            checkpoints=self.recorder,
            reactions=self._telemetry,
            hooks=self._hooks(),
        )
        observer = NodeObserver(
            stats,
            runtime,
            ManifestReader(settings.kubelet.static_pods, load_yaml),
            StandalonePods() if settings.evictd.cluster.standalone else self._cluster.pods,
            evicted=self._evicted,
        )
        enforce = settings.evictd.oom_score_adj is OomScoreAdj.ENFORCE
        memory_qos = self._memory_qos if settings.evictd.memory_qos is MemoryQoSMode.ENFORCE else None
        oom_scores = OomScores(enforce=enforce, cgroup=roots.cgroup, proc=roots.proc, memory_qos=memory_qos)
        node = Node(observer, live, log=self._telemetry, collector=self._collector, oom_scores=oom_scores)
        node.configure(settings)
        return node

    def _memory_qos(self) -> MemoryQoSRules:
        settings = self._settings
        return settings.memory_qos_rules(
            "" if settings.evictd.cluster.standalone else self._cluster.reporter.kubelet_version
        )

    def _hooks(self) -> Callable[[Cycle], None] | None:
        """Return the function that starts the commands around evictions; `None` if none is configured."""
        settings = self._settings.evictd.hooks
        if not settings.before and not settings.after:
            return None
        hooks = Hooks(settings, self._telemetry)
        self._stack.callback(hooks.close)
        return hooks.run

    @cached_property
    def recorder(self) -> Recorder:
        """The writer of the journal and the state file."""
        settings, checkpoint, collector = self._settings, self.checkpoint, self._collector
        journal = JournalFile(
            settings.evictd.state_directory / "journal.jsonl",
            max_bytes=settings.evictd.journal.max_file_size,
            kept=settings.evictd.journal.max_files,
        )
        recorder = Recorder(
            self._jobs,
            state_file=self._state_file,
            journal=journal,
            logs_dir=settings.kubelet.logs_dir if settings.evictd.journal.log_tails else None,
            memory=CheckpointSource(
                images=lambda: collector.image_records, evicted=self._evicted, running_since=checkpoint.running_since
            ),
        )
        self._stack.callback(recorder.close)
        return recorder

    @cached_property
    def _jobs(self) -> JobQueue:
        """The queue of the writing thread; the recorder closes it."""
        return JobQueue(self._telemetry)

    @cached_property
    def _known_pods(self) -> KnownPods:
        return KnownPods(self._settings.evictd.state_directory, self._jobs, self._telemetry)

    @cached_property
    def watch(self) -> ThresholdWatch:
        """The watch that ends the wait between two cycles when a threshold is crossed."""
        watch = build_threshold_watch(
            self._settings,
            self._roots,
            self._stats.cgroups,
            boot_clock,
            self._telemetry,
            pods=lambda: self._stats.kubepods.path,
            recent=self._stats.recent_fill,
            disk_paths=lambda: self._stats.disk_paths,
            formula=lambda: self._stats.memory_formula,
        )
        self._stack.callback(watch.memory.close)
        return watch

    # --- reading ----------------------------------------------------------------------------------------------------

    @cached_property
    def _stats(self) -> NodeStatsReader:
        disk_usage, stopped = self._disk_usage()
        stats = NodeStatsReader(
            self._roots,
            observe_options(self._settings, self._node_name),
            clock=boot_clock,
            disk_usage=disk_usage,
            stop_time=self._longest_stop,
            collect_time=lambda: self._collector.longest_collection,  # which is built after the reader
        )
        self._stack.callback(stats.close)
        disk_usage.start()
        self._stack.callback(disk_usage.stop)
        self._stack.callback(stopped.set)
        return stats

    def _longest_stop(self) -> int | None:
        return self._stopper.stop_times.longest()  # which is built after the reader

    def _disk_usage(self) -> tuple[DiskUsageCache, Event]:
        """Build the cache and the event that ends a measurement under way."""
        stopped = Event()
        limiter = BudgetedRateLimiter(entries_per_second=_ENTRIES_PER_SECOND, clock=boot_clock, stopped=stopped)
        cache = DiskUsageCache(
            PodDiskMeter(self._roots, boot_clock, limiter).begin,
            clock=boot_clock,
            limiter=limiter,
            wake=self.wake.wake,
            errors=self._telemetry,
        )
        return cache, stopped

    @cached_property
    def _client(self) -> CriClient:
        return self._connect(self._settings.kubelet.container_runtime_endpoint)

    def _connect(self, endpoint: str) -> CriClient:
        seconds = max(1, self._settings.kubelet.runtime_request_timeout // SECOND)
        return self._stack.enter_context(CriClient(endpoint, timeout_seconds=seconds))

    # --- acting -----------------------------------------------------------------------------------------------------

    @cached_property
    def _actuation(self) -> NodeActuation:
        page_cache = PageCacheReclaimer(
            lambda: self._stats.kubepods.folder, proc=self._roots.proc, clock=boot_clock, wake=self.wake.wake
        )
        self._stack.callback(page_cache.close)
        return NodeActuation(
            stopper=self._stopper,
            collector=self._collector,
            cleanup=self._cleanup,
            log=self._telemetry,
            page_cache=page_cache,
        )

    @cached_property
    def _cleanup(self) -> Cleanup:
        cleanup = Cleanup(self._remove_leftovers, self._telemetry, self.wake.wake)
        self._stack.callback(cleanup.close)
        return cleanup

    def _remove_leftovers(self, uid: str) -> None:
        """Remove a part of the volumes of a stopped pod (`UnfinishedError`), with the last part in a cluster its containers.

        A kubelet that returns shows what it finds of them in the place of the status that evictd wrote, and drops the reason
        where all of them ended with exit code 0.
        """
        finished = True
        try:
            remove_empty_dirs(self._settings.evictd.root_dir, uid, Budget())
        except UnfinishedError:
            finished = False
            raise
        finally:
            if finished and not self._settings.evictd.cluster.standalone:
                remove_dead_containers(self._client, uid)

    def _standalone(self) -> NodeActuator:
        conditions = ConditionsFile(
            self._settings.evictd.state_directory / "conditions.json",
            node=self._node_name,
            replace_file=self.recorder.replace_file,
            read_file=read_own,
        )
        return StandaloneActuator(self._actuation, conditions=conditions, evicted=self._evicted)

    def _victim_cgroups(self) -> VictimCgroups:
        """Build what kills and freezes pods without the runtime."""
        directories = PodDirectories(self._roots.cgroup, lambda: self._stats.kubepods.path)
        # Under policy Kubelet only the runtime stops pods.
        killed_in = (lambda _: ()) if self._settings.eviction.policy is Policy.KUBELET else directories.of
        # In a cluster volumes may be the kubelet's.
        emptied = self._cleanup.begin if self._settings.evictd.cluster.standalone else lambda _: None
        # Not the observer's: in a cluster another thread begins stops, and a cache of descriptors is one thread's.
        reader = find_hierarchy(self._roots.cgroup, FileDescriptorCache(0))
        cgroups = VictimCgroups(killed_in, self._telemetry, emptied, directories.freezer_of, reader=reader)
        # A run that was killed may have left pods frozen, whatever its policy was.
        PodFreezer(directories.freezers_of, self._telemetry).thaw_each(self._stats.pod_uids())
        return cgroups

    @cached_property
    def _stopper(self) -> PodStopper:
        least = policy_minimum_grace_seconds(self._settings.eviction.policy)
        stopper = PodStopper(
            self._client,
            clock=boot_clock,
            minimum_grace_seconds=least,
            cgroups=self._victim_cgroups(),
            wake=self.wake.wake,
            errors=self._telemetry,
        )
        return self._stack.enter_context(stopper)

    @cached_property
    def _cluster(self) -> "Cluster":
        """Build and start what speaks to the API server; in a dry run it only reads."""
        from evictd.act.cluster.events import EventRate  # noqa: PLC0415
        from evictd.act.cluster.node_report import Rhythm  # noqa: PLC0415 - these bring the API's client along
        from evictd.act.cluster.request_queue import Clocks  # noqa: PLC0415
        from evictd.act.cluster.wiring import build  # noqa: PLC0415

        settings = self._settings
        cluster = build(
            settings.evictd.cluster,
            node_name=self._node_name,
            stopper=self._stopper,
            clocks=Clocks(now=boot_clock, wall=wall_clock, random=SystemRandom().random),
            wake=self.wake.pods_changed,
            rate=EventRate(qps=settings.kubelet.event_record_qps, burst=settings.kubelet.event_burst),
            rhythm=Rhythm(
                update=settings.kubelet.node_status_update_frequency, report=settings.node_status_report_frequency
            ),
            remembered=self._known_pods,
            errors=self._telemetry,
        )
        self._stack.callback(cluster.close)
        cluster.start()
        return cluster

    # --- garbage collection -----------------------------------------------------------------------------------------

    @cached_property
    def _collector(self) -> Collector:
        settings, eviction = self._settings, self._settings.eviction
        logs = PodLogs(settings.kubelet.logs_dir, _LEGACY_LINKS.get(settings.kubelet.logs_dir))
        containers = ContainerCollector(self._client, eviction.container_gc, logs)
        collector = Collector(
            containers,
            self._image_collector(),
            eviction,
            clock=boot_clock,
            wake=self.wake.wake,
            errors=self._telemetry,
        )
        self._stack.callback(collector.close)
        return collector

    def _image_collector(self) -> ImageCollector:
        settings, eviction, checkpoint = self._settings, self._settings.eviction, self.checkpoint
        same = settings.kubelet.image_endpoint == settings.kubelet.container_runtime_endpoint
        image_client = self._client if same else self._connect(settings.kubelet.image_endpoint)
        image_fs = ImageFs(image_client)
        self._stack.callback(image_fs.close)
        return ImageCollector(
            self._client,
            eviction.image_gc,
            image_client=image_client,
            image_fs=image_fs.read,
            running_since=checkpoint.running_since,
            decision_policy=eviction.policy,
            records=checkpoint.images,
        )


class ImageFs:
    """Reads the filesystem of the images on the collectors' thread; shares nothing with the loop's readers."""

    def __init__(self, client: CriClient) -> None:
        self._client = client
        self._reader = FilesystemReader()

    def read(self) -> FsStats | None:
        """Return its statistics, `None` if the runtime reports none."""
        rows = self._client.image_fs_info().image_filesystems
        return self._reader.read(Path(rows[0].mountpoint), "imagefs", boot_clock(), Problems()) if rows else None

    def close(self) -> None:
        """End the reader's thread."""
        self._reader.close()
