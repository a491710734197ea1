"""How are the daemon's parts put together from the settings?

One function for each group of parts; nothing here runs for longer than it takes to open files and start threads, and
whatever was opened is given back by the exit stack, in reverse order, also when the assembly fails half-way.
"""

import fcntl
import os
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from random import SystemRandom
from threading import Event
from typing import Any

from evictd.act.collect import Collector
from evictd.act.collect_containers import ContainerCollector
from evictd.act.collect_images import ImageCollector
from evictd.act.image_records import records_to_plain
from evictd.act.log_files import PodLogs
from evictd.act.report import ConditionsFile
from evictd.act.terminate import Terminator
from evictd.act.volumes import remove_empty_dirs
from evictd.clients.cri import CriClient
from evictd.clients.cri.image_use import ImageUse
from evictd.config.file import parse_documents
from evictd.config.settings import MemoryFormula as ConfiguredFormula
from evictd.config.settings import OomScoreAdj, Settings
from evictd.core.duration import SECOND
from evictd.core.evict import policy_minimum_grace_seconds
from evictd.core.signal import Signal
from evictd.core.stats import FsStats
from evictd.daemon.cleanup import Cleanup, any_alive
from evictd.daemon.cluster_hands import ClusterHands, LastView
from evictd.daemon.hands import NodeHands, NodeParts
from evictd.daemon.journal_file import JournalFile
from evictd.daemon.look import NodeEyes
from evictd.daemon.oom_scores import OomScores
from evictd.daemon.record import Recorder
from evictd.daemon.remembered import Remembered
from evictd.daemon.state_file import StateFile
from evictd.daemon.teller import Teller
from evictd.daemon.watching import CheapMemory, Lookout, notifiers_v1, notifiers_v2
from evictd.daemon.writer import Writer
from evictd.errors import InputError, NodeError
from evictd.observe.cgroup import find_pods_cgroup
from evictd.observe.disk_usage_cache import DiskUsageCache
from evictd.observe.filesystem import FilesystemReader
from evictd.observe.findings import Problems
from evictd.observe.kept_notifier import KeptNotifier, Notifier
from evictd.observe.manifests import ManifestReader
from evictd.observe.memory import MemoryFormula
from evictd.observe.memory_notify_v1 import MemcgNotifier
from evictd.observe.memory_watch import MemoryWatch
from evictd.observe.node import NodeObserver, ObserveOptions
from evictd.observe.pace import BudgetedPace
from evictd.observe.pod_disk import PodDiskMeter
from evictd.observe.roots import Roots
from evictd.observe.runtime_view import RuntimeReader

Clock = Callable[[], int]

_WALK_AGE = 1 * SECOND
"""While a filesystem is not calm, pods are measured again when their numbers are older than this."""
_ENTRIES_PER_SECOND = 200_000
_LEGACY_LINKS = {Path("/var/log/pods"): Path("/var/log/containers")}
"""Where the kubelet keeps its symlinks to the logs of containers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine:
    """Where the node is on this machine; another than the defaults for tests, and for a container with host mounts."""

    proc: Path = Path("/proc")
    cgroup: Path = Path("/sys/fs/cgroup")
    node_cgroup: str = "/"
    """A cgroup with a memory limit that stands for the node."""


def lock_directory(directory: Path, stack: ExitStack) -> None:
    """Make the state directory and keep everybody else out of it; raises `NodeError`."""
    try:
        directory.mkdir(parents=True, exist_ok=True, mode=0o700)
        fd = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        stack.callback(os.close, fd)
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        raise NodeError(f"stateDirectory {directory}: another evictd is at work here") from error
    except OSError as error:
        raise NodeError(f"stateDirectory {directory}: {error.strerror}") from error


@dataclass(frozen=True, slots=True, kw_only=True)
class Site:
    """Where the daemon is put up: what was asked for, the machine, and what every part needs."""

    settings: Settings
    machine: Machine
    node_name: str
    clock: Clock
    wall: Clock
    teller: Teller
    stack: ExitStack


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """Eyes and hands on one node, and what keeps its records."""

    eyes: NodeEyes
    hands: NodeHands
    oom_scores: OomScores
    recorder: Recorder
    collector: Collector
    observer: NodeObserver


def build_node(site: Site, state_file: StateFile, remembered: Remembered, wake: Callable[[], None]) -> Node:
    """Build everything that looks at the node and acts on it."""
    settings, evicted = site.settings, set(remembered.evicted)
    observer = _observer(site)
    client = site.stack.enter_context(_client(settings.container_runtime_endpoint, settings))
    collector = _collector(site, client, remembered, wake)
    recorder = _recorder(site, state_file, lambda: _extras(collector, evicted, remembered.running_since))
    least = policy_minimum_grace_seconds(settings.eviction.policy)
    terminator = Terminator(
        client, clock=site.clock, minimum_grace_seconds=least, wake=wake, complain=site.teller.complain
    )
    cleanup = Cleanup(partial(remove_empty_dirs, settings.root_dir), site.teller.complain, wake)
    site.stack.callback(cleanup.close)
    conditions = ConditionsFile(
        settings.state_directory / "conditions.json", node=site.node_name, replace_file=recorder.replace_file
    )
    parts = NodeParts(
        terminator=site.stack.enter_context(terminator),
        collector=collector,
        cleanup=cleanup,
        conditions=conditions,
        tell_event=site.teller.event,
        any_alive=partial(any_alive, observer.cgroups),
        evicted=evicted,
    )
    hands = NodeHands(parts) if settings.cluster.standalone else _cluster_hands(site, parts, wake)
    oom_scores = OomScores(
        enforce=settings.oom_score_adj is OomScoreAdj.ENFORCE,
        cgroup=site.machine.cgroup,
        proc=site.machine.proc,
        tell=site.teller.oom_score,
    )
    eyes = NodeEyes(
        observer=observer,
        runtime=RuntimeReader(client),
        manifests=ManifestReader(settings.static_pod_path, load_yaml),
        evicted=lambda: evicted,
        bound_pods=hands.bound_pods,
        more_problems=lambda: (*hands.problems(), *oom_scores.problems()),
        node_name=site.node_name,
    )
    return Node(
        eyes=eyes, hands=hands, oom_scores=oom_scores, recorder=recorder, collector=collector, observer=observer
    )


def _cluster_hands(site: Site, parts: NodeParts, wake: Callable[[], None]) -> ClusterHands:
    """Build and start what speaks to the API server; in a dry run it only listens."""
    from evictd.act.cluster.report import Rhythm  # noqa: PLC0415 - these bring the API's client along
    from evictd.act.cluster.stopper import RuntimeStopper  # noqa: PLC0415
    from evictd.act.cluster.wiring import build  # noqa: PLC0415

    settings, last = site.settings, LastView()
    asked = replace(settings.cluster, evicted_pod_ttl=0) if settings.dry_run else settings.cluster
    cluster = build(
        asked,
        node_name=site.node_name,
        stopper=RuntimeStopper(parts.terminator, last.ids),
        clock=site.clock,
        wall=site.wall,
        random=SystemRandom().random,
        wake=wake,
        rhythm=Rhythm(update=settings.node_status_update_frequency, report=settings.node_status_report_frequency),
        complain=site.teller.complain,
    )
    site.stack.callback(cluster.close)
    cluster.start()
    return ClusterHands(parts, cluster, last)


def _client(endpoint: str, settings: Settings) -> CriClient:
    return CriClient(endpoint, timeout_seconds=max(1, settings.runtime_request_timeout // SECOND))


def _extras(collector: Collector, evicted: set[str], running_since: int) -> dict[str, Any]:
    return {
        "images": records_to_plain(collector.image_records),
        "evicted": sorted(evicted),
        "runningSince": running_since,
    }


def _recorder(site: Site, state_file: StateFile, extras: Callable[[], Mapping[str, Any]]) -> Recorder:
    settings = site.settings
    journal = JournalFile(
        settings.state_directory / "journal.jsonl",
        max_bytes=settings.journal.max_file_bytes,
        kept=settings.journal.max_files,
    )
    recorder = Recorder(
        Writer(site.teller.complain),
        state_file=state_file,
        journal=journal,
        logs_dir=settings.pod_logs_dir,
        extras=extras,
    )
    site.stack.callback(recorder.close)
    return recorder


def _collector(site: Site, client: CriClient, remembered: Remembered, wake: Callable[[], None]) -> Collector:
    settings, eviction = site.settings, site.settings.eviction
    images_client = client
    if settings.image_service_endpoint != settings.container_runtime_endpoint:
        images_client = site.stack.enter_context(_client(settings.image_service_endpoint, settings))
    use = ImageUse(settings.container_runtime_endpoint)
    site.stack.callback(use.close)
    logs = PodLogs(settings.pod_logs_dir, _LEGACY_LINKS.get(settings.pod_logs_dir))
    images = ImageCollector(
        client,
        use,
        eviction.image_gc,
        image_client=images_client,
        image_fs=_image_fs_reader(site, images_client),
        running_since=remembered.running_since,
        decision_policy=eviction.policy,
        records=remembered.images,
    )
    containers = ContainerCollector(client, eviction.container_gc, logs)
    collector = Collector(containers, images, eviction, wake=wake, complain=site.teller.complain)
    site.stack.callback(collector.close)
    return collector


def _image_fs_reader(site: Site, client: CriClient) -> Callable[[], FsStats | None]:
    """Give a reader of imagefs for the collectors' thread, which shares nothing with the loop's."""
    reader = FilesystemReader()
    site.stack.callback(reader.close)

    def read() -> FsStats | None:
        rows = client.image_fs_info().image_filesystems
        return reader.read(Path(rows[0].mountpoint), "imagefs", site.clock(), Problems()) if rows else None

    return read


def _observer(site: Site) -> NodeObserver:
    settings = site.settings
    roots = Roots(
        proc=site.machine.proc,
        cgroup=site.machine.cgroup,
        kubelet_dir=settings.root_dir,
        pod_logs_dir=settings.pod_logs_dir,
    )
    options = ObserveOptions(
        node_name=site.node_name,
        policy=settings.eviction.policy,
        formula=MemoryFormula(settings.memory_formula.value),
        cgroup_root=settings.cgroup_root,
        node_cgroup=site.machine.node_cgroup,
    )
    stopped = Event()
    pace = BudgetedPace(entries_per_second=_ENTRIES_PER_SECOND, clock=site.clock, stopped=stopped)
    walks = DiskUsageCache(
        PodDiskMeter(roots, site.clock, pace).measure,
        clock=site.clock,
        pace=pace,
        max_age=_WALK_AGE,
        complain=site.teller.complain,
    )
    observer = NodeObserver(roots, options, clock=site.clock, disk_usage=walks)
    site.stack.callback(observer.close)
    walks.start()
    site.stack.callback(walks.stop)
    site.stack.callback(stopped.set)
    return observer


def build_watching(site: Site, observer: NodeObserver) -> Lookout:
    """Build what ends the wait between two cycles when memory is crossed."""
    settings, machine, reader = site.settings, site.machine, observer.cgroups
    sources: dict[Signal, CheapMemory] = {}
    memcg: dict[Signal, KeptNotifier[MemcgNotifier]] = {}
    others: list[KeptNotifier[Notifier]] = []
    # Named anew each time: the first pod may come after the daemon.
    pods = partial(find_pods_cgroup, reader, settings.cgroup_root)
    cgroups: dict[Signal, Callable[[], str | None]] = {
        Signal.MEMORY_AVAILABLE: lambda: machine.node_cgroup,
        Signal.ALLOCATABLE_MEMORY_AVAILABLE: pods,
    }
    if settings.memory_watch or settings.kernel_memcg_notification:
        meminfo = machine.proc / "meminfo" if settings.memory_formula is ConfiguredFormula.MEM_AVAILABLE else None
        sources = {
            Signal.MEMORY_AVAILABLE: CheapMemory(reader, cgroups[Signal.MEMORY_AVAILABLE], meminfo=meminfo),
            Signal.ALLOCATABLE_MEMORY_AVAILABLE: CheapMemory(reader, pods),
        }
    if settings.kernel_memcg_notification and reader.version != "v2":
        memcg = notifiers_v1(machine.cgroup / "memory", cgroups, site.teller.complain)
    if settings.memory_watch:
        others = notifiers_v2(machine.proc, machine.cgroup, pods, site.teller.complain)
    watch = MemoryWatch(
        clock=site.clock,
        sources={signal: source.read for signal, source in sources.items()},
        memcg=memcg,
        others=others,
        longest=settings.housekeeping_interval,
    )
    site.stack.callback(watch.close)
    return Lookout(watch, sources)


def load_yaml(text: str) -> object:
    """Read one document of a manifest; raises `InputError`."""
    documents, problems = parse_documents(text, "manifest")
    if problems:
        raise InputError(tuple(map(str, problems)))
    return documents[0] if documents else None
