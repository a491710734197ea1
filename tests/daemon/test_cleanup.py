"""What a stopped pod leaves is removed once, on another thread, and told when that fails."""

import threading
from pathlib import Path

import pytest

from evictd.daemon.cleanup import Cleanup, any_alive
from evictd.errors import NodeError
from evictd.observe.cgroup import find_hierarchy
from evictd.observe.kept_files import KeptFiles


def test_leftovers_are_removed_once_and_the_loop_is_woken() -> None:
    removed: list[str] = []
    woken = threading.Event()
    cleanup = Cleanup(removed.append, lambda *_: None, woken.set)
    assert not cleanup.done("a") or removed == ["a"]
    assert woken.wait(30)
    assert cleanup.done("a")
    assert cleanup.done("a")
    cleanup.close()
    assert removed == ["a"]


def test_a_failure_is_told_and_does_not_keep_the_pod_from_counting_as_gone() -> None:
    complaints: list[tuple[str, str]] = []
    woken = threading.Event()

    def refuse(uid: str) -> None:
        raise NodeError(f"{uid}: Read-only file system")

    cleanup = Cleanup(refuse, lambda source, detail: complaints.append((source, detail)), woken.set)
    cleanup.done("a")
    assert woken.wait(30)
    assert cleanup.done("a")
    assert complaints == [("volumes", "a: Read-only file system")]
    cleanup.close()


def test_a_pod_that_is_forgotten_would_be_cleaned_again() -> None:
    removed: list[str] = []
    cleanup = Cleanup(removed.append, lambda *_: None, lambda: None)
    cleanup.done("a")
    cleanup.forget("a")
    cleanup.done("a")
    cleanup.close()
    assert removed == ["a", "a"]


def test_a_pod_that_is_forgotten_while_it_is_cleaned_leaves_no_record() -> None:
    go_on, woken = threading.Event(), threading.Event()
    cleanup = Cleanup(lambda _: go_on.wait(30), lambda *_: None, woken.set)
    assert not cleanup.done("a")
    cleanup.forget("a")
    go_on.set()
    assert woken.wait(30)
    cleanup.close()
    assert cleanup._done == cleanup._begun == set()


@pytest.mark.parametrize(("tasks", "alive"), [("3\n", True), ("0\n", False), ("garbage\n", True), (None, False)])
def test_a_container_lives_while_its_cgroup_has_a_task(tmp_path: Path, tasks: str | None, alive: bool) -> None:
    (tmp_path / "memory").mkdir()
    if tasks is not None:
        container = tmp_path / "pids" / "kubepods" / "pod1" / "c1"
        container.mkdir(parents=True)
        (container / "pids.current").write_text(tasks)
    cgroups = find_hierarchy(tmp_path, KeptFiles())
    assert any_alive(cgroups, "/kubepods/pod1", ["c1"]) is alive
