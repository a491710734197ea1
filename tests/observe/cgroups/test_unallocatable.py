"""Memory that processes cannot allocate: of the numbers of a machine, and of this one."""

import os
import re
from pathlib import Path

import pytest

from evictd.observe.cgroups.memory import parse_meminfo
from evictd.observe.cgroups.unallocatable import low_watermark_pages, reserved_pages, unallocatable_bytes

KIB, PAGE = 1024, 4096
MEMINFO = {name: kib * KIB for name, kib in {
    "SUnreclaim": 69496, "KernelStack": 4552, "PageTables": 10896, "SecPageTables": 0, "Percpu": 1792, "Hugetlb": 0,
    "SReclaimable": 768224, "AnonPages": 1450372,
}.items()}  # fmt: skip
ZONEINFO = """\
Node 0, zone      DMA
  pages free     3840
        boost    0
        min      16
        low      20
        high     24
        managed  3840
        protection: (0, 3019, 15435, 15435, 15435)
  pagesets
    cpu: 0
              high:     0
              high_min: 10
Node 0, zone    DMA32
        min      3301
        managed  772917
        protection: (0, 0, 12416, 12416, 12416)
Node 0, zone   Normal
        min      13577
        managed  3178496
        protection: (0, 0, 0, 0, 0)
Node 0, zone  Movable
        min      32
        managed  0
        protection: (0, 0, 0, 0, 0)
"""


def test_each_zone_keeps_its_minimum_and_what_it_protects_and_no_more_than_it_has() -> None:
    assert reserved_pages(ZONEINFO) == 3840 + (3301 + 12416) + 13577 + 0


def test_the_low_watermarks_of_all_zones_are_summed() -> None:
    assert low_watermark_pages(ZONEINFO) == 20
    assert low_watermark_pages("") is None
    assert low_watermark_pages("  low  x\nlow 5") is None


def test_what_no_process_can_have_is_kernel_memory_and_what_zones_keep() -> None:
    kernel = (69496 + 4552 + 10896 + 1792) * KIB
    assert unallocatable_bytes(MEMINFO, ZONEINFO, PAGE) == kernel + 33134 * PAGE


@pytest.mark.parametrize(("meminfo", "zoneinfo"), [({}, ZONEINFO), (MEMINFO, ""), (MEMINFO, "Node 0")])
def test_where_a_file_says_nothing_it_is_not_known(meminfo: dict[str, int], zoneinfo: str) -> None:
    assert unallocatable_bytes(meminfo, zoneinfo, PAGE) is None


def test_on_this_machine_the_kernel_s_memory_is_outside_of_what_the_formula_counts() -> None:
    """The root's usage is anonymous memory plus page cache; what is used beside it is at least what is counted here."""
    meminfo = parse_meminfo(Path("/proc/meminfo").read_bytes())
    kernel = unallocatable_bytes(meminfo, "Node 0, zone X\n", os.sysconf("SC_PAGE_SIZE"))
    assert kernel is not None
    usage = meminfo["AnonPages"] + meminfo["Cached"] + meminfo["Buffers"]
    assert 0 < kernel <= meminfo["MemTotal"] - meminfo["MemFree"] - usage


def test_on_this_machine_the_reserves_are_within_the_zones() -> None:
    text = Path("/proc/zoneinfo").read_text(encoding="ascii")
    reserved, managed = reserved_pages(text), sum(map(int, re.findall(r"^\s+managed\s+(\d+)$", text, re.MULTILINE)))
    assert reserved is not None
    assert 0 < reserved < managed
    least = sum(map(int, re.findall(r"^\s+min\s+(\d+)$", text, re.MULTILINE)))
    assert reserved > least // 2


@pytest.mark.root
def test_on_this_machine_the_root_s_usage_has_no_kernel_memory_in_it() -> None:
    usage = Path("/sys/fs/cgroup/memory/memory.usage_in_bytes")
    if not usage.exists():
        pytest.skip("needs a memory controller of cgroup v1; the v2 machine has a test of its own (tests/vm)")
    gap, meminfo = [], parse_meminfo(Path("/proc/meminfo").read_bytes())
    for _ in range(20):  # other processes allocate meanwhile
        meminfo = parse_meminfo(Path("/proc/meminfo").read_bytes())
        gap.append(abs(int(usage.read_text()) - meminfo["AnonPages"] - meminfo["Cached"] - meminfo["Buffers"]))
    kernel = unallocatable_bytes(meminfo, "Node 0, zone X\n", os.sysconf("SC_PAGE_SIZE"))
    assert kernel is not None
    assert min(gap) < kernel // 4
