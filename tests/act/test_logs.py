"""Removal of logs below one directory; targets of symlinks stay."""

import os
import subprocess
from pathlib import Path

import pytest

from evictd.act.logs import SETTLED, PodLogs
from evictd.core.units.duration import SECOND
from evictd.errors import NodeError
from tests.act.test_trees import dig
from tests.mounted import tmpfs

NOW = 10_000 * SECOND


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "pods"
    folder.mkdir()
    return folder


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    """Files that must survive every test."""
    folder = tmp_path / "outside"
    folder.mkdir()
    (folder / "0.log").write_text("precious")
    return folder


def write(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("line\n")
    return path


def test_a_containers_log_is_removed_with_its_rotated_ones(root: Path) -> None:
    folder = root / "ns_web_u" / "main"
    for name in ("0.log", "0.log.20240101-000000.gz", "0.log.tmp", "1.log", "10.log"):
        write(folder / name)
    PodLogs(root).remove_container_log(str(folder / "0.log"))
    assert sorted(path.name for path in folder.iterdir()) == ["1.log", "10.log"]


def test_a_log_that_is_rotated_meanwhile_keeps_none_of_the_others(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The kubelet compresses a rotated log under another name."""
    folder, unlink = root / "ns_web_u" / "main", os.unlink
    for name in ("0.log", "0.log.20240101-000000", "0.log.20240102-000000"):
        write(folder / name)

    def removed_first(name: str, *, dir_fd: int) -> None:
        unlink(name, dir_fd=dir_fd)
        unlink(name, dir_fd=dir_fd)

    monkeypatch.setattr(os, "unlink", removed_first)
    PodLogs(root).remove_container_log(str(folder / "0.log"))
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize("path", ["", "/", "/etc/passwd", "relative/0.log", "{root}", "{root}/../outside/0.log"])
def test_a_log_outside_the_directory_is_not_removed(root: Path, outside: Path, path: str) -> None:
    PodLogs(root).remove_container_log(path.replace("{root}", str(root)))
    assert (outside / "0.log").exists()


def test_a_missing_log_counts_as_removed(root: Path) -> None:
    PodLogs(root).remove_container_log(str(root / "ns_web_u/main/0.log"))
    assert list(root.iterdir()) == []


def test_no_link_on_the_way_to_a_log_is_followed(root: Path, outside: Path) -> None:
    (root / "ns_web_u").mkdir()
    (root / "ns_web_u/main").symlink_to(outside)
    with pytest.raises(NodeError, match="cannot be removed"):
        PodLogs(root).remove_container_log(str(root / "ns_web_u/main/0.log"))
    assert (outside / "0.log").exists()


def test_a_log_that_is_a_link_is_removed_and_its_target_stays(root: Path, outside: Path) -> None:
    link = root / "ns_web_u/main/0.log"
    link.parent.mkdir(parents=True)
    link.symlink_to(outside / "0.log")
    PodLogs(root).remove_container_log(str(link))
    assert not link.is_symlink()
    assert (outside / "0.log").exists()


def test_a_pods_directory_is_removed_but_no_links_target(root: Path, outside: Path) -> None:
    write(root / "ns_web_u/main/0.log")
    (root / "ns_web_u/way-out").symlink_to(outside)
    PodLogs(root).remove_directory("ns_web_u")
    assert list(root.iterdir()) == []
    assert (outside / "0.log").exists()
    PodLogs(root).remove_directory("ns_web_u")


def test_a_directory_that_is_a_link_is_refused(root: Path, outside: Path) -> None:
    (root / "ns_web_u").symlink_to(outside)
    with pytest.raises(NodeError):
        PodLogs(root).remove_directory("ns_web_u")
    assert (outside / "0.log").exists()


@pytest.mark.root
def test_a_mount_below_a_log_directory_is_an_error_and_stays(tmp_path: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("needs root to mount")
    with tmpfs(tmp_path / "disk") as disk:
        write(disk / "outside/0.log")
        (disk / "pods/ns_web_u/main").mkdir(parents=True)
        subprocess.run(["mount", "--bind", disk / "outside", disk / "pods/ns_web_u/main"], check=True)
        with pytest.raises(NodeError, match=r"ns_web_u' cannot be removed: .* busy"):
            PodLogs(disk / "pods").remove_directory("ns_web_u")
        assert (disk / "outside/0.log").exists()


def test_a_log_directory_deeper_than_any_stack_is_removed(root: Path) -> None:
    (root / "ns_web_u").mkdir()
    dig(root / "ns_web_u", 2000)
    try:
        PodLogs(root).remove_directory("ns_web_u")
        assert list(root.iterdir()) == []
    finally:  # pytest's own way to tidy up is no match for it
        subprocess.run(["rm", "-rf", root / "ns_web_u"], check=True)


@pytest.mark.parametrize("name", ["..", ".", "../outside", "/etc", "a/b", ""])
def test_a_name_that_is_a_path_is_refused(root: Path, outside: Path, name: str) -> None:
    with pytest.raises(NodeError):
        PodLogs(root).remove_directory(name)
    assert (outside / "0.log").exists()


def test_only_directories_that_have_settled_are_named(root: Path, outside: Path) -> None:
    for name, age in (("old", SETTLED), ("young", SETTLED - 1)):
        (root / name).mkdir()
        os.utime(root / name, ns=(NOW - age, NOW - age))
    write(root / "file")
    (root / "link").symlink_to(outside)
    assert PodLogs(root).settled_names(NOW) == ("old",)


def test_a_missing_directory_has_no_names(tmp_path: Path) -> None:
    assert PodLogs(tmp_path / "missing").settled_names(NOW) == ()


def test_only_dangling_links_are_removed(root: Path, outside: Path, tmp_path: Path) -> None:
    links = tmp_path / "containers"
    links.mkdir()
    (links / "good.log").symlink_to(outside / "0.log")
    (links / "dangling.log").symlink_to(outside / "gone.log")
    (links / "dangling.txt").symlink_to(outside / "gone.log")
    assert PodLogs(root, links).remove_dangling_links() == 1
    assert sorted(path.name for path in links.iterdir()) == ["dangling.txt", "good.log"]
    assert PodLogs(root, tmp_path / "missing").remove_dangling_links() == 0
    assert PodLogs(root).remove_dangling_links() == 0


ROTATED = ("0.log.20240101-000000", "0.log.20240101-000000.gz", "12.log.20240101-000000")
KEPT = (
    "0.log",
    "12.log",
    "0.log.tmp",
    "0.log.20240101-000000.tmp",
    "0.log.20240101",
    "other.20240101-000000",
    "0.log.x",
)


def rotate(root: Path, *names: str) -> Path:
    folder = root / "ns_web_u" / "main"
    for name in names:
        write(folder / name)
    return folder


def a_minute_later(path: Path) -> int:
    return path.stat().st_ctime_ns + SETTLED


def test_rotated_logs_are_removed_and_never_the_one_that_is_written(root: Path) -> None:
    folder = rotate(root, *ROTATED, *KEPT)
    wall = max(a_minute_later(folder / name) for name in ROTATED)
    size = sum((folder / name).stat().st_blocks * 512 for name in ROTATED)
    assert PodLogs(root).rotated(wall, remove=False) == (3, size)
    assert PodLogs(root).rotated(wall, remove=True) == (3, size)
    assert sorted(path.name for path in folder.iterdir()) == sorted(KEPT)
    assert PodLogs(root).rotated(wall, remove=True) == (0, 0)


def test_a_log_that_was_rotated_a_moment_ago_stays(root: Path) -> None:
    """Until the kubelet has told the runtime to open the log anew, the runtime writes to the renamed file."""
    folder = rotate(root, ROTATED[0])
    assert PodLogs(root).rotated(a_minute_later(folder / ROTATED[0]) - 1, remove=True) == (0, 0)
    assert (folder / ROTATED[0]).exists()


def test_no_link_or_folder_counts_as_a_rotated_log(root: Path, outside: Path) -> None:
    """Neither a link in the place of a log, nor one in the place of a folder, nor a file with a second name."""
    folder = rotate(root, ROTATED[0], "0.log")
    os.link(folder / ROTATED[0], outside / "second-name")
    (folder / ROTATED[1]).symlink_to(outside / "0.log")
    (folder / ROTATED[2]).mkdir()
    write(outside / ROTATED[0])
    (root / "ns_web_u" / "linked").symlink_to(outside)
    (root / "linked").symlink_to(outside.parent)
    wall = a_minute_later(outside / ROTATED[0])
    before = sorted(str(path) for path in root.parent.rglob("*"))
    assert PodLogs(root).rotated(wall, remove=True) == (0, 0)
    assert sorted(str(path) for path in root.parent.rglob("*")) == before


def test_nothing_is_rotated_where_there_are_no_logs(tmp_path: Path) -> None:
    assert PodLogs(tmp_path / "missing").rotated(NOW, remove=True) == (0, 0)
    (tmp_path / "linked").symlink_to(tmp_path)
    with pytest.raises(NodeError, match="linked"):
        PodLogs(tmp_path / "linked").rotated(NOW, remove=True)
