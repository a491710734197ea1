"""Memory QoS values are written to the files of a cgroup tree, and to nothing else."""

from pathlib import Path

import pytest

from evictd.act.memory_qos import enforce_memory_qos
from evictd.core.model.oom import MemoryQoSDifference
from tests.trees import Link, plant

HIGH = MemoryQoSDifference(subject="ns/web main", cgroup="/pods/c", file="memory.high", expected=4096, found=None)
LOW = MemoryQoSDifference(subject="ns/web", cgroup="/pods", file="memory.low", expected=8192, found=0)


def test_each_value_is_written(tmp_path: Path) -> None:
    plant(tmp_path, {"pods": {"memory.low": "0", "c": {"memory.high": "max\n", "memory.current": "4096\n"}}})
    assert enforce_memory_qos([LOW, HIGH], cgroup_root=tmp_path) == ((LOW, HIGH), ())
    assert (tmp_path / "pods/memory.low").read_text() == "8192"
    assert (tmp_path / "pods/c/memory.high").read_text().startswith("4096")


def test_no_limit_is_written_as_max(tmp_path: Path) -> None:
    plant(tmp_path, {"pods": {"c": {"memory.high": ""}}})
    lifted = MemoryQoSDifference(subject="x", cgroup="/pods/c", file="memory.high", expected=None, found=4096)
    assert enforce_memory_qos([lifted], cgroup_root=tmp_path) == ((lifted,), ())
    assert (tmp_path / "pods/c/memory.high").read_text() == "max"


def test_a_container_above_its_memory_high_is_left_as_it_is(tmp_path: Path) -> None:
    """The kernel would reclaim within the write."""
    plant(tmp_path, {"pods": {"c": {"memory.high": "max", "memory.current": "4097\n"}}})
    done, [problem] = enforce_memory_qos([HIGH], cgroup_root=tmp_path)
    assert done == ()
    assert problem.detail == "ns/web main: memory.high stays max: 4097 bytes are used, above 4096"
    assert (tmp_path / "pods/c/memory.high").read_text() == "max"


@pytest.mark.parametrize("usage", ["", "x"])
def test_an_unreadable_usage_writes_nothing(tmp_path: Path, usage: str) -> None:
    plant(tmp_path, {"pods": {"c": {"memory.high": "max", "memory.current": usage}}})
    done, problems = enforce_memory_qos([HIGH, HIGH], cgroup_root=tmp_path)
    assert (done, len(problems)) == ((), 1)
    assert problems[0].detail.endswith("(and 1 more)")


def test_a_cgroup_that_is_gone_is_no_problem_and_no_symlink_is_followed(tmp_path: Path) -> None:
    assert enforce_memory_qos([LOW, HIGH], cgroup_root=tmp_path) == ((), ())
    plant(tmp_path, {"other": "0", "pods": {"memory.low": Link("../other")}})
    done, problems = enforce_memory_qos([LOW], cgroup_root=tmp_path)
    assert (done, len(problems)) == ((), 1)
    assert (tmp_path / "other").read_text() == "0"
