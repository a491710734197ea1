"""Setting documented OOM scores, on processes that the test started."""

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from evictd.act.oom_score import enforce_oom_scores
from evictd.core.model.observation import Problem
from evictd.core.model.oom import OomScoreDifference
from evictd.core.model.pod import Pod

PROC = Path("/proc")


@pytest.fixture
def process() -> Iterator[int]:
    child = subprocess.Popen(["sleep", "1000"])
    yield child.pid
    child.kill()
    child.wait()


def difference(expected: int, *pids: int, found: int = 0) -> OomScoreDifference:
    pod = Pod(name="web", namespace="default", uid="u")
    return OomScoreDifference(pod=pod, container="main", expected=expected, found=found, cgroup="/pod/main", pids=pids)


def cgroup(root: Path, *pids: int) -> Path:
    (root / "pod/main").mkdir(parents=True)
    (root / "pod/main/cgroup.procs").write_text("".join(f"{pid}\n" for pid in pids))
    return root


def score(pid: int) -> int:
    return int((PROC / str(pid) / "oom_score_adj").read_text())


def details(problems: tuple[Problem, ...]) -> list[str]:
    return [problem.detail for problem in problems]


def test_a_score_is_raised(process: int, tmp_path: Path) -> None:
    raised = difference(938, process)
    enforced = enforce_oom_scores([raised], cgroup_root=cgroup(tmp_path, process), proc_root=PROC)
    assert (enforced, score(process)) == (((raised,), ()), 938)


def test_a_process_that_is_not_in_the_cgroup_is_not_changed(process: int, tmp_path: Path) -> None:
    before = score(process)
    _, problems = enforce_oom_scores([difference(938, process)], cgroup_root=cgroup(tmp_path), proc_root=PROC)
    assert (problems, score(process)) == ((), before)


def test_a_process_that_has_ended_counts_as_corrected(tmp_path: Path) -> None:
    child = subprocess.Popen(["true"])
    child.wait()
    root = cgroup(tmp_path, child.pid)
    assert enforce_oom_scores([difference(938, child.pid)], cgroup_root=root, proc_root=PROC)[1] == ()
    assert enforce_oom_scores([difference(938, os.getpid())], cgroup_root=tmp_path / "x", proc_root=PROC)[1] == ()


def test_lowering_without_the_capability_is_one_problem_and_the_others_are_corrected(
    process: int, tmp_path: Path
) -> None:
    capable = bool(int(_status("CapEff"), 16) & 1 << 24)
    lower, other, raised = difference(-997, process), difference(-996, process), difference(938, process)
    done, problems = enforce_oom_scores([lower, other, raised], cgroup_root=cgroup(tmp_path, process), proc_root=PROC)
    assert score(process) == 938
    if capable:
        assert (done, problems) == ((lower, other, raised), ())
    else:
        assert done == (raised,)
        assert details(problems) == [
            "default/web main: stays 0 instead of -997: lowering it needs CAP_SYS_RESOURCE (and 1 more containers)"
        ]


def test_any_other_fault_is_one_problem(process: int, tmp_path: Path) -> None:
    (tmp_path / "proc" / str(process) / "oom_score_adj").mkdir(parents=True)
    _, problems = enforce_oom_scores(
        [difference(938, process)], cgroup_root=cgroup(tmp_path, process), proc_root=tmp_path / "proc"
    )
    assert details(problems) == ["default/web main: stays 0 instead of 938: Is a directory"]


def _status(field: str) -> str:
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(line.split()[1] for line in lines if line.startswith(f"{field}:"))
