"""When OOM scores are put right: on processes of our own, in a cgroup tree of files."""

import os
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from evictd.core.observation import Observation
from evictd.core.oom import OomScoreDifference
from evictd.core.pod import Pod
from evictd.core.stats import NodeGauges, NodeStats
from evictd.daemon import oom_scores
from evictd.daemon.oom_scores import PERIOD, OomScores
from evictd.daemon.sight import Sight
from evictd.observe.runtime_view import RuntimeView
from tests.daemon.world import GI, HOG, NOW, WALL, WEB
from tests.observe.runtime import container

CGROUPS = {HOG.uid: "/kubepods/besteffort/hog", WEB.uid: "/kubepods/burstable/web"}
PROC = Path("/proc")


class Node:
    """Containers, each one process of ours, and what was told of them."""

    def __init__(self, folder: Path, *, enforce: bool = True) -> None:
        self.folder = folder
        self.told: list[tuple[str, int, int]] = []
        self.scores = OomScores(enforce=enforce, cgroup=folder, proc=PROC, tell=self._tell)
        self.processes: list[subprocess.Popen[bytes]] = []
        self.running: list[Any] = []

    def _tell(self, difference: OomScoreDifference) -> None:
        self.told.append((difference.pod.name, difference.found, difference.expected))

    def start(self, pod: Pod) -> int:
        """Start a container of a pod."""
        process = subprocess.Popen(["setpriv", "--pdeathsig", "KILL", "sleep", "1000"])
        self.processes.append(process)
        row = container(f"id{process.pid}", "main")
        group = self.folder / CGROUPS[pod.uid].lstrip("/") / row.id
        group.mkdir(parents=True)
        (group / "cgroup.procs").write_text(f"{process.pid}\n")
        self.running.append(row)
        return process.pid

    def attend(self, *pods: Pod, at: int = NOW, dry_run: bool = False, capacity: int | None = 8 * GI) -> None:
        view = RuntimeView(time=at, sandboxes=(), containers=tuple(self.running), pod_cgroups=CGROUPS)
        node = NodeStats(name="n", gauges=NodeGauges(capacity_bytes=capacity))
        seen = Sight(now=at, wall=WALL, observation=Observation(node=node, pods=pods), view=view)
        self.scores.attend(seen, dry_run=dry_run)


def score(pid: int) -> int:
    return int((PROC / str(pid) / "oom_score_adj").read_text())


def put(pid: int, value: int) -> None:
    (PROC / str(pid) / "oom_score_adj").write_text(str(value))


def may_lower() -> bool:
    """Whether this process has CAP_SYS_RESOURCE."""
    lines = (PROC / "self/status").read_text().splitlines()
    return bool(int(next(line.split()[1] for line in lines if line.startswith("CapEff:")), 16) & 1 << 24)


@pytest.fixture
def node(tmp_path: Path) -> Iterator[Node]:
    made = Node(tmp_path)
    yield made
    for process in made.processes:
        with suppress(ProcessLookupError):
            os.kill(process.pid, 9)
        process.wait()


def test_a_score_is_put_right_and_told(node: Node) -> None:
    pid = node.start(HOG)
    before = score(pid)
    node.attend(HOG)
    assert (score(pid), node.told, node.scores.problems()) == (1000, [("hog", before, 1000)], ())


def test_nothing_is_looked_at_again_before_something_changes_or_time_has_passed(node: Node) -> None:
    pid = node.start(HOG)
    node.attend(HOG)
    put(pid, 900)
    node.attend(HOG, at=NOW + PERIOD - 1)
    assert score(pid) == 900
    node.attend(HOG, at=NOW + PERIOD)
    assert score(pid) == 1000


def test_a_container_that_came_is_looked_at_at_once(node: Node) -> None:
    node.attend(HOG, WEB)
    pid = node.start(HOG)
    node.attend(HOG, WEB, at=NOW + 1)
    assert score(pid) == 1000
    web = node.start(WEB)
    node.attend(HOG, WEB, at=NOW + 2)
    assert score(web) == 875


def test_a_pod_of_which_more_is_known_is_looked_at_at_once(node: Node) -> None:
    pid = node.start(HOG)
    before = score(pid)
    node.attend(replace(HOG, spec_known=False))
    assert score(pid) == before
    node.attend(HOG, at=NOW + 1)
    assert score(pid) == 1000


def test_a_dry_run_says_what_would_be_set_once_and_sets_nothing(node: Node) -> None:
    pid = node.start(HOG)
    before = score(pid)
    for at in (NOW, NOW + 1, NOW + PERIOD):
        node.attend(HOG, at=at, dry_run=True)
    assert (score(pid), node.told) == (before, [("hog", before, 1000)])
    node.attend(HOG, at=NOW + PERIOD + 1)
    assert score(pid) == 1000


def test_what_may_not_be_lowered_is_one_problem_that_stays_and_the_others_are_done(node: Node) -> None:
    guarded = replace(WEB, status_qos_class="Guaranteed")
    web, hog = node.start(WEB), node.start(HOG)
    before = score(web)
    for at in (NOW, NOW + PERIOD):
        node.attend(guarded, HOG, at=at)
        assert score(hog) == 1000
        if may_lower():
            assert (score(web), node.scores.problems()) == (-997, ())
        else:
            (problem,) = node.scores.problems()
            assert problem.detail == (
                f"default/web main: stays {before} instead of -997: lowering it needs CAP_SYS_RESOURCE"
            )
    assert [name for name, *_ in node.told].count("hog") == 1


@pytest.mark.parametrize("missing", ["option", "runtime", "capacity"])
def test_without_the_option_the_runtime_or_the_capacity_nothing_is_even_read(
    tmp_path: Path, missing: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks: list[Any] = []

    def differences(*asked: Any, **_: Any) -> tuple[OomScoreDifference, ...]:
        looks.append(asked)
        return ()

    monkeypatch.setattr(oom_scores, "oom_score_differences", differences)
    made = Node(tmp_path, enforce=missing != "option")
    if missing == "runtime":
        blind: Any = SimpleNamespace(view=None, observation=Observation(node=None), now=NOW)
        made.scores.attend(blind, dry_run=False)
    else:
        made.attend(HOG, capacity=None if missing == "capacity" else GI)
    assert looks == []
    made.scores = OomScores(enforce=True, cgroup=tmp_path, proc=PROC, tell=made._tell)
    made.attend(HOG)
    assert len(looks) == 1
