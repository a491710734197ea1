"""Computes the memory that processes cannot allocate, although capacity minus working set counts it as available.

The usage of the root cgroup is anonymous memory plus page cache, on both versions of cgroups. The kernel's own memory is not in
it: slab that cannot be reclaimed, stacks, page tables, per-CPU areas, huge pages that were set aside. Neither is what the kernel
never gives to a process: each zone keeps its `min` watermark and what it protects from allocations that could use a higher zone
(Documentation/admin-guide/sysctl/vm.rst, `min_free_kbytes` and `lowmem_reserve_ratio`). When the OOM killer acts, the formula
still says at least this amount, so a threshold at or below it is never met.
"""

import re
from collections.abc import Mapping

_KERNEL = ("SUnreclaim", "KernelStack", "PageTables", "SecPageTables", "Percpu", "Hugetlb")
"""Fields of /proc/meminfo. An older kernel does not show all of them; what it holds is then more than their sum."""
_ZONE = re.compile(r"^Node [0-9]+, zone ", re.MULTILINE)
_LOW = re.compile(r"^\s+low\s+([0-9]{1,18})$", re.MULTILINE | re.ASCII)
_PROTECTION = re.compile(r"^ +protection: \(([0-9]{1,18}(?:, [0-9]{1,18}){0,20})\)$", re.MULTILINE)


def unallocatable_bytes(meminfo: Mapping[str, int], zoneinfo: str, page_size: int) -> int | None:
    """Return the bytes that processes cannot allocate; `None` if one of the two files lacks its fields."""
    reserved = reserved_pages(zoneinfo)
    if "SUnreclaim" not in meminfo or reserved is None:
        return None
    return sum(meminfo.get(name, 0) for name in _KERNEL) + reserved * page_size


def low_watermark_pages(zoneinfo: str) -> int | None:
    """Sum the low watermarks of all zones, in pages, from /proc/zoneinfo; `None` if there are none."""
    lows = [int(low) for low in _LOW.findall(zoneinfo)]
    return sum(lows) if lows else None


def reserved_pages(zoneinfo: str) -> int | None:
    """Sum what the zones of /proc/zoneinfo keep back, in pages; `None` without any zone."""
    zones = [_reserved(zone) for zone in _ZONE.split(zoneinfo)[1:]]
    return sum(zones) if zones else None


def _reserved(zone: str) -> int:
    """Return a zone's minimum and its largest protection, at most all its pages (kernel `calculate_totalreserve_pages`)."""
    protection = _PROTECTION.search(zone)
    protected = max(int(pages) for pages in protection[1].split(", ")) if protection else 0
    return min(_number("min", zone) + protected, _number("managed", zone))


def _number(name: str, zone: str) -> int:
    found = re.search(rf"^ +{name} +([0-9]{{1,18}})$", zone, re.MULTILINE)
    return int(found[1]) if found else 0
