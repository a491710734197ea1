"""Kernel files are parsed strictly: invalid numbers are errors."""

import os
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evictd.core.model.stats import PressureStall
from evictd.errors import NodeError
from evictd.observe.cgroups.kernel_text import (
    low_watermark_pages,
    parse_count,
    parse_limit,
    parse_pressure,
    parse_stat,
    reserved_pages,
    unallocatable_bytes,
)
from evictd.observe.cgroups.memory import parse_meminfo
from tests.trees import PSI

GARBAGE = [
    b"",
    b"\n",
    b"12",
    b"-1\n",
    b"+1\n",
    b" 1\n",
    b"1_0\n",
    b"1 2\n",
    b"1\n2\n",
    b"0x10\n",
    b"max\n",
    b"1\0\n",
    b"\xb2\n",
    b"9" * 5000 + b"\n",
]


@given(st.integers(0, 2**64 - 1))
def test_every_64_bit_number_is_read(number: int) -> None:
    assert parse_count(b"%d\n" % number, "f") == number
    assert parse_limit(b"%d\n" % number, "f") == number
    assert parse_stat(b"a 1\nb %d\n" % number, b"b", "f") == number


@pytest.mark.parametrize("text", GARBAGE, ids=lambda text: repr(text[:20]))
def test_any_other_text_is_an_error(text: bytes) -> None:
    with pytest.raises(NodeError, match="unexpected content"):
        parse_count(text, "f")


@given(st.integers(2**64))
def test_a_number_beyond_64_bits_is_an_error(number: int) -> None:
    with pytest.raises(NodeError):
        parse_count(b"%d\n" % number, "f")


def test_max_is_no_limit() -> None:
    assert parse_limit(b"max\n", "f") is None


@given(st.binary(max_size=200), st.binary(max_size=40))
def test_random_bytes_give_a_number_or_a_node_error(text: bytes, before: bytes) -> None:
    def outcome(parse: Callable[..., object], *arguments: object) -> object:
        try:
            return parse(*arguments)
        except NodeError as error:
            return error

    assert isinstance(outcome(parse_count, text, "f"), int | NodeError)
    assert isinstance(outcome(parse_limit, text, "f"), int | NodeError | None)
    assert isinstance(outcome(parse_stat, before + b"\nkey " + text, b"key", "f"), int | NodeError)
    assert isinstance(outcome(parse_pressure, before + b"some avg10=" + text, "f"), dict | NodeError)


def test_a_key_is_not_found_inside_another() -> None:
    text = b"total_inactive_file 1\nxinactive_file 2\ninactive_file 3\n"
    assert parse_stat(text, b"inactive_file", "f") == 3
    assert parse_stat(text, b"total_inactive_file", "f") == 1
    with pytest.raises(NodeError, match="no active_file"):
        parse_stat(text, b"active_file", "f")


def test_a_number_truncated_at_the_end_of_the_file_is_an_error() -> None:
    with pytest.raises(NodeError):
        parse_stat(b"inactive_file 12", b"inactive_file", "f")


def test_pressure_has_its_two_lines() -> None:
    assert parse_pressure(PSI.encode(), "f") == {
        "some": PressureStall(avg10=1.5, avg60=0.25, avg300=0.0, total_us=12345),
        "full": PressureStall(avg10=0.5, avg60=0.0, avg300=0.0, total_us=678),
    }


@pytest.mark.parametrize(
    "text",
    [
        b"some avg10=1.00\n",
        *(
            b"some avg10=%s avg60=0.00 avg300=0.00 total=0\n" % avg
            for avg in (b"x", b"nan", b"inf", b"1e9", b"9" * 5000)
        ),
        b"some avg10=0.00 avg60=0.00 avg300=0.00 total=-1\n",
        b"some avg10=0.00 avg60=0.00 avg300=0.00 total=" + b"9" * 5000 + b"\n",
    ],
    ids=lambda text: repr(text[:40]),
)
def test_a_truncated_line_of_pressure_is_an_error(text: bytes) -> None:
    with pytest.raises(NodeError):
        parse_pressure(text, "f")


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
