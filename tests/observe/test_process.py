"""PIDs as the kubelet takes them."""

from pathlib import Path

import pytest

from evictd.core.stats import RlimitStats
from evictd.observe.findings import Problems
from evictd.observe.kept_files import KeptFiles
from evictd.observe.process import rlimit
from evictd.observe.roots import Roots
from tests.trees import PROC, Tree, plant


def read(base: Path, proc: Tree) -> tuple[RlimitStats, list[str]]:
    problems = Problems()
    stats = rlimit(Roots(proc=plant(base, proc)), KeptFiles(0), 7, problems)
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


@pytest.mark.parametrize("text", ["", "0.1 0.2 0.3 2/345\n", "0.1 0.2 0.3 2 345\n", "0.1 0.2 0.3 2/x 1\n"])
def test_a_garbled_loadavg_leaves_the_number_of_tasks_out(tmp_path: Path, text: str) -> None:
    stats, problems = read(tmp_path, {**PROC, "loadavg": text})
    assert stats.current is None
    assert problems == ["pids: loadavg"]


def test_this_machine_has_tasks_and_room_for_more() -> None:
    problems = Problems()
    stats = rlimit(Roots(), KeptFiles(0), 7, problems)
    assert stats.current is not None
    assert stats.max_pid is not None
    assert 0 < stats.current < stats.max_pid
