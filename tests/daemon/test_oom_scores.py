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

from evictd.act.dry_run import DryRunActuator
from evictd.act.node_actuation import OomScoreWriter
from evictd.core.model.decision import Decision, RecordEvent
from evictd.core.model.observation import Observation
from evictd.core.model.oom import MemoryQoSDifference, MemoryQoSRules, OomScoreDifference
from evictd.core.model.pod import Pod
from evictd.core.model.stats import NodeGauges, NodeStats
from evictd.daemon import oom_scores
from evictd.daemon.oom_scores import PERIOD, OomScores
from evictd.observe.reading.reading import Reading
from evictd.observe.runtime.runtime_view import RuntimeView
from tests.daemon.world import GI, HOG, NOW, WALL, WEB
from tests.observe.runtime_double import container

CGROUPS = {HOG.uid: "/kubepods/besteffort/hog", WEB.uid: "/kubepods/burstable/web"}
PROC = Path("/proc")


class Node:
    """Containers, each one process of ours, and what was logged of them."""

    def __init__(self, folder: Path, *, enforce: bool = True, memory_qos: MemoryQoSRules | None = None) -> None:
        self.folder = folder
        self.logged: list[tuple[str, int | None, int | None]] = []
        self.scores = OomScores(
            enforce=enforce, cgroup=folder, proc=PROC, memory_qos=None if memory_qos is None else lambda: memory_qos
        )
        self._live = OomScoreWriter(self, cgroup=folder, proc=PROC)
        live: Any = None
        self._dry_run = DryRunActuator(live, self)
        self.processes: list[subprocess.Popen[bytes]] = []
        self.running: list[Any] = []

    def corrected(self, difference: OomScoreDifference | MemoryQoSDifference, *, prefix: str = "") -> None:
        name = (
            f"{difference.subject} {difference.file}"
            if isinstance(difference, MemoryQoSDifference)
            else difference.pod.name
        )
        self.logged.append((prefix + name, difference.found, difference.expected))

    def decision(self, decision: Decision, *, prefix: str = "") -> None:
        raise AssertionError(decision)

    def event(self, event: RecordEvent) -> None:
        raise AssertionError(event)

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

    def compare(self, *pods: Pod, at: int = NOW, dry_run: bool = False, capacity: int | None = 8 * GI) -> None:
        view = RuntimeView(time=at, sandboxes=(), containers=tuple(self.running), pod_cgroups=CGROUPS)
        node = NodeStats(name="n", gauges=NodeGauges(capacity_bytes=capacity))
        seen = Reading(now=at, wall=WALL, observation=Observation(node=node, pods=pods), view=view)
        self.scores.compare(seen, self._dry_run if dry_run else self._live)


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


def test_a_score_is_set_and_logged(node: Node) -> None:
    pid = node.start(HOG)
    before = score(pid)
    node.compare(HOG)
    assert (score(pid), node.logged, node.scores.problems()) == (1000, [("hog", before, 1000)], ())


def test_nothing_is_compared_again_before_something_changes_or_time_has_passed(node: Node) -> None:
    pid = node.start(HOG)
    node.compare(HOG)
    put(pid, 900)
    node.compare(HOG, at=NOW + PERIOD - 1)
    assert score(pid) == 900
    node.compare(HOG, at=NOW + PERIOD)
    assert score(pid) == 1000


def test_a_new_container_is_compared_at_once(node: Node) -> None:
    node.compare(HOG, WEB)
    pid = node.start(HOG)
    node.compare(HOG, WEB, at=NOW + 1)
    assert score(pid) == 1000
    web = node.start(WEB)
    node.compare(HOG, WEB, at=NOW + 2)
    assert score(web) == 875


def test_a_pod_whose_spec_becomes_known_is_compared_at_once(node: Node) -> None:
    pid = node.start(HOG)
    before = score(pid)
    node.compare(replace(HOG, spec_known=False))
    assert score(pid) == before
    node.compare(HOG, at=NOW + 1)
    assert score(pid) == 1000


def test_a_dry_run_logs_once_what_would_be_set_and_sets_nothing(node: Node) -> None:
    pid = node.start(HOG)
    before = score(pid)
    for at in (NOW, NOW + 1, NOW + PERIOD):
        node.compare(HOG, at=at, dry_run=True)
    assert (score(pid), node.logged) == (before, [("would hog", before, 1000)])
    node.compare(HOG, at=NOW + PERIOD + 1)
    assert score(pid) == 1000


def test_what_may_not_be_lowered_is_one_problem_that_stays_and_the_others_are_done(node: Node) -> None:
    guarded = replace(WEB, status_qos_class="Guaranteed")
    web, hog = node.start(WEB), node.start(HOG)
    before = score(web)
    for at in (NOW, NOW + PERIOD):
        node.compare(guarded, HOG, at=at)
        assert score(hog) == 1000
        if may_lower():
            assert (score(web), node.scores.problems()) == (-997, ())
        else:
            (problem,) = node.scores.problems()
            assert problem.detail == (
                f"default/web main: stays {before} instead of -997: lowering it needs CAP_SYS_RESOURCE"
            )
    assert [name for name, *_ in node.logged].count("hog") == 1


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
        made.scores.compare(blind, made._live)
    else:
        made.compare(HOG, capacity=None if missing == "capacity" else GI)
    assert looks == []
    made.scores = OomScores(enforce=True, cgroup=tmp_path, proc=PROC)
    made.compare(HOG)
    assert len(looks) == 1


def test_memory_qos_is_set_once_by_itself_or_logged_in_a_dry_run(tmp_path: Path) -> None:
    """A container above its memory.high is left as it is, as a problem."""
    made = Node(tmp_path, enforce=False, memory_qos=MemoryQoSRules())
    made.running = [container("one", "main")]
    group = tmp_path / CGROUPS[WEB.uid].lstrip("/") / "one"
    group.mkdir(parents=True)
    (tmp_path / "cgroup.controllers").write_text("memory\n")
    (group / "memory.high").write_text("max\n")
    (group / "memory.current").write_text(f"{7 * GI}\n")
    high = (GI + int(7 * GI * 0.9)) // os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PAGE_SIZE")
    made.compare(WEB, dry_run=True)
    made.compare(WEB, dry_run=True, at=NOW + PERIOD)
    assert made.logged == [("would default/web main memory.high", None, high)]
    made.compare(WEB, at=NOW + 2 * PERIOD)
    assert (group / "memory.high").read_text() == str(high)
    assert made.logged[1:] == [("default/web main memory.high", None, high)]
    (group / "memory.high").write_text("max\n")
    (group / "memory.current").write_text(f"{8 * GI}\n")
    made.compare(WEB, at=NOW + 3 * PERIOD)
    [problem] = made.scores.problems()
    assert problem.source == "memory QoS"
    assert (group / "memory.high").read_text() == "max\n"
