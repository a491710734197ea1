"""Where pods are killed and frozen, under each layout of cgroups."""

from pathlib import Path

import pytest

from evictd.act.stop.pod_directories import PodDirectories

PATHS = ("kubepods/burstable/podu", "kubepods/besteffort/podu", "kubepods/podu")


@pytest.mark.parametrize(
    ("made", "kills", "freezes"),
    [(("cgroup.controllers",), "", ""), (("memory/", "pids/"), "pids", "freezer"), (("memory/",), "memory", "freezer")],
    ids=["v2", "v1", "v1 without pids"],
)
def test_the_directories_are_those_of_the_hierarchy(
    tmp_path: Path, made: tuple[str, ...], kills: str, freezes: str
) -> None:
    for name in made:
        (tmp_path / name).mkdir() if name.endswith("/") else (tmp_path / name).touch()
    directories = PodDirectories(tmp_path, lambda: "/kubepods")
    assert directories.of("u") == [tmp_path / kills / path for path in PATHS]
    assert list(directories.freezers_of("u")) == [tmp_path / freezes / path for path in PATHS]
    assert directories.of("../u") == [], "an unsafe uid"


def test_while_the_cgroup_of_all_pods_is_unknown_there_is_none(tmp_path: Path) -> None:
    assert PodDirectories(tmp_path, lambda: None).of("u") == []
