"""The ends of logs are read from plain files of a pod's own directory only."""

import os
from pathlib import Path

import pytest

from evictd.observe.pods.log_tails import MOST_CONTAINERS, MOST_LOG_BYTES, log_tails


@pytest.fixture
def pod(tmp_path: Path) -> Path:
    directory = tmp_path / "default_web_uid-1"
    directory.mkdir()
    return directory


def tails(root: Path) -> dict[str, str]:
    return log_tails(root, namespace="default", name="web", uid="uid-1")


def test_the_newest_log_of_each_container_is_read(tmp_path: Path, pod: Path) -> None:
    for container, number, text in (("app", 9, "old\n"), ("app", 10, "new\n"), ("side", 0, "only\n")):
        (pod / container).mkdir(exist_ok=True)
        (pod / container / f"{number}.log").write_text(text)
    (pod / "app" / "notes.txt").write_text("no log")
    assert tails(tmp_path) == {"app": "new\n", "side": "only\n"}


def test_only_the_end_of_a_long_log_is_read(tmp_path: Path, pod: Path) -> None:
    (pod / "app").mkdir()
    (pod / "app" / "0.log").write_text("x" * 100_000 + "the end")
    tail = tails(tmp_path)["app"]
    assert len(tail) == MOST_LOG_BYTES
    assert tail.endswith("the end")


def test_only_so_many_containers_are_read(tmp_path: Path, pod: Path) -> None:
    for number in range(100):
        (pod / f"c{number}").mkdir()
    assert len(tails(tmp_path)) == MOST_CONTAINERS


def test_links_are_not_followed(tmp_path: Path, pod: Path) -> None:
    secret = tmp_path / "secret"
    secret.mkdir()
    (secret / "0.log").write_text("secret")
    (pod / "linked").symlink_to(secret)
    (pod / "app").mkdir()
    (pod / "app" / "0.log").symlink_to(secret / "0.log")
    assert "secret" not in str(tails(tmp_path).values())


def test_a_pipe_in_place_of_a_log_is_not_waited_for(tmp_path: Path, pod: Path) -> None:
    (pod / "app").mkdir()
    os.mkfifo(pod / "app" / "0.log")
    assert tails(tmp_path) == {"app": ""}


def test_a_pod_without_logs_has_no_tails(tmp_path: Path) -> None:
    assert tails(tmp_path) == {}
    assert tails(tmp_path / "nowhere") == {}


@pytest.mark.parametrize("name", ["../../etc", "a/b", "a\0b"])
def test_a_name_that_would_leave_the_directory_reads_nothing(tmp_path: Path, name: str) -> None:
    assert log_tails(tmp_path, namespace="default", name=name, uid="uid-1") == {}
