"""Trees that a hostile pod makes: deep, wide, with long names, and with parts that cannot be read."""

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from evictd.act.stop import cgroup_tree
from evictd.act.stop.cgroup_tree import is_populated, processes, uninterruptible, walk


@pytest.fixture
def pod(tmp_path: Path) -> Iterator[Path]:
    """Removed by `rm`, because a tree may be too deep for pytest."""
    made = tmp_path / "pod"
    made.mkdir()
    yield made
    subprocess.run(["rm", "-rf", made], check=True)


def dig(folder: Path, levels: int, name: str) -> int:
    """Nest cgroups in a model of a tree; the innermost has process 7. Gives their number, the top included."""
    here = os.open(folder, os.O_RDONLY)
    for _ in range(levels):
        os.mkdir(name, dir_fd=here)
        below = os.open(name, os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = below
    file = os.open("cgroup.procs", os.O_CREAT | os.O_WRONLY, dir_fd=here)
    os.write(file, b"7\n")
    os.close(file)
    os.close(here)
    return levels + 1


def in_tree(pod: Path) -> list[frozenset[int]]:
    return [processes(each) for each in walk(pod)]


def descriptors() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


@pytest.mark.parametrize(("levels", "name"), [(1200, "c"), (20, "n" * 250)], ids=["deep", "longer than a path"])
def test_a_process_at_the_end_of_the_longest_path_is_found(pod: Path, levels: int, name: str) -> None:
    number, before = dig(pod, levels, name), descriptors()
    found = in_tree(pod)
    assert len(found) == number
    assert frozenset.union(*found) == {7}
    assert descriptors() == before


@pytest.mark.parametrize("held", [1, 7, 4096])
def test_each_cgroup_is_visited_once_however_few_names_are_held(
    pod: Path, held: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cgroup_tree, "NAMES_AT_ONCE", held)
    for number in range(100):
        (pod / f"{number}/a/b").mkdir(parents=True)
        (pod / f"{number}/a/cgroup.procs").write_text(f"{number + 1}\n")
    found = in_tree(pod)
    assert len(found) == 301
    assert sorted(pid for each in found for pid in each) == list(range(1, 101))


def test_a_walk_that_is_given_up_leaves_no_descriptor_open(pod: Path) -> None:
    dig(pod, 5, "c")
    before = descriptors()
    visits = walk(pod)
    next(visits)
    next(visits)
    del visits
    assert descriptors() == before


def test_a_cgroup_that_cannot_be_read_is_an_error_and_not_an_empty_one(pod: Path) -> None:
    (pod / "c/cgroup.procs").mkdir(parents=True)
    with pytest.raises(IsADirectoryError):
        in_tree(pod)
    (pod / "pids.current").mkdir()
    with pytest.raises(IsADirectoryError):
        is_populated(pod)


def test_what_is_removed_meanwhile_is_empty(pod: Path) -> None:
    (pod / "a").mkdir()
    (pod / "b").mkdir()
    found = []
    for each in walk(pod):
        found.append(processes(each))
        for name in ("a", "b"):
            if len(found) == 1:
                (pod / name).rmdir()
    assert found == [frozenset()]
    with pytest.raises(FileNotFoundError):
        next(walk(pod / "a"))


@pytest.mark.parametrize(
    ("name", "content", "populated"),
    [
        ("cgroup.events", "populated 1\nfrozen 0\n", True),
        ("cgroup.events", "populated 0\nfrozen 1\n", False),
        ("pids.current", "12\n", True),
        ("pids.current", "0\n", False),
        ("tasks", "", None),
    ],
)
def test_the_kernels_own_count_says_whether_there_is_a_task(
    pod: Path, name: str, content: str, populated: bool | None
) -> None:
    (pod / name).write_text(content)
    assert is_populated(pod) is populated


def test_a_cgroup_that_does_not_exist_is_empty(pod: Path) -> None:
    assert is_populated(pod / "other") is False


def test_one_thread_in_state_d_makes_a_process_unkillable(tmp_path: Path) -> None:
    """The first thread of a process may have ended while another one is in the kernel; names may look like a state."""
    for pid, states in ((1, "SS"), (2, "ZD"), (3, "D")):
        for thread, state in enumerate(states):
            folder = tmp_path / f"{pid}/task/{pid + thread}"
            folder.mkdir(parents=True)
            (folder / "stat").write_text(f"{pid + thread} (x) D) {state} 1 1\n")
    assert uninterruptible([1, 2, 3, 4], proc=tmp_path) == (2, 3)
    assert uninterruptible([os.getpid()]) == ()
