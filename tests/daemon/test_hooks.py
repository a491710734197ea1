"""Commands around evictions: what they are given, when they are not started, and that nothing waits for them."""

import json
import os
from dataclasses import replace
from pathlib import Path

import pytest

from evictd.codec.strict import Duration
from evictd.config.settings import HookSettings
from evictd.core.eviction.synchronize import synchronize
from evictd.core.model.config import Policy
from evictd.core.model.finding import ThresholdFinding
from evictd.core.model.observation import Outcomes
from evictd.core.model.state import CleaningUp, State, Victim
from evictd.core.units.duration import SECOND
from evictd.daemon.hooks import Hooks, run_command
from evictd.daemon.store.recorder import Cycle
from evictd.daemon.waiter import WaitResult
from evictd.errors import NodeError
from tests.daemon.conftest import Make
from tests.daemon.world import CONFIG, GI, HOG, NOW, WALL, observe


class Errors:
    def __init__(self) -> None:
        self.found: list[str] = []

    def report_error(self, source: str, detail: str) -> None:
        self.found.append(f"{source}: {detail}")


def script(folder: Path, text: str, name: str = "hook") -> str:
    path = folder / name
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return str(path)


def evicting(*, starved: bool) -> Cycle:
    """A cycle that evicts a pod, with or without the finding that a hard threshold of memory is met."""
    observation = observe(GI // 2)
    step = synchronize(State(), observation, CONFIG, NOW)
    step = step if starved else replace(step, findings=())
    return Cycle(now=NOW, wall=WALL, before=State(), observation=observation, config=CONFIG, step=step)


def ran(settings: HookSettings, cycle: Cycle) -> list[str]:
    """Run the hooks of a cycle; gives the errors."""
    errors = Errors()
    hooks = Hooks(settings, errors)
    hooks.run(cycle)
    hooks.close()
    return errors.found


def test_a_command_reads_the_decision_and_then_the_end(tmp_path: Path) -> None:
    command = (script(tmp_path, f'cat >> "{tmp_path}/$1"; env >> "{tmp_path}/env"'), "seen")
    settings = HookSettings(before=command, after=command)
    cycle = evicting(starved=False)
    assert ran(settings, cycle) == []
    gone = replace(observe(4 * GI), outcomes=Outcomes(cleaned_up=frozenset({HOG.uid})))
    step = synchronize(cycle.step.state, gone, CONFIG, NOW + SECOND)
    assert ran(settings, replace(cycle, before=cycle.step.state, observation=gone, step=step)) == []
    before, after = map(json.loads, (tmp_path / "seen").read_text().splitlines())
    assert (before["event"], before["pod"]["name"], before["because"]["signal"]) == (
        "before",
        "hog",
        "memory.available",
    )
    assert after == {"event": "after", "kind": "PodGone", "pod": {"fullName": "default/hog", "uid": HOG.uid}}
    names = {line.partition("=")[0] for line in (tmp_path / "env").read_text().splitlines()}
    assert names <= {"PATH", "LANG", "PWD", "SHLVL", "_", "OLDPWD"}


def test_the_end_of_a_pod_is_reported_once_while_another_is_waited_for(tmp_path: Path) -> None:
    """Policy Kubelet keeps its victims until the last one is gone."""
    settings = HookSettings(after=(script(tmp_path, f'cat >> "{tmp_path}/seen"'),))
    kubelet = replace(CONFIG, policy=Policy.KUBELET)
    victims = (
        Victim(uid=HOG.uid, full_name="default/hog", until=NOW + 60 * SECOND),
        Victim(uid="b", until=NOW + 60 * SECOND),
    )
    state = State(in_flight=victims, phase=CleaningUp(until=NOW + 60 * SECOND))
    for gone in ({HOG.uid}, {HOG.uid}, {HOG.uid, "b"}):
        seen = replace(observe(4 * GI), outcomes=Outcomes(cleaned_up=frozenset(gone)))
        step = synchronize(state, seen, kubelet, NOW)
        assert ran(settings, Cycle(now=NOW, wall=WALL, before=state, observation=seen, config=kubelet, step=step)) == []
        state = step.state
    uids = [json.loads(line)["pod"]["uid"] for line in (tmp_path / "seen").read_text().splitlines()]
    assert uids == [HOG.uid, "b"]


def test_no_command_is_started_on_a_node_without_memory(tmp_path: Path) -> None:
    settings = HookSettings(before=(script(tmp_path, f"touch {tmp_path}/seen"),))
    assert ran(settings, evicting(starved=True)) == [
        "hook: before default/hog: not started while memory.available is below its hard threshold"
    ]
    assert not (tmp_path / "seen").exists()
    assert ran(settings, evicting(starved=False)) == []
    assert (tmp_path / "seen").exists()


def test_a_soft_threshold_of_memory_keeps_no_command(tmp_path: Path) -> None:
    settings = HookSettings(before=(script(tmp_path, f"touch {tmp_path}/seen"),))
    cycle = evicting(starved=True)
    soft = [
        replace(each, threshold=replace(each.threshold, grace_period=SECOND))
        for each in cycle.step.findings
        if isinstance(each, ThresholdFinding) and each.met
    ]
    assert soft
    assert ran(settings, replace(cycle, step=replace(cycle.step, findings=tuple(soft)))) == []
    assert (tmp_path / "seen").exists()


@pytest.mark.slow
def test_a_command_is_killed_at_its_limit_with_what_it_started(tmp_path: Path) -> None:
    """Both hold the FIFO open; it ends when the last of them is dead."""
    os.mkfifo(fifo := tmp_path / "fifo")
    reader = os.open(fifo, os.O_RDONLY | os.O_NONBLOCK)
    command = script(tmp_path, f"exec 3> {fifo}; sleep 600 & wait")
    with pytest.raises(NodeError, match="killed after 2s"):
        run_command((command,), b"", 2)
    os.set_blocking(reader, True)
    assert os.read(reader, 1) == b""
    os.close(reader)


@pytest.mark.parametrize(
    ("mode", "text", "wrong"),
    [(0o777, "true", "others than its owner"), (0o755, "exit 3", "exit status 3")],
)
def test_what_is_wrong_with_a_command_is_an_error(tmp_path: Path, mode: int, text: str, wrong: str) -> None:
    command = script(tmp_path, text)
    Path(command).chmod(mode)
    with pytest.raises(NodeError, match=wrong):
        run_command((command,), b"", 60)


@pytest.mark.parametrize("linked", [False, True])
def test_a_command_in_a_folder_that_others_may_write_is_refused(tmp_path: Path, linked: bool) -> None:
    """They could put a link to any program of root in its place."""
    (folder := tmp_path / "shared").mkdir()
    command = Path(script(folder, "true"))
    if linked:
        (command := tmp_path / "link").symlink_to(folder / "hook")
    run_command((str(command),), b"", 60)
    folder.chmod(0o777)
    with pytest.raises(NodeError, match="shared: others than its owner may write it"):
        run_command((str(command),), b"", 60)
    folder.chmod(0o1777)
    run_command((str(command),), b"", 60)


def test_a_command_that_is_missing_or_does_not_read_costs_itself(tmp_path: Path) -> None:
    found = ran(HookSettings(before=("/no/such/program",)), evicting(starved=False))
    assert found == ["hook: /no/such/program: No such file or directory"]
    run_command((script(tmp_path, "exec true"),), b"x" * 1_000_000, 60)


def test_nothing_waits_for_a_command(tmp_path: Path) -> None:
    """It runs on until it is told to end, while `run` has returned."""
    os.mkfifo(fifo := tmp_path / "fifo")
    hooks = Hooks(
        HookSettings(before=(script(tmp_path, f"read x < {fifo}"),), time_limit=Duration(60 * SECOND)),
        errors := Errors(),
    )
    hooks.run(evicting(starved=False))
    with fifo.open("w") as file:
        file.write("go\n")
    hooks.close()
    assert errors.found == []


@pytest.mark.parametrize("dry_run", [False, True])
def test_a_cycle_of_a_dry_run_starts_no_command(tmp_path: Path, make: Make, dry_run: bool) -> None:
    seen: list[Cycle] = []
    ours = make([observe(GI // 2)], dry_run=dry_run, hooks=seen.append)
    ours.loop.cycle(WaitResult())
    assert len(seen) == (not dry_run)
