"""What is watched between two cycles, and how?

Builds the memory watch for this node: which limits are still above water, the cheap readings, and what the kernel
offers to notify us. What cannot be had is told once and done without until the next cycle tries again; the cheap readings
alone keep the promise.
"""

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from pathlib import Path

from evictd.core.decision import Finding, ThresholdFinding
from evictd.core.observation import Observation, signal_observations
from evictd.core.signal import MEMORY_SIGNALS, Signal
from evictd.core.stats import MemoryStats
from evictd.errors import NodeError
from evictd.observe.cgroup import CgroupReader
from evictd.observe.inotify import FileWatch
from evictd.observe.kept_notifier import KeptNotifier, Notifier
from evictd.observe.memory import parse_meminfo
from evictd.observe.memory_notify_v1 import MemcgNotifier
from evictd.observe.memory_watch import MemoryWatch
from evictd.observe.psi_trigger import PressureTrigger

_SOURCE = "memory notification"


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
    memory_root: Path, cgroups: Mapping[Signal, Callable[[], str | None]], complain: Callable[[str, str], None]
) -> dict[Signal, KeptNotifier[MemcgNotifier]]:
    """Follow these cgroups with what cgroup v1 offers; each is named anew every time, as it may not be there yet."""
    tell = partial(complain, _SOURCE)
    return {signal: KeptNotifier(_below(memory_root, name), MemcgNotifier, tell) for signal, name in cgroups.items()}


def notifiers_v2(
    proc: Path, cgroup: Path, pods: Callable[[], str | None], complain: Callable[[str, str], None]
) -> list[KeptNotifier[Notifier]]:
    """Follow PSI and `memory.events`: of the node, and of the cgroup of all pods; where and when they are there."""
    tell = partial(complain, _SOURCE)
    return [
        KeptNotifier(lambda: proc / "pressure/memory", PressureTrigger, tell),
        KeptNotifier(_below(cgroup, pods, "memory.pressure"), PressureTrigger, tell),
        KeptNotifier(_below(cgroup, pods, "memory.events"), FileWatch, tell),
    ]


def _below(root: Path, cgroup: Callable[[], str | None], file: str = "") -> Callable[[], Path | None]:
    """Give a finder of a cgroup, or of a file of it, that names it anew each time."""

    def find() -> Path | None:
        name = cgroup()
        return None if name is None else root / name.strip("/") / file

    return find
