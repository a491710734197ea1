"""How much memory does the node have left, and how hard is it to get?

`memory.available` is capacity minus working set, as the kubelet computes it (spec 3.2). With the formula `MemAvailable` it is the
kernel's own estimate instead, which also counts active page cache as reclaimable (kubernetes issue 43916). The gauges publish
both, and the huge pages, swap and stalls that no threshold looks at.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum

from evictd.core.stats import MemoryStats, NodeGauges, PressureStall
from evictd.errors import NodeError
from evictd.observe.cgroup import NO_LIMIT, CgroupReader
from evictd.observe.findings import Problems
from evictd.observe.kept_files import KeptFiles, VanishedError
from evictd.observe.kernel_text import parse_pressure
from evictd.observe.roots import Roots

_KIBI = 1024
_MEMINFO_UNITLESS = {"HugePages_Total", "HugePages_Free", "HugePages_Rsvd", "HugePages_Surp"}


class MemoryFormula(Enum):
    """What `memory.available` means (`memory.formula`)."""

    WORKING_SET = "WorkingSet"
    MEM_AVAILABLE = "MemAvailable"


def parse_meminfo(text: bytes) -> dict[str, int]:
    """Read /proc/meminfo into bytes (and counts of huge pages) by name; lines that make no sense are left out."""
    found = {}
    for line in text.decode("ascii", "replace").splitlines(keepends=True):
        name, _, value = line.partition(":")
        number, *unit = value.split() or [""]
        if not number.isdecimal() or not line.endswith("\n"):
            continue
        if unit == ["kB"]:
            found[name] = int(number) * _KIBI
        elif not unit and name in _MEMINFO_UNITLESS:
            found[name] = int(number)
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeReading:
    """The node's memory as read: bytes, `None` where it could not be."""

    meminfo: Mapping[str, int]
    capacity: int | None
    usage: int | None
    working_set: int | None


class NodeMemory:
    """Reads the node's memory, and that of the cgroup of all pods."""

    def __init__(self, roots: Roots, cgroups: CgroupReader, files: KeptFiles, *, formula: MemoryFormula) -> None:
        self._proc = str(roots.proc)
        self._cgroups = cgroups
        self._files = files
        self._formula = formula

    def node(self, cgroup: str, problems: Problems) -> NodeReading:
        """Read the node's memory. `cgroup` is the root, or a cgroup with a limit that is to be taken for a node."""
        meminfo = self._meminfo(problems)
        capacity = meminfo.get("MemTotal")
        usage = working_set = None
        try:
            usage, working_set = self._cgroups.working_set(cgroup)
            if capacity is not None and cgroup.strip("/"):
                capacity = min(capacity, self._cgroups.limit(cgroup) or capacity)
        except NodeError as error:
            problems.add("memory of the node", error)
        if capacity is None:
            problems.add("memory of the node", "no MemTotal in meminfo")
        return NodeReading(meminfo=meminfo, capacity=capacity, usage=usage, working_set=working_set)

    def stats(self, reading: NodeReading, now: int, problems: Problems) -> MemoryStats | None:
        """Give what `memory.available` is made of, by the configured formula."""
        capacity, working_set = reading.capacity, reading.working_set
        if capacity is not None and self._formula is MemoryFormula.MEM_AVAILABLE:
            available = reading.meminfo.get("MemAvailable")
            if available is None:
                problems.add("memory of the node", "no MemAvailable in meminfo")
                return None
            # The rest counts as in use, so that capacity is still the sum of the two.
            working_set = capacity - available
        if capacity is None or working_set is None:
            return None
        return MemoryStats(
            time=now,
            available_bytes=capacity - working_set,
            usage_bytes=reading.usage,
            working_set_bytes=working_set,
        )

    def pods(self, cgroup: str, now: int, problems: Problems) -> MemoryStats | None:
        """Give the memory of the cgroup of all pods; what is available only if it has a limit."""
        try:
            usage, working_set = self._cgroups.working_set(cgroup)
            limit = self._cgroups.limit(cgroup)
        except NodeError as error:
            problems.add("memory of the pods cgroup", error)
            return None
        available = None if limit is None or limit > NO_LIMIT else limit - working_set
        return MemoryStats(time=now, available_bytes=available, usage_bytes=usage, working_set_bytes=working_set)

    def gauges(self, reading: NodeReading, pods: str | None, problems: Problems) -> NodeGauges:
        """Give what people ask for beside the signals."""
        meminfo, capacity, working_set = reading.meminfo, reading.capacity, reading.working_set
        pressure = self._pressure(f"{self._proc}/pressure/memory", problems)
        pods_pressure = {} if pods is None else self._cgroup_pressure(pods, problems)
        return NodeGauges(
            capacity_bytes=capacity,
            mem_available_bytes=meminfo.get("MemAvailable"),
            working_set_available_bytes=None if capacity is None or working_set is None else capacity - working_set,
            huge_pages_bytes=huge_pages(meminfo),
            swap_total_bytes=meminfo.get("SwapTotal"),
            swap_free_bytes=meminfo.get("SwapFree"),
            pressure_some=pressure.get("some"),
            pressure_full=pressure.get("full"),
            pods_pressure_some=pods_pressure.get("some"),
            pods_pressure_full=pods_pressure.get("full"),
        )

    def _meminfo(self, problems: Problems) -> Mapping[str, int]:
        try:
            return parse_meminfo(self._files.read(f"{self._proc}/meminfo"))
        except NodeError as error:
            problems.add("memory of the node", error)
            return {}

    def _pressure(self, path: str, problems: Problems) -> dict[str, PressureStall]:
        try:
            return parse_pressure(self._files.read(path), path)
        except VanishedError:
            return {}  # a kernel without PSI, which is no fault
        except NodeError as error:
            problems.add("memory pressure of the node", error)
            return {}

    def _cgroup_pressure(self, cgroup: str, problems: Problems) -> dict[str, PressureStall]:
        try:
            return self._cgroups.pressure(cgroup)
        except VanishedError:
            return {}
        except NodeError as error:
            problems.add("memory pressure of the pods", error)
            return {}


def huge_pages(meminfo: Mapping[str, int]) -> int | None:
    """Give the memory set aside for huge pages of every size: nobody else can have it (kubernetes issue 137984)."""
    if "Hugetlb" in meminfo:
        return meminfo["Hugetlb"]
    total, size = meminfo.get("HugePages_Total"), meminfo.get("Hugepagesize")
    return None if total is None or size is None else total * size
