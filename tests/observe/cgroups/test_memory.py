"""The node's memory by both formulas, and its gauges."""

import os
from pathlib import Path

import pytest

from evictd.core.model.config import MemoryFormula
from evictd.core.model.stats import MemoryStats, PressureStall, SwapStats
from evictd.observe.cgroups.cgroup import find_hierarchy
from evictd.observe.cgroups.file_descriptor_cache import FileDescriptorCache
from evictd.observe.cgroups.memory import NodeMemoryReader, parse_meminfo
from evictd.observe.reading.problems import Problems
from evictd.observe.reading.roots import Roots
from tests.trees import FILE_PAGES, MEMINFO, PROC, Tree, plant, v1_node, v2, v2_node

KIB = 1024
TOTAL = 16_000_000 * KIB


def memory(
    base: Path, cgroups: Tree, proc: Tree = PROC, formula: MemoryFormula = MemoryFormula.WORKING_SET
) -> NodeMemoryReader:
    roots = Roots(proc=plant(base / "proc", proc), cgroup=plant(base / "cgroup", cgroups))
    files = FileDescriptorCache(0)
    return NodeMemoryReader(roots, find_hierarchy(roots.cgroup, files), files, formula=formula)


@pytest.mark.parametrize(
    "tree", [v1_node(), v2_node(systemd=True), v2_node(systemd=False)], ids=["v1", "v2 systemd", "v2 cgroupfs"]
)
def test_available_is_capacity_minus_working_set(tmp_path: Path, tree: Tree) -> None:
    node, problems = memory(tmp_path, tree), Problems()
    assert node.stats(node.node("/", problems), 7, problems) == MemoryStats(
        time=7,
        available_bytes=TOTAL - 4_000_000_000,
        usage_bytes=5_000_000_000,
        working_set_bytes=4_000_000_000,
        clean_file_bytes=FILE_PAGES,
        mem_available_bytes=9_000_000 * KIB,
        stalled=150,
    )
    assert problems.found() == ()


@pytest.mark.parametrize("tree", [v1_node(), v2_node(systemd=False)], ids=["v1", "v2"])
def test_what_is_dirty_is_not_clean_and_without_the_kernels_word_nothing_is_known(tmp_path: Path, tree: Tree) -> None:
    stat = tmp_path / "cgroup" / ("memory/memory.stat" if "memory" in tree else "memory.stat")
    plant(tmp_path / "cgroup", tree)
    text = stat.read_text()
    for name, gone in (
        ("dirty 1", "dirty 20"),
        ("dirty 1", "dirty 5000000000"),
        (f"active_file {FILE_PAGES + 1}", "other"),
    ):
        stat.write_text(text.replace(name, gone))
        roots, files = Roots(proc=plant(tmp_path / "proc", PROC), cgroup=tmp_path / "cgroup"), FileDescriptorCache(0)
        node = NodeMemoryReader(roots, find_hierarchy(roots.cgroup, files), files, formula=MemoryFormula.WORKING_SET)
        stats = node.stats(node.node("/", Problems()), 7, Problems())
        assert stats is not None
        assert stats.clean_file_bytes == {"dirty 20": FILE_PAGES - 19, "other": None}.get(gone, 0), gone


def test_of_a_cgroup_the_estimate_is_what_its_limit_leaves(tmp_path: Path) -> None:
    """Memory of the machine that is above the limit of the cgroup is not available in it."""
    node, problems = memory(tmp_path, v1_node()), Problems()
    stats = node.stats(node.node("/kubepods", problems), 7, problems)
    assert stats is not None
    assert (stats.available_bytes, stats.mem_available_bytes) == (5000, 5000 + FILE_PAGES)


def test_the_kernels_estimate_is_the_other_formula(tmp_path: Path) -> None:
    node, problems = memory(tmp_path, v1_node(), formula=MemoryFormula.MEM_AVAILABLE), Problems()
    stats = node.stats(node.node("/", problems), 7, problems)
    assert stats is not None
    assert stats.available_bytes == 9_000_000 * KIB
    assert stats.working_set_bytes == 7_000_000 * KIB


@pytest.mark.parametrize(
    ("kib", "working_set"), [(9_000_000, 7_000_000 * KIB), (14_000_000, 4_000_000_000)], ids=["estimate", "working set"]
)
def test_lowest_is_the_lower_of_both(tmp_path: Path, kib: int, working_set: int) -> None:
    meminfo = {"meminfo": MEMINFO.replace("9000000", str(kib))}
    node, problems = memory(tmp_path, v1_node(), {**PROC, **meminfo}, formula=MemoryFormula.LOWEST), Problems()
    stats = node.stats(node.node("/", problems), 7, problems)
    assert stats is not None
    assert (stats.available_bytes, stats.working_set_bytes) == (TOTAL - working_set, working_set)


def automatic(base: Path, available: int, **files: str) -> MemoryStats:
    """What the formula Auto reads where the kernel's estimate is this."""
    meminfo = MEMINFO.replace("9000000", str(available // KIB))
    node = memory(base, v2_node(systemd=True), {**PROC, "meminfo": meminfo, **files}, formula=MemoryFormula.AUTO)
    stats = node.stats(node.node("/", Problems()), 7, Problems())
    assert stats is not None
    return stats


def test_auto_is_the_lower_of_both_and_keeps_the_difference_for_soft_thresholds(tmp_path: Path) -> None:
    documented = TOTAL - 4_000_000_000
    stats = automatic(tmp_path, 9_000_000 * KIB)
    assert (stats.available_bytes, stats.working_set_bytes) == (9_000_000 * KIB, 7_000_000 * KIB)
    assert stats.unallocatable_bytes == documented - 9_000_000 * KIB


def test_auto_is_the_documented_one_where_the_kernel_counts_more(tmp_path: Path) -> None:
    stats = automatic(tmp_path, 14_000_000 * KIB)
    assert (stats.available_bytes, stats.unallocatable_bytes) == (TOTAL - 4_000_000_000, None)


def test_auto_is_the_documented_one_where_the_estimate_cannot_be_true(tmp_path: Path) -> None:
    assert automatic(tmp_path, 99_000_000 * KIB).available_bytes == TOTAL - 4_000_000_000


def test_auto_is_the_documented_one_beside_the_cache_of_zfs(tmp_path: Path) -> None:
    """The kernel's estimate counts it as used (openzfs/zfs#10255), so pods would go for a cache that shrinks."""
    (tmp_path / "proc/spl/kstat/zfs").mkdir(parents=True)
    (tmp_path / "proc/spl/kstat/zfs/arcstats").touch()
    stats = automatic(tmp_path, 9_000_000 * KIB)
    assert (stats.available_bytes, stats.unallocatable_bytes) == (TOTAL - 4_000_000_000, None)


@pytest.mark.parametrize(
    ("formula", "known"),
    [(MemoryFormula.WORKING_SET, True), (MemoryFormula.AUTO, True), (MemoryFormula.LOWEST, False)],
    ids=str,
)
def test_what_no_process_can_have_is_known_where_the_formula_counts_it(
    tmp_path: Path, formula: MemoryFormula, known: bool
) -> None:
    files: Tree = {"meminfo": MEMINFO + "SUnreclaim: 5 kB\n", "zoneinfo": "Node 0, zone DMA\n  min 1\n  managed 9\n"}
    node, problems = memory(tmp_path, v1_node(), {**PROC, **files}, formula=formula), Problems()
    gauges = node.gauges(node.node("/", problems), None, problems)
    expected = 5 * KIB + 16384 * KIB + os.sysconf("SC_PAGE_SIZE")
    assert gauges.unallocatable_bytes == (expected if known else None)


def test_the_gauges_hold_both_formulas_and_values_without_a_threshold(tmp_path: Path) -> None:
    node, problems = memory(tmp_path, v2_node(systemd=True)), Problems()
    gauges = node.gauges(node.node("/", problems), "/kubepods.slice", problems)
    assert gauges.capacity_bytes == TOTAL
    assert gauges.mem_available_bytes == 9_000_000 * KIB
    assert gauges.working_set_available_bytes == TOTAL - 4_000_000_000
    assert gauges.pressure_some == gauges.pods_pressure_some == PressureStall(1.5, 0.25, 0.0, 12345)
    assert gauges.pressure_full == gauges.pods_pressure_full == PressureStall(0.5, 0.0, 0.0, 678)


@pytest.mark.parametrize(
    ("lines", "swap"),
    [
        ("SwapTotal: 9 kB\nSwapFree: 4 kB\n", SwapStats(time=7, available_bytes=4 * KIB, usage_bytes=5 * KIB)),
        ("SwapTotal: 0 kB\nSwapFree: 0 kB\n", None),
        ("", None),
    ],
)
def test_a_node_without_swap_has_none(tmp_path: Path, lines: str, swap: SwapStats | None) -> None:
    node, problems = memory(tmp_path, v1_node(), {"meminfo": f"MemTotal: 9 kB\n{lines}"}), Problems()
    assert node.swap(node.node("/", problems), 7) == swap


def test_a_kernel_without_pressure_files_is_no_problem(tmp_path: Path) -> None:
    node, problems = memory(tmp_path, v1_node(), {"meminfo": MEMINFO}), Problems()
    gauges = node.gauges(node.node("/", problems), "/kubepods", problems)
    assert gauges.pressure_some is gauges.pods_pressure_some is None
    assert problems.found() == ()


def test_malformed_pressure_is_a_problem(tmp_path: Path) -> None:
    node, problems = memory(tmp_path, v1_node(), {"meminfo": MEMINFO, "pressure": {"memory": "some\n"}}), Problems()
    node.gauges(node.node("/", problems), None, problems)
    assert [row.source for row in problems.found()] == ["memory pressure of the node"]


@pytest.mark.parametrize(
    ("limit", "available"),
    [("9000", 5000), ("3000", -1000), (str(2**62), 2**62 - 4000), (str(2**62 + 1), None), ("max", None)],
)
def test_available_memory_of_all_pods_is_limit_minus_working_set(
    tmp_path: Path, limit: str, available: int | None
) -> None:
    node, problems = (
        memory(tmp_path, v2(anon=1, file=1, below={"kubepods": v2(5000, inactive=1000, limit=limit)})),
        Problems(),
    )
    assert node.pods("/kubepods", 7, problems) == MemoryStats(
        time=7, available_bytes=available, usage_bytes=5000, working_set_bytes=4000, clean_file_bytes=FILE_PAGES
    )


def test_a_cgroup_with_a_limit_can_be_the_node(tmp_path: Path) -> None:
    node, problems = memory(tmp_path, v2_node(systemd=False)), Problems()
    stats = node.stats(node.node("/kubepods", problems), 7, problems)
    assert stats is not None
    assert (stats.available_bytes, stats.working_set_bytes) == (5000, 4000)


@pytest.mark.parametrize(
    ("proc", "cgroups"),
    [
        ({}, v1_node()),
        ({"meminfo": "MemTotal:   12"}, v1_node()),
        ({"meminfo": "MemTotal: many kB\n"}, v1_node()),
        (PROC, {"memory": {}}),
        (PROC, {"memory": {"memory.usage_in_bytes": "\xff\n", "memory.stat": ""}}),
        (PROC, {"memory": {"memory.usage_in_bytes": f"{2**64}\n"}}),
    ],
    ids=["no meminfo", "cut short", "no number", "no cgroup files", "garbage", "beyond 64 bits"],
)
def test_an_unreadable_value_is_absent_and_one_problem(tmp_path: Path, proc: Tree, cgroups: Tree) -> None:
    node, problems = memory(tmp_path, cgroups, proc), Problems()
    assert node.stats(node.node("/", problems), 7, problems) is None
    assert [row.source for row in problems.found()] == ["memory of the node"]


def test_meminfo_keeps_the_units_of_each_line() -> None:
    found = parse_meminfo(MEMINFO.encode())
    assert found["HugePages_Total"] == 8
    assert found["Hugepagesize"] == 2048 * KIB


def test_a_number_of_thousands_of_digits_is_left_out() -> None:
    text = f"MemTotal: {'9' * 5000} kB\nMemFree: 2 kB\nHugePages_Total: {'9' * 5000}\n".encode()
    assert parse_meminfo(text) == {"MemFree": 2048}


def test_counters_that_cannot_be_true_are_absent_with_a_problem(tmp_path: Path) -> None:
    """A counter that was decremented too often shows nearly 2^64."""
    tree = v2(anon=2**62, file=1, below={"kubepods": v2(2**62, limit="9000")})
    node, problems = (
        memory(tmp_path, tree, {"meminfo": "MemTotal: 9 kB\nSwapTotal: 9 kB\nSwapFree: 10 kB\n"}),
        Problems(),
    )
    reading = node.node("/", problems)
    assert node.stats(reading, 7, problems) is None
    assert node.swap(reading, 7) is None
    assert node.pods("/kubepods", 7, problems) is None
    assert [row.source for row in problems.found()] == ["memory of the node", "memory of the pods cgroup"]


def test_an_estimate_above_the_whole_is_refused(tmp_path: Path) -> None:
    meminfo = {"meminfo": "MemTotal: 9 kB\nMemAvailable: 10 kB\n"}
    node, problems = memory(tmp_path, v2(1, anon=1, file=1), meminfo, formula=MemoryFormula.MEM_AVAILABLE), Problems()
    assert node.stats(node.node("/", problems), 7, problems) is None
    assert [row.source for row in problems.found()] == ["memory of the node"]
