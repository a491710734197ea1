"""What is watched between two cycles, and how?

Builds the memory watch for this node: which limits are still above water, the cheap readings, and what the kernel
offers to notify us. What cannot be had is told once and done without; the cheap readings alone keep the promise.
"""

from collections.abc import Callable, Iterable
from pathlib import Path

from evictd.core.decision import Finding, ThresholdFinding
from evictd.core.observation import Observation, signal_observations
from evictd.core.signal import MEMORY_SIGNALS, Signal
from evictd.core.stats import MemoryStats
from evictd.errors import NodeError
from evictd.observe.cgroup import CgroupReader
from evictd.observe.inotify import FileWatch
from evictd.observe.memory import parse_meminfo
from evictd.observe.memory_notify_v1 import MemcgNotifier
from evictd.observe.memory_watch import MemoryWatch, Notifier
from evictd.observe.psi_trigger import PressureTrigger


def limits_to_watch(findings: Iterable[Finding]) -> dict[Signal, int]:
    """Pick for each memory signal the highest limit that is not crossed yet, in bytes of what is available."""
    limits: dict[Signal, int] = {}
    for finding in findings:
        if isinstance(finding, ThresholdFinding) and finding.threshold.signal in MEMORY_SIGNALS and not finding.met:
            signal = finding.threshold.signal
            limits[signal] = max(limits.get(signal, 0), finding.limit.value())
    return limits


class CheapMemory:
    """Reads one memory signal from a file or two; the capacity is the last cycle's, which hardly ever changes.

    `cgroup` is asked each time, as the cgroup of all pods may not be there yet. With `meminfo` what is available is the
    kernel's own estimate (`memory.formula: MemAvailable`).
    """

    def __init__(self, reader: CgroupReader, cgroup: Callable[[], str | None], *, meminfo: Path | None = None) -> None:
        self.capacity: int | None = None
        self._reader = reader
        self._cgroup = cgroup
        self._meminfo = meminfo

    def read(self) -> MemoryStats | None:
        """Give what is available now, `None` where it cannot be told."""
        cgroup = self._cgroup()
        if self.capacity is None or cgroup is None:
            return None
        try:
            usage, working_set = self._reader.working_set(cgroup)
            available = self.capacity - working_set if self._meminfo is None else self._mem_available(self._meminfo)
        except (NodeError, OSError):
            return None  # the next cycle tells
        return MemoryStats(usage_bytes=usage, working_set_bytes=working_set, available_bytes=available)

    @staticmethod
    def _mem_available(meminfo: Path) -> int | None:
        return parse_meminfo(meminfo.read_bytes()).get("MemAvailable")


class Lookout:
    """The watch, aimed anew after every cycle."""

    def __init__(self, watch: MemoryWatch, sources: dict[Signal, CheapMemory]) -> None:
        self.watch = watch
        self._sources = sources

    def aim(self, observation: Observation, findings: Iterable[Finding]) -> None:
        """Watch for what this cycle has left to be crossed."""
        seen = {} if observation.node is None else signal_observations(observation.node)
        for signal, source in self._sources.items():
            source.capacity = seen[signal].capacity.value() if signal in seen else None
        self.watch.aim(limits_to_watch(findings))


def notifiers_v1(
    memory_root: Path, cgroups: dict[Signal, str], complain: Callable[[str, str], None]
) -> dict[Signal, MemcgNotifier]:
    """Open what cgroup v1 offers for these cgroups."""
    found = {}
    for signal, cgroup in cgroups.items():
        try:
            found[signal] = MemcgNotifier(memory_root / cgroup.strip("/"))
        except NodeError as error:
            complain("memory notification", str(error))
    return found


def notifiers_v2(proc: Path, cgroup: Path, pods: str | None, complain: Callable[[str, str], None]) -> list[Notifier]:
    """Open PSI triggers and watches on `memory.events`: for the node, and for the cgroup of all pods; where they are."""
    openers: list[tuple[Path, Callable[[Path], Notifier]]] = [(proc / "pressure/memory", PressureTrigger)]
    if pods is not None:
        folder = cgroup / pods.strip("/")
        openers += [(folder / "memory.pressure", PressureTrigger), (folder / "memory.events", FileWatch)]
    found = []
    for path, opener in openers:
        if not path.exists():
            continue
        try:
            found.append(opener(path))
        except NodeError as error:
            complain("memory notification", str(error))
    return found
