"""Builds the memory watch of a node, and sets what it watches after each cycle.

Watched are the memory limits that are not crossed yet: by cheap readings of one or two files, and by the kernel's notifications
where they exist. A notification that cannot be set up is reported once and tried again in each cycle; the cheap readings alone
suffice.
"""

from collections.abc import Callable, Collection, Iterable, Mapping
from pathlib import Path

from evictd.config.settings import MemoryFormula, Settings
from evictd.core.model.config import EvictionConfig, FastFill, Policy, available_by
from evictd.core.model.finding import Finding, ThresholdFinding
from evictd.core.model.observation import Observation, signal_observations
from evictd.core.model.signal import MEMORY_SIGNALS, Filesystem, Signal
from evictd.core.model.stats import MemoryStats
from evictd.errors import NodeError
from evictd.observe.cgroups.cgroup_reader import CgroupReader
from evictd.observe.cgroups.kernel_text import parse_tasks
from evictd.observe.cgroups.memory import parse_meminfo
from evictd.observe.cgroups.process import pids_left
from evictd.observe.reading.roots import Roots
from evictd.observe.threshold_watch.disk_watch import DiskWatch
from evictd.observe.threshold_watch.kernel_notifiers import FileWatch, MemcgNotifier, PressureTrigger
from evictd.observe.threshold_watch.memory_watch import MemoryWatch
from evictd.observe.threshold_watch.recent_fill import RecentFill
from evictd.observe.threshold_watch.renewing_notifier import KernelNotifier, RenewingNotifier
from evictd.worker import ErrorReporter

PODS = Signal.ALLOCATABLE_MEMORY_AVAILABLE
NODE = Signal.MEMORY_AVAILABLE
PIDS = Signal.PID_AVAILABLE
_WATCHED = MEMORY_SIGNALS | {PIDS}


def limits_to_watch(findings: Iterable[Finding]) -> dict[Signal, int]:
    """Return for memory and PIDs the highest limit of each signal that is not crossed yet, in available bytes or PIDs."""
    limits: dict[Signal, int] = {}
    for finding in findings:
        if isinstance(finding, ThresholdFinding) and finding.threshold.signal in _WATCHED and not finding.met:
            signal = finding.threshold.signal
            limits[signal] = max(limits.get(signal, 0), finding.limit.value())
    return limits


class WatchedCgroups:
    """Names the cgroup of each memory signal; `pods` gives that of all pods, which may appear after the daemon."""

    def __init__(self, reader: CgroupReader, pods: Callable[[], str | None], *, node: str = "/") -> None:
        self.reader = reader
        self._pods = pods
        self._node = node

    def name(self, signal: Signal) -> str | None:
        """Return the cgroup whose memory the signal measures; `None` while it does not exist."""
        return self._node if signal is NODE else self._pods()

    def finder(self, root: Path, signal: Signal, file: str = "") -> Callable[[], Path | None]:
        """Return a function that gives the path of the cgroup, or of a file of it, below a hierarchy."""

        def find() -> Path | None:
            name = self.name(signal)
            return None if name is None else root / name.strip("/") / file

        return find


class CheapMemory:
    """Reads one memory signal from one or two files; the capacity is the last cycle's, as it hardly ever changes.

    `formula` gives the formula of the last reading. `meminfo` is read where that needs the kernel's own estimate.
    """

    def __init__(
        self,
        cgroups: WatchedCgroups,
        signal: Signal,
        *,
        meminfo: Path | None = None,
        formula: Callable[[], MemoryFormula] = lambda: MemoryFormula.WORKING_SET,
    ) -> None:
        self.capacity: int | None = None
        self._cgroups = cgroups
        self._signal = signal
        self._meminfo = meminfo
        self._formula = formula

    def read(self) -> MemoryStats | None:
        """Return what is available now, `None` if it cannot be read."""
        cgroup = self._cgroups.name(self._signal)
        if self.capacity is None or cgroup is None:
            return None
        try:
            usage, working_set = self._cgroups.reader.memory_usage(cgroup)
            available = self._available(self.capacity - working_set)
        except (NodeError, OSError):
            return None  # the next cycle reports it
        # With another formula than the working set's, no usage of the cgroup says when a limit is crossed.
        known = working_set if self._formula() is MemoryFormula.WORKING_SET else None
        return MemoryStats(usage_bytes=usage, working_set_bytes=known, available_bytes=available)

    def _available(self, by_working_set: int) -> int | None:
        formula = self._formula()
        if self._meminfo is None or formula is MemoryFormula.WORKING_SET:
            return by_working_set
        estimate = parse_meminfo(self._meminfo.read_bytes()).get("MemAvailable")
        return available_by(formula, by_working_set, estimate)


class CheapPids:
    """Reads `pid.available` as the cycle does (`observe.cgroups.process`); the capacity is the last cycle's.

    The kubelet looks every 10 s; a fork bomb takes 30,000 PIDs in less.

    `left_for_pods` gives what `pids_left` gives.
    """

    def __init__(self, loadavg: Path, left_for_pods: Callable[[], int | None] = lambda: None) -> None:
        self.capacity: int | None = None
        self.with_pods = True
        """Whether the limit of all pods counts too; the kubelet, and policy Kubelet, look at the node's alone."""
        self._loadavg = loadavg
        self._left_for_pods = left_for_pods

    def read(self) -> MemoryStats | None:
        """Return the PIDs available now, as the watch wants every amount; `None` if they cannot be read."""
        if self.capacity is None:
            return None
        try:
            available = self.capacity - parse_tasks(self._loadavg.read_bytes(), str(self._loadavg))
        except (NodeError, OSError):
            return None  # the next cycle reports it
        left = self._left_for_pods() if self.with_pods else None
        return MemoryStats(available_bytes=available if left is None else min(available, left))


class ThresholdWatch:
    """The memory watch with its sources."""

    def __init__(
        self,
        memory: MemoryWatch,
        sources: Mapping[Signal, CheapMemory | CheapPids],
        clock: Callable[[], int] = lambda: 0,
    ) -> None:
        self.memory = memory
        self._clock = clock
        self._sources = sources

    def set_thresholds(self, observation: Observation, findings: Collection[Finding], config: EvictionConfig) -> None:
        """Watch the limits that this cycle found not crossed, with the policy and the leads of its configuration."""
        standard = config.policy is Policy.STANDARD
        if self.memory.disks is not None:
            lead = config.disk_lead is FastFill.AUTO
            self.memory.disks.set_thresholds(findings if standard else (), self._clock(), lead=lead)
        seen = {} if observation.node is None else signal_observations(observation.node)
        for signal, source in self._sources.items():
            source.capacity = seen[signal].capacity.value() if signal in seen else None
            if isinstance(source, CheapPids):
                source.with_pods = standard
        self.memory.set_thresholds(limits_to_watch(findings), lead=config.memory_lead is FastFill.AUTO)


def build_threshold_watch(
    settings: Settings,
    roots: Roots,
    reader: CgroupReader,
    clock: Callable[[], int],
    errors: ErrorReporter,
    *,
    pods: Callable[[], str | None],
    recent: RecentFill,
    disk_paths: Callable[[], Mapping[Filesystem, Path]],
    formula: Callable[[], MemoryFormula],
) -> ThresholdWatch:
    """Build the watch that the settings ask for; without any it only waits. Its `memory` is to be closed; it adds to `recent`.

    `pods` gives the cgroup of all pods as the last reading found it. `formula` gives that of `memory.available` at present,
    which a reload may change.
    """
    cgroups = WatchedCgroups(reader, pods, node=roots.node_cgroup)
    sources = cheap_sources(settings, roots, cgroups, formula)
    disks = None
    if settings.evictd.memory.watch:
        disks = DiskWatch(
            disk_paths,
            recent=recent,
            longest=settings.evictd.housekeeping_interval,
        )
    with_memcg = settings.kubelet.kernel_memcg_notification and reader.version != "v2"
    watch = MemoryWatch(
        clock=clock,
        sources={signal: source.read for signal, source in sources.items()},
        memcg=notifiers_v1(roots.cgroup / "memory", cgroups, errors) if with_memcg else {},
        others=notifiers_v2(roots, cgroups, errors) if settings.evictd.memory.watch else (),
        longest=settings.evictd.housekeeping_interval,
        recent=recent,
    )
    watch.disks = disks
    return ThresholdWatch(watch, sources, clock)


def cheap_sources(
    settings: Settings, roots: Roots, cgroups: WatchedCgroups, formula: Callable[[], MemoryFormula]
) -> dict[Signal, CheapMemory | CheapPids]:
    """Return the readings between two cycles that the settings ask for."""
    if not (settings.evictd.memory.watch or settings.kubelet.kernel_memcg_notification):
        return {}

    def left() -> int | None:
        return pids_left(cgroups.reader, cgroups.name(PODS))

    node = CheapMemory(cgroups, NODE, meminfo=roots.proc / "meminfo", formula=formula)
    pids = CheapPids(roots.proc / "loadavg", left)
    return {NODE: node, PODS: CheapMemory(cgroups, PODS), PIDS: pids}


def notifiers_v1(
    memory_root: Path, cgroups: WatchedCgroups, errors: ErrorReporter
) -> dict[Signal, RenewingNotifier[MemcgNotifier]]:
    """Return the notifiers of cgroup v1: a level of memory usage for each signal."""
    return {
        signal: RenewingNotifier(cgroups.finder(memory_root, signal), MemcgNotifier, errors) for signal in (NODE, PODS)
    }


def notifiers_v2(
    roots: Roots, cgroups: WatchedCgroups, errors: ErrorReporter
) -> list[RenewingNotifier[KernelNotifier]]:
    """Return the notifiers of cgroup v2: PSI of the node and of all pods, and the `memory.events` of all pods."""
    return [
        RenewingNotifier(lambda: roots.proc / "pressure/memory", PressureTrigger, errors),
        RenewingNotifier(cgroups.finder(roots.cgroup, PODS, "memory.pressure"), PressureTrigger, errors),
        RenewingNotifier(cgroups.finder(roots.cgroup, PODS, "memory.events"), FileWatch, errors),
    ]
