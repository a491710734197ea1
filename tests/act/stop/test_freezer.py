"""Freezes and thaws real cgroups of both versions, as this kernel has them."""

import errno
import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from shutil import rmtree

import pytest

from evictd.act.stop.freezer import MARK, PodFreezer
from evictd.act.stop.stopper import PodStopper
from evictd.act.stop.victim_cgroups import VictimCgroups
from evictd.errors import NodeError
from evictd_testnode.tool import wait_for
from tests.act.stop.test_stop_times import Unanswered
from tests.real_cgroups import PREFIX
from tests.recorded_errors import NoErrors, RecordedErrors

UID = "3f1c0a52-7a0e-4b6e-9a43-0d9f2a6b7c11"
MOUNTS = tuple(Path("/sys/fs/cgroup", each) for each in (".", "unified", "freezer"))


def state_file(container: Path) -> tuple[str, str]:
    """The file that shows whether the kernel has frozen a cgroup, and the line that says so."""
    unified = (container / "cgroup.freeze").exists()
    return ("cgroup.events", "frozen 1") if unified else ("freezer.state", "FROZEN")


def is_frozen(container: Path) -> bool:
    name, line = state_file(container)
    return line in (container / name).read_text().split("\n")


@contextmanager
def pod_with_container(mount: Path) -> Iterator[tuple[Path, Path]]:
    """A pod's cgroup and that of a container with a process; both are removed."""
    pod = mount / f"{PREFIX}{os.getpid()}-freezer/pod{UID}"
    container = pod / "c1"
    container.mkdir(parents=True)
    process = subprocess.Popen(["sleep", "300"])
    try:
        (container / "cgroup.procs").write_text(str(process.pid))
        yield pod, container
    finally:
        process.send_signal(signal.SIGKILL)
        name = "cgroup.freeze" if (container / "cgroup.freeze").exists() else "freezer.state"
        (container / name).write_text("0" if name == "cgroup.freeze" else "THAWED")
        process.wait(60)
        for each in (container, pod, pod.parent):
            assert wait_for(lambda each=each: removed(each))  # type: ignore[misc] # bound at once


def removed(folder: Path) -> bool:
    with suppress(OSError):  # the kernel needs a moment after the last process
        folder.rmdir()
    return not folder.exists()


@pytest.fixture(params=MOUNTS, ids=["v2", "hybrid", "v1"])
def cgroups(request: pytest.FixtureRequest) -> Iterator[tuple[Path, Path]]:
    mount: Path = request.param
    # The root has no such file; `cgroup.procs` is missing where nothing is mounted.
    version = "cgroup.controllers" if mount.name != "freezer" else "cgroup.procs"
    if not (mount / version).exists() or not os.access(mount, os.W_OK):
        pytest.skip("no such hierarchy here")
    with pod_with_container(mount) as made:
        yield made


@pytest.mark.root
def test_a_frozen_pod_is_thawed_also_by_the_next_run(cgroups: tuple[Path, Path]) -> None:
    pod, container = cgroups
    errors = RecordedErrors()
    PodFreezer(lambda _: (pod, pod.with_name("podother")), errors).freeze(UID)
    assert wait_for(lambda: is_frozen(container))
    next_run = PodFreezer(lambda _: (pod,), errors)
    next_run.thaw(UID)
    assert wait_for(lambda: not is_frozen(container))
    assert MARK not in os.listxattr(container)
    assert errors.details == []


@pytest.mark.root
def test_what_another_program_has_frozen_is_left_alone(cgroups: tuple[Path, Path]) -> None:
    pod, container = cgroups
    unified = (container / "cgroup.freeze").exists()
    (container / ("cgroup.freeze" if unified else "freezer.state")).write_text("1" if unified else "FROZEN")
    freezer = PodFreezer(lambda _: (pod,), RecordedErrors())
    freezer.freeze(UID)
    freezer.thaw(UID)
    assert wait_for(lambda: is_frozen(container))
    assert MARK not in os.listxattr(container)


def test_only_the_pods_own_cgroup_is_frozen_and_none_is_an_error(tmp_path: Path) -> None:
    container = tmp_path / "podother/c1"
    container.mkdir(parents=True)
    (container / "cgroup.freeze").write_text("0")
    errors = RecordedErrors()
    freezer = PodFreezer(lambda _: (container.parent, tmp_path / f"pod{UID}"), errors)
    freezer.freeze(UID)
    freezer.thaw(UID)
    assert (container / "cgroup.freeze").read_text() == "0"
    (once,) = errors.details
    assert "no container" in once


def test_cgroups_that_cannot_be_listed_are_an_error_and_not_a_thawed_pod(tmp_path: Path) -> None:
    """As without a free file descriptor; here a file stands for the directory."""
    (tmp_path / f"pod{UID}").touch()
    errors = RecordedErrors()
    freezer = PodFreezer(lambda _: (tmp_path / f"pod{UID}",), errors)
    with pytest.raises(NodeError, match=f"pod {UID} may stay frozen: Not a directory"):
        freezer.thaw(UID)
    freezer.freeze(UID)
    freezer.thaw_each([UID])
    assert ["stopped without being frozen" in each for each in errors.details] == [True, False]
    assert "may stay frozen" in errors.details[1]


def made_pod(parent: Path, uid: str, *containers: str) -> Path:
    """A directory that stands for a pod's cgroup of v2; a filesystem with extended attributes keeps the marks."""
    pod = parent / f"pod{uid}"
    for each in containers:
        (pod / each).mkdir(parents=True)
        (pod / each / "cgroup.freeze").write_text("0")
    return pod


def frozen(pod: Path) -> list[bool]:
    return [(each / "cgroup.freeze").read_text() == "1" for each in sorted(pod.iterdir())]


def test_a_container_that_cannot_be_thawed_now_is_thawed_by_the_next_attempt(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its directory took the last free descriptor, so that the file in it could not be opened."""
    pod = made_pod(tmp_path, UID, "c1", "c2")
    freezer = PodFreezer(lambda _: (pod,), NoErrors())
    freezer.freeze(UID)
    assert frozen(pod) == [True, True]
    opened, left = os.open, [1]

    def full_once(path: str, flags: int, mode: int = 0o777, *, dir_fd: int | None = None) -> int:
        if path == "cgroup.freeze" and left:
            left.pop()
            raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))
        return opened(path, flags, mode, dir_fd=dir_fd)

    monkeypatch.setattr(os, "open", full_once)
    with pytest.raises(NodeError, match="may stay frozen: Too many open files"):
        freezer.thaw(UID)
    assert sum(frozen(pod)) == 1, "the other one is thawed at once"
    freezer.thaw(UID)
    assert frozen(pod) == [False, False]


def test_a_pod_that_cannot_be_thawed_does_not_keep_the_others_frozen(tmp_path: Path) -> None:
    uids = [f"u{number}" for number in range(8)]
    pods = {uid: made_pod(tmp_path, uid, "c1") for uid in uids}
    errors = RecordedErrors()
    cgroups = VictimCgroups(lambda uid: (pods[uid],), errors)
    stopper = PodStopper(Unanswered(), clock=lambda: 0, cgroups=cgroups, errors=errors)
    for uid in uids:
        stopper.begin(uid, containers=["c1"], sandboxes=["s"], grace_seconds=600, freeze=True)
    assert all(frozen(pod) == [True] for pod in pods.values())
    rmtree(pods["u3"])
    pods["u3"].touch()
    stopper.close()
    assert [uid for uid in uids if uid != "u3" and frozen(pods[uid]) != [False]] == []
    assert errors.details == ["pod u3 may stay frozen: Not a directory"]
