"""`evictd demo`, from the outside."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import reason_against_nodes

ROOT = Path(__file__).parents[2]


def demo(*arguments: str) -> subprocess.CompletedProcess[str]:
    argv = [sys.executable, "-m", "evictd", "demo", *arguments]
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    return subprocess.run(argv, capture_output=True, text=True, check=False, timeout=200, env=environment, cwd=ROOT)


def test_without_root_it_says_so_and_rehearses(tmp_path: Path) -> None:
    """The simulated node, drawn as well."""
    done = demo("--simulated", "--plot", str(tmp_path / "demo.svg"))
    assert done.returncode == 0, done.stderr
    assert "This is the simulated node" in done.stdout
    assert (tmp_path / "demo.svg").exists()


@pytest.mark.root
@pytest.mark.containerd
def test_with_root_the_leftovers_go_first_and_then_the_right_pod(tmp_path: Path) -> None:
    """The whole play, told line by line because there is no terminal."""
    if reason := reason_against_nodes():
        pytest.skip(reason)
    done = demo("--plot", str(tmp_path / "demo.svg"))
    assert done.returncode == 0, done.stdout + done.stderr
    told = done.stdout
    assert told.index("collected 2 unused containers") < told.index("evict default/log-shipper")
    assert told.index("collected 2 unused images") < told.index("evict default/log-shipper")
    assert told.count(" evict default/") == 1
    assert (tmp_path / "demo.svg").exists()
