"""The number of tasks and its maximum, as the kubelet reads them."""

from pathlib import Path

import pytest

from evictd.core.model.stats import RlimitStats
from evictd.observe.cgroups.cgroup_reader import CgroupV1
from evictd.observe.cgroups.file_descriptor_cache import FileDescriptorCache
from evictd.observe.cgroups.process import pids_left, rlimit
from evictd.observe.reading.problems import Problems
from evictd.observe.reading.roots import Roots
from tests.trees import PROC, Tree, plant, v1_node


def read(base: Path, proc: Tree) -> tuple[RlimitStats, list[str]]:
    problems = Problems()
    stats = rlimit(Roots(proc=plant(base, proc)), FileDescriptorCache(0), 7, problems)
    return stats, [problem.source for problem in problems.found()]


def kernel(pid_max: str, threads_max: str) -> Tree:
    return {**PROC, "sys": {"kernel": {"pid_max": pid_max, "threads-max": threads_max}}}


@pytest.mark.parametrize(("pid_max", "threads_max"), [("32768\n", "100000\n"), ("4194304\n", "32768\n")])
def test_the_smaller_maximum_counts(tmp_path: Path, pid_max: str, threads_max: str) -> None:
    assert read(tmp_path, kernel(pid_max, threads_max)) == (RlimitStats(time=7, max_pid=32768, current=345), [])


def test_one_unreadable_maximum_leaves_the_other(tmp_path: Path) -> None:
    stats, problems = read(tmp_path, kernel("x\n", "100\n"))
    assert stats.max_pid == 100
    assert problems == ["pids: pid_max"]


def test_both_unreadable_leave_none(tmp_path: Path) -> None:
    stats, problems = read(tmp_path, {"loadavg": PROC["loadavg"]})
    assert stats.max_pid is None
    assert problems == ["pids: pid_max", "pids: threads-max"]


@pytest.mark.parametrize(
    "text", ["", "0.1 0.2 0.3 2/345\n", "0.1 0.2 0.3 2 345\n", "0.1 0.2 0.3 2/x 1\n", f"0.1 0.2 0.3 2/{'9' * 5000} 1\n"]
)
def test_a_malformed_loadavg_leaves_the_number_of_tasks_out(tmp_path: Path, text: str) -> None:
    stats, problems = read(tmp_path, {**PROC, "loadavg": text})
    assert stats.current is None
    assert problems == ["pids: loadavg"]


def test_this_machine_has_fewer_tasks_than_its_maximum() -> None:
    problems = Problems()
    stats = rlimit(Roots(), FileDescriptorCache(0), 7, problems)
    assert stats.current is not None
    assert stats.max_pid is not None
    assert 0 < stats.current < stats.max_pid


@pytest.mark.parametrize(("left", "current"), [(None, 345), (40_000, 345), (1000, 31768), (-5, 32773)])
def test_pids_that_no_pod_can_have_count_as_taken(tmp_path: Path, left: int | None, current: int) -> None:
    roots = Roots(proc=plant(tmp_path, kernel("32768\n", "100000\n")))
    assert rlimit(roots, FileDescriptorCache(0), 7, Problems(), left_for_pods=left).current == current


@pytest.mark.parametrize(
    ("files", "left"),
    [
        ({"pids.max": "1000\n", "pids.current": "900\n"}, 100),
        ({"pids.max": "max\n", "pids.current": "900\n"}, None),
        ({"pids.max": "x\n", "pids.current": "900\n"}, None),
        ({"pids.max": "1000\n"}, None),
    ],
)
def test_the_limit_of_all_pods_leaves_what_is_not_taken(tmp_path: Path, files: Tree, left: int | None) -> None:
    reader = CgroupV1(plant(tmp_path, {**v1_node(), "pids": {"kubepods": files}}), FileDescriptorCache(0))
    assert pids_left(reader, "/kubepods") == left
    assert pids_left(reader, None) is None
