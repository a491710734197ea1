"""Parses the kernel's small text files: single numbers, `key value` lines, PSI, and the zones of memory.

Parsing is strict: a number is ASCII digits, at most 64 bits wide, and its line ends with a newline. Anything else raises
`NodeError`: the text is truncated or is no number, and a wrong number could evict a pod, while a missing one cannot.
"""

import re
from collections.abc import Mapping
from typing import NamedTuple

from evictd.core.model.stats import PressureStall
from evictd.errors import NodeError

_MAX_UINT64 = 2**64 - 1
_MAX_DIGITS = 20
"""Decimal digits of 2^64 - 1. Checked before `int()`, which raises `ValueError` above 4,300 digits."""
_PERCENTAGE = re.compile(rb"[0-9]{1,3}\.[0-9]{2}")


def parse_count(text: bytes, what: str) -> int:
    """Parse a file that holds one number. `what`, here and below, is the path that an error names."""
    digits, newline, rest = text.partition(b"\n")
    if not newline or rest:
        raise _unexpected(text, what)
    return parse_number(digits, what)


def parse_limit(text: bytes, what: str) -> int | None:
    """Parse a file that holds one number or `max`, which becomes `None`."""
    return None if text == b"max\n" else parse_count(text, what)


def possible(number: int, most: int | None, what: str) -> int:
    """Return a counter; raises `NodeError` where it is more than there can be. `most` is `None` where that is not known.

    A counter of the kernel that was decremented too often shows nearly 2^64, and its pod would seem to use all that is short.
    """
    if most is not None and number > most:
        raise NodeError(f"{what}: {number} cannot be true, there are at most {most}")
    return number


def parse_stat(text: bytes, key: bytes, what: str) -> int:
    """Return the number on the line of `key` in a file such as memory.stat."""
    at = 0 if text.startswith(key + b" ") else text.find(b"\n" + key + b" ") + 1
    if not at and not text.startswith(key + b" "):
        raise NodeError(f"{what}: no {key.decode()}")
    start = at + len(key) + 1
    end = text.find(b"\n", start)
    if end < 0:
        raise _unexpected(text[at:], what)
    return parse_number(text[start:end], what)


class CgroupMemory(NamedTuple):
    """The memory of a cgroup and its descendants, in bytes."""

    usage: int
    working_set: int
    """Usage minus inactive file pages, at least zero."""
    clean_file: int | None
    """Lower bound of the active file pages that need no writing; `None` if the kernel does not show it."""


class CgroupWrites(NamedTuple):
    """Disk writes of a cgroup and its descendants in bytes; parts that the kernel does not show are 0."""

    total: int
    """Bytes written so far and bytes added to the page cache or the kernel's inode cache; the latter may fall."""
    waiting: int
    """Pages that wait to be written."""


def sum_of_stat(text: bytes, keys: tuple[bytes, ...], what: str) -> int:
    """Return the sum of these lines of memory.stat; those that the kernel does not have count as 0."""
    return sum(parse_stat(text, key, what) for key in keys if text.startswith(key + b" ") or b"\n" + key + b" " in text)


def parse_io_stat(text: bytes, what: str) -> int:
    """Return the bytes written to all devices by io.stat of cgroup v2."""
    fields = (field.partition(b"=") for line in text.splitlines() for field in line.split()[1:])
    return sum(parse_number(value, what) for name, _, value in fields if name == b"wbytes")


def parse_blkio(text: bytes, what: str) -> int:
    """Return the bytes written to all devices by `blkio.throttle.io_service_bytes_recursive` of cgroup v1."""
    rows = (line.split() for line in text.splitlines())
    return sum(parse_number(row[2], what) for row in rows if len(row) == 3 and row[1] == b"Write")


def parse_clean_file(text: bytes, keys: tuple[bytes, bytes, bytes], what: str) -> int | None:
    """Return the clean active file pages by memory.stat, in bytes. `keys` name the active, dirty and written-back ones.

    All dirty pages count as active, so that it is no more than there are.
    """
    try:
        active, dirty, written_back = (parse_stat(text, key, what) for key in keys)
    except NodeError:
        return None
    return max(active - dirty - written_back, 0)


def parse_pressure(text: bytes, what: str) -> dict[str, PressureStall]:
    """Parse a PSI file into its lines by name: `some` and `full` (cpu has no `full` before Linux 5.13)."""
    lines = {}
    for line in text.splitlines():
        try:
            name, *fields = line.split()
            values = dict(field.partition(b"=")[::2] for field in fields)
            lines[name.decode("ascii")] = PressureStall(
                avg10=_percentage(values[b"avg10"], what),
                avg60=_percentage(values[b"avg60"], what),
                avg300=_percentage(values[b"avg300"], what),
                total_us=parse_number(values[b"total"], what),
            )
        except (KeyError, ValueError) as error:
            raise _unexpected(line, what) from error
    return lines


def parse_tasks(loadavg: bytes, what: str) -> int:
    """Return the number of tasks of /proc/loadavg: the kernel's count of scheduling entities, threads included."""
    fields = loadavg.split()
    return parse_number(fields[3].partition(b"/")[2] if len(fields) >= 5 else b"", what)


def parse_number(digits: bytes, what: str) -> int:
    """Parse one field of digits; raises `NodeError` unless it is a number of at most 64 bits."""
    # isdigit() first: int() also accepts signs, blanks and underscores.
    if not digits.isdigit() or len(digits) > _MAX_DIGITS or (number := int(digits)) > _MAX_UINT64:
        raise _unexpected(digits, what)
    return number


def _percentage(text: bytes, what: str) -> float:
    # The pattern first: float() also accepts `nan` and `inf`.
    if not _PERCENTAGE.fullmatch(text):
        raise _unexpected(text, what)
    return float(text)


def _unexpected(text: bytes, what: str) -> NodeError:
    return NodeError(f"{what}: unexpected content: {text[:40]!r}")


_KERNEL = ("SUnreclaim", "KernelStack", "PageTables", "SecPageTables", "Percpu", "Hugetlb")
"""Fields of /proc/meminfo. An older kernel does not show all of them; what it holds is then more than their sum."""
_ZONE = re.compile(r"^Node [0-9]+, zone ", re.MULTILINE)
_LOW = re.compile(r"^\s+low\s+([0-9]{1,18})$", re.MULTILINE | re.ASCII)
_PROTECTION = re.compile(r"^ +protection: \(([0-9]{1,18}(?:, [0-9]{1,18}){0,20})\)$", re.MULTILINE)


def unallocatable_bytes(meminfo: Mapping[str, int], zoneinfo: str, page_size: int) -> int | None:
    """Return the bytes that processes cannot allocate; `None` if one of the two files lacks its fields.

    The usage of the root cgroup is anonymous memory plus page cache, on both versions of cgroups, so capacity minus working set
    counts as available what is the kernel's own: slab that cannot be reclaimed, stacks, page tables, per-CPU areas, huge pages
    that were set aside. It also counts what the kernel never gives to a process: each zone keeps its `min` watermark and what
    it protects from allocations that could use a higher zone (Documentation/admin-guide/sysctl/vm.rst, `min_free_kbytes` and
    `lowmem_reserve_ratio`). When the OOM killer acts, the formula still says at least this amount, so a threshold at or below it
    is never met.
    """
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
