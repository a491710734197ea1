"""The volumes of pods that are listed no more."""

import errno
import os
from collections.abc import Collection
from pathlib import Path
from typing import Any

import pytest

from evictd.observe.pods.orphaned_volumes import OrphanedVolumes
from evictd.observe.reading.problems import Problems
from tests.trees import Link, Tree, plant

EMPTY_DIR = "kubernetes.io~empty-dir"
WITH_VOLUME: Tree = {"volumes": {EMPTY_DIR: {"data": {"x": "1"}}}}


def read(orphaned: OrphanedVolumes, now: int, listed: Collection[str] = ()) -> tuple[dict[str, int], list[str]]:
    problems = Problems()
    found = dict(orphaned.read(listed, now, problems))
    return found, [each.source for each in problems.found()]


def test_a_volume_counts_from_when_it_was_first_seen_until_it_is_removed(tmp_path: Path) -> None:
    plant(tmp_path / "pods", {"u1": WITH_VOLUME, "u2": WITH_VOLUME})
    orphaned = OrphanedVolumes(tmp_path)
    assert read(orphaned, 1, listed=["u1", "u2"]) == ({}, [])
    assert read(orphaned, 5, listed=["u2"]) == ({"u1": 5}, [])
    assert read(orphaned, 6) == ({"u1": 5, "u2": 6}, [])
    volumes = tmp_path / "pods" / "u1" / "volumes" / EMPTY_DIR
    (volumes / "data" / "x").unlink()
    (volumes / "data").rename(volumes / "deleting~1")  # as the kubelet does first
    assert read(orphaned, 7) == ({"u1": 5, "u2": 6}, [])
    (volumes / "deleting~1").rmdir()
    assert read(orphaned, 8) == ({"u2": 6}, [])


def test_a_pod_that_is_listed_again_counts_anew(tmp_path: Path) -> None:
    """The API server's list may be late."""
    plant(tmp_path / "pods", {"u1": WITH_VOLUME})
    orphaned = OrphanedVolumes(tmp_path)
    assert read(orphaned, 1)[0] == {"u1": 1}
    assert read(orphaned, 2, listed=["u1"])[0] == {}
    assert read(orphaned, 9)[0] == {"u1": 9}


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
    found, _ = read(OrphanedVolumes(tmp_path), 1)
    assert found == {}


def test_an_ended_pod_without_volumes_is_not_opened_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Hundreds of them stay while the API server lists them."""
    plant(tmp_path / "pods", {f"u{number}": {"volumes": {EMPTY_DIR: {}}} for number in range(20)})
    orphaned, opened, scandir = OrphanedVolumes(tmp_path), list[int](), os.scandir

    def noting(folder: int) -> Any:
        opened.append(folder)
        return scandir(folder)

    monkeypatch.setattr(os, "scandir", noting)
    read(orphaned, 1)
    opened.clear()
    assert read(orphaned, 2) == ({}, [])
    assert len(opened) == 1


def test_a_node_without_a_kubelet_has_none(tmp_path: Path) -> None:
    assert read(OrphanedVolumes(tmp_path), 1) == ({}, [])


def test_a_directory_that_cannot_be_read_is_a_problem(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plant(tmp_path / "pods", {"u1": WITH_VOLUME})

    def failing(_folder: int) -> None:
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(os, "scandir", failing)
    assert read(OrphanedVolumes(tmp_path), 1) == ({}, ["volumes of removed pods"])
