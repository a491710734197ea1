"""Kills through real cgroups of v1, as this kernel has them, and through a model of v2's tree."""

import os
import resource
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evictd.act.stop import cgroup_kill
from evictd.act.stop.cgroup_kill import PodKill, belongs
from evictd.act.stop.cgroup_tree import is_populated, processes, walk, write
from evictd.act.stop.stopper import PodStopper
from evictd.act.stop.termination import Termination
from evictd.act.stop.victim_cgroups import FIRST_DELAY, STUCK_AFTER, VictimCgroups
from evictd.clock import boot_clock
from evictd.core.units.duration import SECOND
from evictd.errors import NodeError
from evictd.observe.cgroups.cgroup import pod_cgroups
from evictd_testnode.cgroups import group, is_unified
from evictd_testnode.tool import wait_for
from tests.act.stop.test_stop_times import Unanswered
from tests.real_cgroups import branch, kill_cgroup, reason_against
from tests.recorded_errors import RecordedErrors

REAL = pytest.mark.skipif(bool(reason_against()), reason=reason_against())
UID = "3f1c0a52-7a0e-4b6e-9a43-0d9f2a6b7c11"
IGNORES_TERM = """
import os, signal, sys
signal.alarm(300)  # also where the test itself was killed
signal.signal(signal.SIGTERM, signal.SIG_IGN)
for folder in sys.argv[1:]:
    if not os.fork():
        signal.alarm(300)
        with open(folder + "/cgroup.procs", "w") as procs:
            procs.write("0")
        os.write(1, b"ready\\n")  # one write, so that lines of two processes do not mix
        signal.pause()
signal.pause()
"""


@contextmanager
def deaf(*folders: Path) -> Iterator["subprocess.Popen[str]"]:
    """One process in each of these cgroups that ignores SIGTERM; their parent is in none."""
    argv = [sys.executable, "-c", IGNORES_TERM, *map(str, folders)]
    process = subprocess.Popen(argv, stdout=subprocess.PIPE, text=True, start_new_session=True)
    try:
        assert process.stdout is not None
        for _ in folders:
            assert process.stdout.readline() == "ready\n"
        yield process
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        assert process.stdout is not None
        process.stdout.close()


def occupied(folder: Path) -> bool:
    return any((each / "cgroup.procs").read_text() for each in (folder, *folder.rglob("*/")) if each.is_dir())


def termination(*, grace_ends_at: int = SECOND, attempts: int = 1) -> Termination:
    return Termination(uid=UID, started_at=0, grace_ends_at=grace_ends_at, attempts=attempts)


@REAL
@pytest.mark.root
def test_processes_that_ignore_sigterm_are_killed_also_below_and_no_others() -> None:
    with branch() as name:
        pods = group("memory", name) / "kubepods"
        pod, other = pods / f"pod{UID}", pods / "podother"
        container, nested = pod / "c1", pod / "c1/nested"
        for each in (nested, other):
            each.mkdir(parents=True)
        with deaf(container, nested), deaf(other):
            assert occupied(nested)
            assert wait_for(lambda: kill_cgroup(pod, UID))
            assert not occupied(pod)
            assert occupied(other)
        for each in (nested, container, pod, other, pods):
            assert wait_for(lambda each=each: removed(each))  # type: ignore[misc]


@REAL
@pytest.mark.root
def test_a_pod_that_is_killed_one_by_one_can_fork_no_more() -> None:
    """A fork bomb would outrun the kill."""
    with branch() as name:
        pod = group("pids", name) / f"pod{UID}"
        pod.mkdir()
        with deaf(pod):
            assert wait_for(lambda: kill_cgroup(pod, UID))
        assert (pod / "pids.max").read_text() == "0\n"
        assert wait_for(lambda: removed(pod))


def test_a_process_that_is_killed_one_by_one_is_killed_once_in_an_attempt(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The loop's thread kills, and thirty thousand processes take a while to die."""
    pod = tmp_path / f"pod{UID}"
    pod.mkdir()
    sent: list[int] = []
    monkeypatch.setattr(signal, "pidfd_send_signal", lambda _fd, number: sent.append(number))
    with subprocess.Popen(["sleep", "600"]) as process:
        (pod / "cgroup.procs").write_text(f"{process.pid}\n")
        emptied = kill_cgroup(pod, UID)
        process.kill()
    assert not emptied
    assert sent == [signal.SIGKILL]


def test_no_process_is_killed_that_is_not_the_pods(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One that ended may have left its number to another process; evictd does not kill itself."""
    pod = tmp_path / f"pod{UID}"
    pod.mkdir()
    procs, pidfd_open, sent = pod / "cgroup.procs", os.pidfd_open, list[int]()
    monkeypatch.setattr(signal, "pidfd_send_signal", lambda _fd, number: sent.append(number))

    def ended_before(pid: int) -> int:
        procs.write_text("")
        return pidfd_open(pid)

    with subprocess.Popen(["sleep", "600"]) as process:
        procs.write_text(f"{process.pid}\n")
        with monkeypatch.context() as patch:
            patch.setattr(os, "pidfd_open", ended_before)
            kill_cgroup(pod, UID)
        procs.write_text(f"{os.getpid()}\n")
        kill_cgroup(pod, UID)
        process.kill()
    assert sent == []


@contextmanager
def nested(top: Path, levels: int, name: str) -> Iterator[None]:
    """Put cgroups below one, deeper than a path may be long; the innermost has a process that ignores SIGTERM."""
    here = os.open(top, os.O_RDONLY)
    try:
        for _ in range(levels):
            os.mkdir(name, dir_fd=here)
            below = os.open(name, os.O_RDONLY, dir_fd=here)
            os.close(here)
            here = below
        with deaf_in(here):
            yield
    finally:
        for _ in range(levels):
            above = os.open("..", os.O_RDONLY, dir_fd=here)
            os.close(here)
            here = above
            assert wait_for(partial(removed_from, here, name))
        os.close(here)


@contextmanager
def deaf_in(folder: int) -> Iterator[None]:
    with subprocess.Popen(["sleep", "300"]) as process:
        try:
            write(folder, "cgroup.procs", str(process.pid).encode())
            yield
        finally:
            process.kill()


def removed_from(folder: int, name: str) -> bool:
    try:
        os.rmdir(name, dir_fd=folder)
    except FileNotFoundError:
        return True
    except OSError:
        return False
    return True


@REAL
@pytest.mark.root
@pytest.mark.parametrize(("levels", "name"), [(1200, "c"), (20, "n" * 250)], ids=["deep", "longer than a path"])
def test_a_hostile_tree_hides_no_process_and_the_next_victim_is_killed_as_well(levels: int, name: str) -> None:
    other = "00000000-0000-0000-0000-000000000002"
    with branch() as top:
        pods = {uid: group("pids", top) / f"pod{uid}" for uid in (UID, other)}
        for pod in pods.values():
            pod.mkdir()
        errors = RecordedErrors()
        killer = VictimCgroups(lambda uid: (pods[uid],), errors)
        overdue = [Termination(uid=uid, started_at=0, grace_ends_at=SECOND, attempts=1) for uid in pods]
        with nested(pods[UID], levels, name), deaf(pods[other]):
            assert is_populated(pods[UID])
            emptied: set[str] = set()
            now = iter(range(SECOND, 1000 * SECOND, SECOND))

            def all_emptied() -> bool:
                emptied.update(each.uid for each in killer.kill_overdue(overdue, next(now)))
                return emptied == set(pods)

            assert wait_for(all_emptied)
            assert not any(processes_below(pod) for pod in pods.values())
        assert errors.details == []
        for pod in pods.values():
            assert wait_for(lambda pod=pod: removed(pod))  # type: ignore[misc]


def processes_below(pod: Path) -> frozenset[int]:
    return frozenset().union(*(processes(each) for each in walk(pod)))


@REAL
@pytest.mark.root
@pytest.mark.skipif(is_unified(), reason="a frozen process of cgroup v2 dies by itself")
def test_a_frozen_pod_is_thawed_to_die(tmp_path: Path) -> None:
    freezers = Path("/sys/fs/cgroup/freezer")
    if not os.access(freezers, os.W_OK):
        pytest.skip("needs a writable freezer")
    with branch() as top:
        pod, frozen = group("pids", top) / f"pod{UID}", freezers / top.lstrip("/") / f"pod{UID}/c1"
        pod.mkdir()
        frozen.mkdir(parents=True)
        with subprocess.Popen(["sleep", "300"]) as process:
            for folder in (pod, frozen):
                (folder / "cgroup.procs").write_text(str(process.pid))
            (frozen / "freezer.state").write_text("FROZEN")
            assert wait_for(lambda: (frozen / "freezer.state").read_text() == "FROZEN\n")
            kill = PodKill(pod, UID, freezer=frozen.parent)
            assert wait_for(kill.attempt)
            assert process.wait() == -signal.SIGKILL
        assert wait_for(lambda: removed(pod))


@REAL
@pytest.mark.root
@pytest.mark.skipif(is_unified(), reason="a frozen process of cgroup v2 dies by itself")
def test_a_process_in_state_d_is_named_until_it_is_gone() -> None:
    """A frozen process of v1 is in state D; here its freezer is not the pod's, so that it stays so."""
    freezers = Path("/sys/fs/cgroup/freezer")
    if not os.access(freezers, os.W_OK):
        pytest.skip("needs a writable freezer")
    with branch() as top:
        pod, frozen = group("pids", top) / f"pod{UID}", freezers / top.lstrip("/") / "elsewhere"
        pod.mkdir()
        frozen.mkdir(parents=True)
        with subprocess.Popen(["sleep", "300"]) as process:
            for folder in (pod, frozen):
                (folder / "cgroup.procs").write_text(str(process.pid))
            (frozen / "freezer.state").write_text("FROZEN")
            killer = VictimCgroups(
                lambda _: (pod,), errors := RecordedErrors(), freezer_of=lambda _: frozen.parent / "no"
            )
            terminator = PodStopper(
                Unanswered(), clock=boot_clock, minimum_grace_seconds=0, cgroups=killer, errors=errors
            )

            def unkillable() -> tuple[int, ...]:
                state = terminator.progress(UID)
                return () if state is None else state.unkillable

            with terminator:
                terminator.begin(UID, containers=["c"], sandboxes=[], grace_seconds=0)
                assert wait_for(lambda: unkillable() == (process.pid,))
                (frozen / "freezer.state").write_text("THAWED")
                assert process.wait() == -signal.SIGKILL
                assert wait_for(lambda: unkillable() == ())
            assert errors.details == []
        for folder in (pod, frozen):
            assert wait_for(lambda folder=folder: removed(folder))  # type: ignore[misc]


def test_a_tree_of_more_cgroups_than_one_attempt_visits_is_gone_through_by_turns(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cgroup_kill, "VISITS", 10)
    pod, other = tmp_path / f"pod{UID}", "00000000-0000-0000-0000-000000000002"
    for number in range(45):
        (pod / f"{number}").mkdir(parents=True)
    v2_pod(tmp_path / "other").rename(tmp_path / f"pod{other}")
    killer = VictimCgroups(lambda uid: (tmp_path / f"pod{uid}",), errors := RecordedErrors())
    overdue = [Termination(uid=uid, started_at=0, grace_ends_at=SECOND, attempts=1) for uid in (UID, other)]
    assert [each.uid for each in killer.kill_overdue(overdue, SECOND)] == [other]
    for turn in range(1, 4):
        assert killer.due_at(overdue[0]) == SECOND + turn * FIRST_DELAY
        assert killer.kill_overdue(overdue, SECOND + turn * FIRST_DELAY) == []
    assert [each.uid for each in killer.kill_overdue(overdue, SECOND + 4 * FIRST_DELAY)] == [UID]
    assert errors.details == []


def test_an_error_of_one_pod_leaves_the_others_to_be_killed(tmp_path: Path) -> None:
    """Whatever it is; and it is tried again."""
    pod = v2_pod(tmp_path)

    def directories(uid: str) -> tuple[Path, ...]:
        if uid != UID:
            raise ValueError("a fault")
        return (pod,)

    killer = VictimCgroups(directories, errors := RecordedErrors())
    faulty = Termination(uid="faulty", started_at=0, grace_ends_at=SECOND, attempts=1)
    assert killer.kill_overdue([faulty, termination()], SECOND) == [termination()]
    assert ["ValueError: a fault" in each for each in errors.details] == [True]
    assert killer.due_at(faulty) == SECOND + FIRST_DELAY


def test_a_cgroup_that_cannot_be_read_never_counts_as_empty(tmp_path: Path) -> None:
    """Else the volumes would be removed under the pod."""
    pod = tmp_path / f"pod{UID}"
    (pod / "c1/cgroup.procs").mkdir(parents=True)
    emptied: list[str] = []
    killer = VictimCgroups(lambda _: (pod,), errors := RecordedErrors(), emptied.append)
    assert killer.kill_overdue([termination()], SECOND) == []
    assert (emptied, errors.details) == ([], ["pods are killed by the runtime alone: cgroup.procs: Is a directory"])
    kill = PodKill(pod, UID, freezer=pod)
    with pytest.raises(NodeError):
        kill.attempt()
    assert kill.occupied


def test_a_cgroup_that_cannot_be_seen_does_not_count_as_gone(tmp_path: Path) -> None:
    """`Path.is_dir` of Python 3.14 answers False for every error."""
    kill = PodKill(tmp_path / ("x" * 300) / f"pod{UID}", UID, freezer=tmp_path)
    assert kill.has_processes()
    with pytest.raises(NodeError, match="File name too long"):
        kill.attempt()


def test_processes_of_another_pid_namespace_are_not_gone(tmp_path: Path) -> None:
    """The kernel lists them as 0; they cannot be killed from here."""
    pod = tmp_path / f"pod{UID}"
    pod.mkdir()
    (pod / "cgroup.procs").write_text("0\n")
    with pytest.raises(NodeError, match="PID namespace"):
        kill_cgroup(pod, UID)


def test_a_pod_with_a_process_in_state_d_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pod = v2_pod(tmp_path)
    populate(pod, True)
    (pod / "c1/cgroup.procs").write_bytes(b"4294967\n")
    monkeypatch.setattr(cgroup_kill, "uninterruptible", tuple)
    killer, _ = killer_of(pod)
    for now in range(SECOND, SECOND + STUCK_AFTER, SECOND // 2):
        killer.kill_overdue([termination()], now)
        assert killer.unkillable() == {}
    killer.kill_overdue([termination(attempts=2)], SECOND + STUCK_AFTER)
    assert killer.unkillable() == {UID: (4294967,)}
    populate(pod, False)
    killer.kill_overdue([termination(attempts=2)], 2 * SECOND + STUCK_AFTER)
    assert killer.unkillable() == {}


def removed(folder: Path) -> bool:
    try:
        folder.rmdir()
    except FileNotFoundError:
        return True
    except OSError:
        return False
    return True


@REAL
@pytest.mark.root
def test_another_pods_cgroup_is_refused() -> None:
    with branch() as name:
        pod = group("memory", name) / "podother"
        pod.mkdir()
        with deaf(pod):
            with pytest.raises(NodeError, match="is not the cgroup of pod"):
                kill_cgroup(pod, UID)
            assert occupied(pod)
        assert wait_for(lambda: removed(pod))


@pytest.mark.parametrize("pods", ["/kubepods", "/kubepods.slice", "/my_root.slice/my_root-kubepods.slice"])
def test_every_name_of_a_pods_cgroup_belongs_to_it(pods: str) -> None:
    assert all(belongs(path.rpartition("/")[2], UID) for path in pod_cgroups(pods, UID))


@given(ours=st.uuids().map(str), others=st.uuids().map(str), pods=st.sampled_from(["/kubepods", "/kubepods.slice"]))
def test_no_name_of_another_pods_cgroup_does(ours: str, others: str, pods: str) -> None:
    if ours != others:
        assert not any(belongs(path.rpartition("/")[2], ours) for path in pod_cgroups(pods, others))


@pytest.mark.parametrize("uid", ["", ".", "..", "a/b", "../etc", "é", "a\n", "-a"])
def test_a_hostile_uid_owns_nothing(uid: str) -> None:
    assert not belongs(f"pod{uid}", uid)


def test_a_uid_that_could_be_written_like_another_ones_owns_no_slice() -> None:
    assert belongs("kubepods-poda_b.slice", "a-b")
    assert not belongs("kubepods-poda_b.slice", "a_b")


def v2_pod(base: Path) -> Path:
    """A pod's directory as cgroup v2 has it: files that take a write."""
    pod = base / f"pod{UID}"
    (pod / "c1").mkdir(parents=True)
    for each in (pod, pod / "c1"):
        (each / "cgroup.kill").write_bytes(b"")
        (each / "cgroup.procs").write_bytes(b"")
    populate(pod, False)
    return pod


def populate(pod: Path, populated: bool) -> None:
    (pod / "cgroup.events").write_text(f"populated {populated:d}\nfrozen 0\n")


def test_on_v2_one_write_to_the_pods_own_cgroup_kills_it(tmp_path: Path) -> None:
    pod = v2_pod(tmp_path)
    assert kill_cgroup(pod, UID)
    assert (pod / "cgroup.kill").read_bytes() == b"1"
    assert (pod / "c1/cgroup.kill").read_bytes() == b""


def test_on_v2_processes_that_die_slowly_are_waited_for(tmp_path: Path) -> None:
    pod = v2_pod(tmp_path)
    populate(pod, True)
    assert not kill_cgroup(pod, UID)


def killer_of(*folders: Path) -> tuple[VictimCgroups, RecordedErrors]:
    errors = RecordedErrors()
    directories: Callable[[str], tuple[Path, ...]] = lambda _: folders  # noqa: E731
    return VictimCgroups(directories, errors), errors


def test_nothing_is_killed_before_its_grace_is_over(tmp_path: Path) -> None:
    pod = v2_pod(tmp_path)
    killer, _ = killer_of(pod)
    assert not killer.kill_overdue([termination()], SECOND - 1)
    assert killer.due_at(termination()) == SECOND
    assert (pod / "cgroup.kill").read_bytes() == b""
    assert killer.kill_overdue([termination()], SECOND)
    assert (pod / "cgroup.kill").read_bytes() == b"1"


def test_a_pod_is_killed_once_for_each_time_that_it_is_asked_to_stop(tmp_path: Path) -> None:
    pod = v2_pod(tmp_path)
    killer, _ = killer_of(pod)
    assert killer.kill_overdue([termination()], SECOND)
    assert not killer.kill_overdue([termination()], 2 * SECOND)
    assert killer.kill_overdue([termination(attempts=2)], 2 * SECOND)


def test_one_that_dies_slowly_is_looked_at_again(tmp_path: Path) -> None:
    pod = v2_pod(tmp_path)
    populate(pod, True)
    killer, _ = killer_of(pod)
    assert not killer.kill_overdue([termination()], SECOND)
    assert killer.due_at(termination()) == SECOND + FIRST_DELAY
    populate(pod, False)
    assert not killer.kill_overdue([termination()], SECOND + FIRST_DELAY - 1)
    assert killer.kill_overdue([termination()], SECOND + FIRST_DELAY)


def test_a_pod_without_a_cgroup_is_left_to_the_runtime(tmp_path: Path) -> None:
    killer, errors = killer_of(tmp_path / f"pod{UID}")
    assert not killer.kill_overdue([termination()], SECOND)
    assert killer.due_at(termination()) > 1 << 60
    assert errors.details == []


def test_a_cgroup_that_is_removed_while_it_is_killed_is_no_refusal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The runtime removes it as soon as its last process has ended; the pod's volumes may be emptied from then on."""
    pod = v2_pod(tmp_path)

    def removed_meanwhile(directory: Path) -> bool | None:
        monkeypatch.undo()
        shutil.rmtree(directory)
        return True

    monkeypatch.setattr(cgroup_kill, "is_populated", removed_meanwhile)
    emptied, errors = list[str](), RecordedErrors()
    killer = VictimCgroups(lambda _: (pod,), errors, emptied.append)
    assert not killer.kill_overdue([termination()], SECOND)
    killer.kill_overdue([termination()], SECOND + FIRST_DELAY)
    assert (emptied, errors.details) == ([UID], [])


def test_a_kernel_that_refuses_is_reported_once(tmp_path: Path) -> None:
    pod = tmp_path / f"pod{UID}"
    (pod / "cgroup.kill").mkdir(parents=True)
    killer, errors = killer_of(pod)
    assert not killer.kill_overdue([termination()], SECOND)
    assert not killer.kill_overdue([termination(attempts=2)], 2 * SECOND)
    assert errors.details == ["pods are killed by the runtime alone: cgroup.kill: Is a directory"]


@contextmanager
def no_descriptor_left() -> Iterator[None]:
    """As while a fork bomb's processes, or a burst of clients, hold all that this process may open."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    with Path(os.devnull).open() as lowest_free:
        number = lowest_free.fileno()
    resource.setrlimit(resource.RLIMIT_NOFILE, (number, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@pytest.mark.parametrize("v2", [True, False])
def test_without_a_free_descriptor_no_pod_counts_as_dead_and_the_kill_is_tried_again(tmp_path: Path, v2: bool) -> None:
    pod = v2_pod(tmp_path)
    if not v2:
        for file in (*tmp_path.rglob("cgroup.kill"), *tmp_path.rglob("cgroup.events")):
            file.unlink()
    killer, errors = killer_of(pod)
    with no_descriptor_left():
        assert not killer.kill_overdue([termination()], SECOND)
    assert killer.due_at(termination()) == SECOND + FIRST_DELAY
    assert errors.details == []
    assert killer.kill_overdue([termination()], SECOND + FIRST_DELAY)


def test_this_machine_has_the_tree_that_these_tests_claim() -> None:
    """The tests with real cgroups kill one by one only where there is no `cgroup.kill`."""
    if not reason_against():
        assert is_unified() is group("memory", "/").joinpath("cgroup.controllers").exists()
