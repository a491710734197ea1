"""A stop is confirmed by the runtime's listing and by the pod's cgroup: a runtime may list nothing of what runs."""

from concurrent.futures import Future
from pathlib import Path
from typing import TypeVar

import pytest

from evictd.act.stop.stopper import PodStopper
from evictd.act.stop.termination import Termination
from evictd.act.stop.victim_cgroups import VictimCgroups
from evictd.clients.cri.channel import Pending
from evictd.clients.cri.values import CriContainer, CriSandbox
from evictd.clock import boot_clock
from evictd_testnode.tool import wait_for
from tests.recorded_errors import RecordedErrors

T = TypeVar("T")
UID = "3f1c0a52-7a0e-4b6e-9a43-0d9f2a6b7c11"


class Forgetful:
    """A runtime that does what it is asked for and lists nothing."""

    def __init__(self) -> None:
        self.listed = 0

    def begin_stop_container(self, container_id: str, grace_seconds: int) -> Pending[None]:
        return answered(None)

    def begin_stop_sandbox(self, sandbox_id: str) -> Pending[None]:
        return answered(None)

    def begin_list_containers(self, uid: str = "") -> Pending[tuple[CriContainer, ...]]:
        self.listed += 1
        return answered(())

    def begin_list_sandboxes(self, uid: str = "") -> Pending[tuple[CriSandbox, ...]]:
        return answered(())


def answered(value: T) -> Pending[T]:
    future: Future[object] = Future()
    future.set_result(object())
    return Pending(future, "call", lambda _: value, timeout=60)


@pytest.mark.parametrize("pod", [f"pod{UID}", f"burstable/pod{UID}"])
def test_a_pod_that_the_runtime_does_not_list_has_stopped_when_its_cgroup_is_empty(tmp_path: Path, pod: str) -> None:
    """Before, the status of a pod that ran could be written, and its volumes removed."""
    directories = [tmp_path / name for name in (f"pod{UID}", f"burstable/pod{UID}")]
    (tmp_path / pod / "c1").mkdir(parents=True)
    (tmp_path / pod / "cgroup.kill").write_text("")
    events, processes = tmp_path / pod / "cgroup.events", tmp_path / pod / "c1/cgroup.procs"
    events.write_text("populated 1\n")
    processes.write_text("4294967\n")
    calls, errors = Forgetful(), RecordedErrors()
    killer = VictimCgroups(lambda _: directories, errors)

    def state() -> Termination:
        found = terminator.progress(UID)
        assert found is not None
        return found

    with PodStopper(calls, clock=boot_clock, minimum_grace_seconds=0, cgroups=killer, errors=errors) as terminator:
        terminator.begin(UID, containers=["c"], sandboxes=["s"], grace_seconds=600)
        assert wait_for(lambda: calls.listed >= 3)
        assert not state().finished
        assert state().errors[-1] == "the runtime lists nothing of it, but its cgroup has processes"
        events.write_text("populated 0\n")
        assert wait_for(lambda: state().finished)
    assert errors.details == []


def test_a_pod_of_which_only_what_has_ended_is_left_has_stopped(tmp_path: Path) -> None:
    """The pids controller counts processes that were not waited for; a shim that hangs waits for none."""
    pod = tmp_path / f"pod{UID}"
    pod.mkdir()
    (pod / "pids.current").write_text("1\n")
    (pod / "cgroup.procs").write_text("")
    killer = VictimCgroups(lambda _: [pod], RecordedErrors())
    assert not killer.has_processes(UID)
    (pod / "cgroup.procs").write_text("7\n")
    assert killer.has_processes(UID)


def test_where_it_cannot_be_seen_a_pod_has_not_stopped(tmp_path: Path) -> None:
    pod = tmp_path / f"pod{UID}"
    (pod / "cgroup.procs").mkdir(parents=True)
    assert VictimCgroups(lambda _: [pod], RecordedErrors()).has_processes(UID)
    wide = tmp_path / f"wide/pod{UID}"
    for number in range(300):
        (wide / f"{number}").mkdir(parents=True)
    assert VictimCgroups(lambda _: [wide], RecordedErrors()).has_processes(UID)
    assert not VictimCgroups(lambda _: [tmp_path / "none"], RecordedErrors()).has_processes(UID)
