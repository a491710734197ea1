"""The pods that are listed no more and still hold something."""

import errno
import os
from collections.abc import Collection
from pathlib import Path
from typing import Any

import pytest

from evictd.core.eviction.accounts.release import RELEASE_TIMEOUT
from evictd.core.model.observation import RemovedPod
from evictd.observe.pods.removed_pods import RemovedPods
from evictd.observe.reading.problems import Problems
from tests.trees import Link, Tree, plant

EMPTY_DIR = "kubernetes.io~empty-dir"
WITH_VOLUME: Tree = {"volumes": {EMPTY_DIR: {"data": {"x": "1"}}}}


def read(
    removed: RemovedPods, now: int, listed: Collection[str] = (), running: Collection[str] | None = ()
) -> tuple[dict[str, RemovedPod], list[str]]:
    problems = Problems()
    found = dict(removed.read(listed, running, now, problems))
    return found, [each.source for each in problems.found()]


def left(first_seen: int) -> RemovedPod:
    return RemovedPod(first_seen=first_seen, has_volumes=True)


def test_a_volume_counts_from_when_it_was_first_seen_until_it_is_removed(tmp_path: Path) -> None:
    plant(tmp_path / "pods", {"u1": WITH_VOLUME, "u2": WITH_VOLUME})
    removed = RemovedPods(tmp_path)
    assert read(removed, 1, listed=["u1", "u2"]) == ({}, [])
    assert read(removed, 5, listed=["u2"]) == ({"u1": left(5)}, [])
    assert read(removed, 6) == ({"u1": left(5), "u2": left(6)}, [])
    volumes = tmp_path / "pods" / "u1" / "volumes" / EMPTY_DIR
    (volumes / "data" / "x").unlink()
    (volumes / "data").rename(volumes / "deleting~1")  # as the kubelet does first
    assert read(removed, 7) == ({"u1": left(5), "u2": left(6)}, [])
    (volumes / "deleting~1").rmdir()
    assert read(removed, 8) == ({"u1": RemovedPod(first_seen=5, gone_at=8), "u2": left(6)}, [])


def test_a_pod_that_is_listed_again_counts_anew(tmp_path: Path) -> None:
    """The API server's list may be late."""
    plant(tmp_path / "pods", {"u1": WITH_VOLUME})
    removed = RemovedPods(tmp_path)
    assert read(removed, 1)[0] == {"u1": left(1)}
    assert read(removed, 2, listed=["u1"])[0] == {}
    assert read(removed, 9)[0] == {"u1": left(9)}


@pytest.mark.parametrize(
    "pod",
    [
        {},
        {"volumes": {}},
        {"volumes": {EMPTY_DIR: {}}},
        {"volumes": {"kubernetes.io~projected": {"token": {"x": "1"}}, "kubernetes.io~csi": {"pvc": {"mount": {}}}}},
        {"volumes": {EMPTY_DIR: Link("/")}},
        {"volumes": {EMPTY_DIR: {"data": Link("/"), "file": "1"}}},
        Link("/"),
        "a file",
    ],
)
def test_what_holds_no_bytes_of_a_volume_does_not_count(tmp_path: Path, pod: Tree | Link | str) -> None:
    plant(tmp_path / "pods", {"u1": pod})
    found, _ = read(RemovedPods(tmp_path), 1)
    assert found == {}


def test_an_ended_pod_without_volumes_is_not_opened_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Hundreds of them stay while the API server lists them."""
    plant(tmp_path / "pods", {f"u{number}": {"volumes": {EMPTY_DIR: {}}} for number in range(20)})
    removed, opened, scandir = RemovedPods(tmp_path), list[int](), os.scandir

    def noting(folder: int) -> Any:
        opened.append(folder)
        return scandir(folder)

    monkeypatch.setattr(os, "scandir", noting)
    read(removed, 1)
    opened.clear()
    assert read(removed, 2) == ({}, [])
    assert len(opened) == 1


def test_a_node_without_a_kubelet_has_none(tmp_path: Path) -> None:
    assert read(RemovedPods(tmp_path), 1) == ({}, [])


def test_a_directory_that_cannot_be_read_is_a_problem(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plant(tmp_path / "pods", {"u1": WITH_VOLUME})

    def failing(_folder: int) -> None:
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(os, "scandir", failing)
    assert read(RemovedPods(tmp_path), 1) == ({}, ["volumes of removed pods"])


def test_a_pod_that_runs_unlisted_counts_until_it_ends_and_then_as_gone_for_a_while(tmp_path: Path) -> None:
    """It was deleted by force and has no volume: only the runtime knows of it."""
    removed = RemovedPods(tmp_path)
    assert read(removed, 1, running=["u1"]) == ({"u1": RemovedPod(first_seen=1, runs=True)}, [])
    assert read(removed, 2, running=["u1"])[0] == {"u1": RemovedPod(first_seen=1, runs=True)}
    gone = {"u1": RemovedPod(first_seen=1, gone_at=3)}
    assert read(removed, 3)[0] == read(removed, 4)[0] == read(removed, 2 + RELEASE_TIMEOUT)[0] == gone
    assert read(removed, 3 + RELEASE_TIMEOUT)[0] == {}


def test_a_pod_that_was_listed_in_the_last_reading_counts_as_gone_since_this_one(tmp_path: Path) -> None:
    removed = RemovedPods(tmp_path)
    assert read(removed, 1, listed=["u1"], running=["u1"])[0] == {}
    assert read(removed, 2)[0] == read(removed, 3)[0] == {"u1": RemovedPod(first_seen=2, gone_at=2)}
    assert read(removed, 4, listed=["u1"])[0] == {}


def test_without_an_answer_of_the_runtime_its_last_one_counts(tmp_path: Path) -> None:
    removed = RemovedPods(tmp_path)
    read(removed, 1, running=["u1"])
    assert read(removed, 2, running=None)[0] == {"u1": RemovedPod(first_seen=1, runs=True)}
    assert read(removed, 3, running=[])[0] == {"u1": RemovedPod(first_seen=1, gone_at=3)}
