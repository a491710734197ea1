"""A victim is held to be dead only by a cgroup that was seen with tasks before."""

import subprocess
from pathlib import Path

import pytest

from evictd.act.stop.victim_cgroups import VictimCgroups
from evictd.observe.cgroups.cgroup import find_hierarchy
from evictd.observe.cgroups.cgroup_reader import CgroupReader
from evictd.observe.cgroups.file_descriptor_cache import FileDescriptorCache
from evictd_testnode.cgroups import CGROUP_MOUNT, group, make_group
from tests.real_cgroups import branch, reason_against
from tests.recorded_errors import RecordedErrors

POD = "/kubepods/pod1"


def watching(reader: CgroupReader) -> VictimCgroups:
    """The cgroups of victims, none of which is killed."""
    return VictimCgroups(lambda _: (), RecordedErrors(), reader=reader)


class Tree:
    """The pids tree of a node, and the victim `u` in it with the container `c1`."""

    def __init__(self, folder: Path) -> None:
        (folder / "memory").mkdir()
        self._pids = folder / "pids"
        self.tasks = watching(find_hierarchy(folder, FileDescriptorCache(limit=0)))

    def set(self, path: str, text: str) -> None:
        folder = self._pids / path.lstrip("/")
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "pids.current").write_text(text)

    def remove(self, path: str) -> None:
        (self._pids / path.lstrip("/") / "pids.current").unlink()

    def watch(self, pod: str = POD) -> None:
        self.tasks.watch("u", pod, ["c1"])

    def none_left(self, *running: str) -> bool:
        return self.tasks.none_left("u", running or ["c1"])


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    return Tree(tmp_path)


@pytest.mark.parametrize(("tasks", "dead"), [("3\n", False), ("0\n", True), ("garbage\n", False), (None, True)])
def test_a_container_lives_while_its_cgroup_has_a_task(tree: Tree, tasks: str | None, dead: bool) -> None:
    tree.set(f"{POD}/c1", "1\n")
    tree.watch()
    assert not tree.none_left()
    if tasks is None:
        tree.remove(f"{POD}/c1")
    else:
        tree.set(f"{POD}/c1", tasks)
    assert tree.none_left() is dead


def test_a_cgroup_that_was_never_seen_is_not_gone(tree: Tree) -> None:
    """As with Kata and the pods' processes elsewhere: only the runtime can tell."""
    tree.watch()
    assert not tree.none_left()
    tree.set(POD, "0\n")
    assert not tree.none_left()


@pytest.mark.parametrize("name", ["kata_s1", "docker-c1.scope"])
def test_the_pods_cgroup_decides_about_a_container_without_one_of_a_known_name(tree: Tree, name: str) -> None:
    tree.set(f"{POD}/{name}", "5\n")
    tree.set(POD, "5\n")
    tree.watch()
    assert not tree.none_left()
    tree.set(POD, "0\n")
    assert tree.none_left()
    tree.remove(POD)
    assert tree.none_left()


def test_every_container_must_have_ended_also_one_started_since(tree: Tree) -> None:
    tree.set(POD, "2\n")
    tree.set(f"{POD}/c1", "1\n")
    tree.watch()
    tree.set(f"{POD}/c1", "0\n")
    assert not tree.none_left("c1", "unseen"), "the pod's cgroup still has tasks"
    tree.set(f"{POD}/c2", "1\n")
    tree.set(POD, "0\n")
    assert not tree.none_left("c2")
    tree.remove(f"{POD}/c2")
    assert tree.none_left("c2")


@pytest.mark.parametrize("pod", ["", "relative", "/../pod1", "/kubepods/../../etc"])
def test_a_pods_cgroup_that_is_no_path_tells_nothing(tree: Tree, pod: str) -> None:
    tree.watch(pod)
    assert not tree.none_left()


def test_a_pod_that_is_not_watched_or_was_forgotten_is_not_dead(tree: Tree) -> None:
    assert not tree.none_left()
    tree.set(f"{POD}/c1", "1\n")
    tree.watch()
    tree.set(f"{POD}/c1", "0\n")
    assert tree.none_left()
    tree.tasks.forget("u")
    assert not tree.none_left()


def test_without_a_reader_nothing_is_known() -> None:
    tasks = VictimCgroups(lambda _: (), RecordedErrors())
    tasks.watch("u", POD, ["c1"])
    assert not tasks.none_left("u", ["c1"])


@pytest.mark.root
@pytest.mark.skipif(bool(reason_against()), reason=reason_against())
@pytest.mark.parametrize("name", ["c1", "docker-c1.scope", "kata_s1"])
def test_a_process_in_a_real_cgroup_under_any_name_keeps_its_pod_alive(name: str) -> None:
    """The kernel's own answers: the count of the pod's cgroup includes those below, and a removed cgroup has no file."""
    with branch() as pod:
        make_group(f"{pod}/{name}")
        tasks = watching(find_hierarchy(CGROUP_MOUNT, FileDescriptorCache()))
        with subprocess.Popen(["sleep", "600"]) as process:
            try:
                (group("pids", f"{pod}/{name}") / "cgroup.procs").write_text(str(process.pid))
                tasks.watch("u", pod, ["c1"])
                assert not tasks.none_left("u", ["c1"])
            finally:
                process.kill()
        assert tasks.none_left("u", ["c1"])
