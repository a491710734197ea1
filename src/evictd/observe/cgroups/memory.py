"""Reads the node's memory, that of the cgroup of all pods, and the gauges beside them.

`memory.available` is capacity minus working set, as the kubelet computes it (docs/kubelet.md). With the formula `MemAvailable`
it is the kernel's estimate of that name in /proc/meminfo, which counts active page cache as reclaimable
(kubernetes/kubernetes#43916), and the kernel's own memory and its reserves as used; `Lowest` is the lower of the two, and `Auto`
as well, with the difference for soft thresholds. The gauges hold both, and the pressure that no threshold
refers to.
"""

import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from evictd.core.frozen import frozen
from evictd.core.model.config import MemoryFormula, available_by, unallocatable_by
from evictd.core.model.signal import StalledResource
from evictd.core.model.stats import MemoryStats, NodeGauges, NodeStats, PressureStall, PSIStats, SwapStats
from evictd.errors import NodeError
from evictd.observe.cgroups.cgroup import NO_LIMIT
from evictd.observe.cgroups.cgroup_reader import CgroupReader
from evictd.observe.cgroups.file_descriptor_cache import FileDescriptorCache, VanishedError
from evictd.observe.cgroups.kernel_text import CgroupMemory, parse_number, parse_pressure, possible, unallocatable_bytes
from evictd.observe.reading.problems import Problems
from evictd.observe.reading.roots import Roots

_KIBI = 1024
_ARC_STATISTICS = "spl/kstat/zfs/arcstats"
_MEMINFO_UNITLESS = {"HugePages_Total", "HugePages_Free", "HugePages_Rsvd", "HugePages_Surp"}


def parse_meminfo(text: bytes) -> dict[str, int]:
    """Parse /proc/meminfo into bytes (and counts of huge pages) by name; malformed lines are left out."""
    found = {}
    for line in text.splitlines(keepends=True):
        name, _, value = line.decode("ascii", "replace").partition(":")
        number, *unit = value.split() or [""]
        kibi = unit == ["kB"]
        if not line.endswith(b"\n") or not (kibi or (not unit and name in _MEMINFO_UNITLESS)):
            continue
        with suppress(NodeError):
            found[name] = parse_number(number.encode(), name) * (_KIBI if kibi else 1)
    return found


@frozen
class NodeReading:
    """The node's memory as read, in bytes; `None` where it could not be read."""

    meminfo: Mapping[str, int]
    capacity: int | None
    usage: int | None
    working_set: int | None
    clean_file: int | None = None
    """Clean active file pages, a part of the working set."""
    of_root: bool = True
    """Whether it is the whole machine's, and not that of a cgroup with a limit."""


def documented_only(roots: Roots) -> bool:
    """Whether the formula `Auto` is the documented one on this node, because the kernel's estimate does not apply.

    The usage of a cgroup with a limit has the kernel's memory in it. The kernel's estimate counts the cache of ZFS as used,
    although it is freed under pressure: pods would be evicted for it (openzfs/zfs#10255).
    """
    return bool(roots.node_cgroup.strip("/")) or (roots.proc / _ARC_STATISTICS).exists()


class NodeMemoryReader:
    """Reads the memory of the node and of the cgroup of all pods; a failed read becomes a problem, not an exception."""

    def __init__(
        self, roots: Roots, cgroups: CgroupReader, files: FileDescriptorCache, *, formula: MemoryFormula
    ) -> None:
        self._proc = str(roots.proc)
        self._cgroups = cgroups
        self._files = files
        self.formula = formula
        """The configured formula; `formula_here` is the one in use."""
        self._documented_only = documented_only(roots)
        self._zoneinfo: str | None = None
        self._total: int | None = None
        self.most: int | None = None
        """Bytes of the machine's memory and swap, which nothing can exceed; `None` where they were not read yet."""

    def use(self, formula: MemoryFormula | None) -> bool:
        """Read by this formula from now on, unless it is `None`; return whether it is another one than before."""
        changed = formula is not None and formula is not self.formula
        self.formula = formula or self.formula
        return changed

    @property
    def formula_here(self) -> MemoryFormula:
        """The formula that is used on this node: `Auto` is the documented one where the kernel's estimate does not apply."""
        if self.formula is MemoryFormula.AUTO and self._documented_only:
            return MemoryFormula.WORKING_SET
        return self.formula

    def node(self, cgroup: str, problems: Problems) -> NodeReading:
        """Read the node's memory. `cgroup` is the root, or a cgroup whose memory limit is then the capacity (tests, `demo`)."""
        meminfo = self._meminfo(problems)
        capacity = meminfo.get("MemTotal")
        self._total = capacity or self._total
        self.most = self.most if capacity is None else capacity + meminfo.get("SwapTotal", 0)
        if (free := meminfo.get("SwapFree", 0)) > (swap := meminfo.get("SwapTotal", 0)):
            problems.add("memory of the node", f"SwapFree: {free} cannot be true, SwapTotal is {swap}")
            meminfo = {name: amount for name, amount in meminfo.items() if name != "SwapFree"}
        usage = working_set = clean_file = None
        try:
            usage, working_set, clean_file = self._possible(cgroup)
            if capacity is not None and cgroup.strip("/"):
                capacity = min(capacity, self._cgroups.limit(cgroup) or capacity)
        except NodeError as error:
            problems.add("memory of the node", error)
        if capacity is None:
            problems.add("memory of the node", "no MemTotal in meminfo")
        return NodeReading(
            meminfo=meminfo,
            capacity=capacity,
            usage=usage,
            working_set=working_set,
            clean_file=clean_file,
            of_root=not cgroup.strip("/"),
        )

    def total(self) -> int | None:
        """Return the machine's memory (MemTotal) in bytes, as last read; `None` where it cannot be read."""
        if self._total is None:
            self._total = self._meminfo(Problems()).get("MemTotal")
        return self._total

    def stats(self, reading: NodeReading, now: int, problems: Problems) -> MemoryStats | None:
        """Compute the stats of `memory.available` by the configured formula; `None` where a part is missing."""
        capacity, formula = reading.capacity, self.formula_here
        if capacity is None:
            return None
        kernels, total = reading.meminfo.get("MemAvailable"), reading.meminfo.get("MemTotal", capacity)
        if formula is not MemoryFormula.WORKING_SET and (kernels is None or kernels > total):
            detail = "no MemAvailable" if kernels is None else f"MemAvailable: {kernels} cannot be true"
            problems.add("memory of the node", f"{detail} in meminfo")
            kernels = None
        documented = None if reading.working_set is None else capacity - reading.working_set
        available = available_by(formula, documented, kernels)
        if available is None:
            return None
        return MemoryStats(
            time=now,
            available_bytes=available,
            usage_bytes=reading.usage,
            # The remainder, so that available plus working set is the capacity, as the core expects.
            working_set_bytes=capacity - available,
            clean_file_bytes=reading.clean_file,
            mem_available_bytes=_kernels_estimate(reading),
            unallocatable_bytes=unallocatable_by(formula, documented, available),
            stalled=self._stalled() if reading.clean_file else None,
        )

    def _stalled(self) -> int | None:
        """Return hundredths of a percent of the last 10 s in which a task of the machine stalled for memory."""
        line = self._pressure(StalledResource.MEMORY, None, Problems()).get("some")
        return None if line is None else round(line.avg10 * 100)

    def swap(self, reading: NodeReading, now: int) -> SwapStats | None:
        """Return the node's swap; `None` where it has none, or where it could not be read."""
        total, free = reading.meminfo.get("SwapTotal"), reading.meminfo.get("SwapFree")
        if not total or free is None:
            return None
        return SwapStats(time=now, available_bytes=free, usage_bytes=total - free)

    def pods(self, cgroup: str, now: int, problems: Problems) -> MemoryStats | None:
        """Read the memory of the cgroup of all pods; `available_bytes` only if it has a limit."""
        try:
            usage, working_set, clean_file = self._possible(cgroup)
            limit = self._cgroups.limit(cgroup)
        except NodeError as error:
            problems.add("memory of the pods cgroup", error)
            return None
        available = None if limit is None or limit > NO_LIMIT else limit - working_set
        return MemoryStats(
            time=now,
            available_bytes=available,
            usage_bytes=usage,
            working_set_bytes=working_set,
            clean_file_bytes=clean_file,
        )

    def _possible(self, cgroup: str) -> CgroupMemory:
        """Read the memory of a cgroup; raises `NodeError` also where the machine does not have as much."""
        found = self._cgroups.memory(cgroup)
        possible(found.usage, self.most, f"memory of {cgroup}")
        return found

    def stalls(self, resource: StalledResource, cgroup: str | None, problems: Problems) -> PSIStats | None:
        """Read how long tasks stalled: those of a cgroup, or of the node for `None`; `None` without PSI."""
        lines = self._pressure(resource, cgroup, problems)
        return PSIStats(lines.get("full"), lines.get("some")) if lines else None

    def gauges(self, reading: NodeReading, pods: str | None, problems: Problems) -> NodeGauges:
        """Collect the values that are published in metrics and status but belong to no signal."""
        meminfo, capacity, working_set = reading.meminfo, reading.capacity, reading.working_set
        pressure = self._pressure(StalledResource.MEMORY, None, problems)
        pods_pressure = {} if pods is None else self._pressure(StalledResource.MEMORY, pods, problems)
        return NodeGauges(
            capacity_bytes=capacity,
            mem_available_bytes=meminfo.get("MemAvailable"),
            working_set_available_bytes=None if capacity is None or working_set is None else capacity - working_set,
            unallocatable_bytes=self._unallocatable(reading),
            pressure_some=pressure.get("some"),
            pressure_full=pressure.get("full"),
            pods_pressure_some=pods_pressure.get("some"),
            pods_pressure_full=pods_pressure.get("full"),
        )

    def _unallocatable(self, reading: NodeReading) -> int | None:
        """Return the bytes that the documented formula counts although no process can allocate them, if a threshold uses it.

        Only for the machine's root: the usage of a cgroup with a limit has the kernel's memory in it.
        """
        if self.formula_here not in {MemoryFormula.WORKING_SET, MemoryFormula.AUTO} or not reading.of_root:
            return None
        if self._zoneinfo is None:
            # Its watermarks hardly ever change, and it is a long file: once per run is enough.
            self._zoneinfo = self._text(f"{self._proc}/zoneinfo")
        return unallocatable_bytes(reading.meminfo, self._zoneinfo, os.sysconf("SC_PAGE_SIZE"))

    @staticmethod
    def _text(path: str) -> str:
        try:
            return Path(path).read_text(encoding="ascii", errors="replace")
        except OSError:
            return ""  # then it stays unknown

    def _meminfo(self, problems: Problems) -> Mapping[str, int]:
        try:
            return parse_meminfo(self._files.read(f"{self._proc}/meminfo"))
        except NodeError as error:
            problems.add("memory of the node", error)
            return {}

    def _pressure(self, resource: StalledResource, cgroup: str | None, problems: Problems) -> dict[str, PressureStall]:
        """Read the PSI of a cgroup, or of the node for `None`."""
        path = f"{self._proc}/pressure/{resource.value}"
        try:
            if cgroup is not None:
                return self._cgroups.pressure(cgroup, resource)
            return parse_pressure(self._files.read(path), path)
        except VanishedError:
            return {}  # a kernel without PSI is not an error
        except NodeError as error:
            problems.add(f"{resource.value} pressure of the {'node' if cgroup is None else 'pods'}", error)
            return {}


def left_out(node: NodeStats) -> int:
    """Return the bytes that the formula leaves out of the documented reading, which hardly change within milliseconds."""
    documented = None if node.gauges is None else node.gauges.working_set_available_bytes
    available = None if node.memory is None else node.memory.available_bytes
    return 0 if documented is None or available is None else documented - available


def _kernels_estimate(reading: NodeReading) -> int | None:
    """Return `MemAvailable`; of a cgroup with a limit no more than is left below that when its clean file pages are dropped."""
    estimate = reading.meminfo.get("MemAvailable")
    if estimate is None or reading.of_root:
        return estimate
    if reading.capacity is None or reading.working_set is None or reading.clean_file is None:
        return None
    return min(estimate, max(reading.capacity - reading.working_set + reading.clean_file, 0))
