"""This machine, looked at without a daemon."""

from dataclasses import replace
from pathlib import Path

import pytest

from evictd.config.settings import Settings
from evictd.errors import InputError, NodeError
from evictd.offline.live import RUNTIME, LiveNode, boot_time, load_yaml


def _settings(path: Path) -> Settings:
    return Settings(root_dir=path, pod_logs_dir=path, container_runtime_endpoint=f"unix://{path}/none.sock")


def test_time_comes_from_uptime(tmp_path: Path) -> None:
    (tmp_path / "uptime").write_text("12.34 5.67\n")
    assert boot_time(tmp_path) == 12_340_000_000


@pytest.mark.parametrize("text", ["", "soon 1", "\xff"])
def test_an_uptime_that_makes_no_sense(text: str, tmp_path: Path) -> None:
    (tmp_path / "uptime").write_text(text, encoding="latin-1")
    with pytest.raises(NodeError, match="uptime"):
        boot_time(tmp_path)


def test_looking_twice_moves_on(tmp_path: Path) -> None:
    with LiveNode(_settings(tmp_path)) as node:
        first, second = node.look(), node.look()
    assert second.now >= first.now
    assert first.observation.node is not None
    assert first.observation.pods == ()
    assert [p.source for p in first.observation.problems].count(RUNTIME) == 1


def test_a_kubelet_folder_that_is_not_there_yet(tmp_path: Path) -> None:
    """What would hold it is looked at instead."""
    with LiveNode(replace(_settings(tmp_path), root_dir=tmp_path / "var" / "lib" / "kubelet")) as node:
        seen = node.look().observation
    assert seen.node is not None
    assert seen.node.fs is not None


def test_manifests_in_yaml() -> None:
    assert load_yaml("a: [1]\n") == {"a": [1]}
    assert load_yaml("") is None
    with pytest.raises(InputError, match="twice"):
        load_yaml("a: 1\na: 2\n")
