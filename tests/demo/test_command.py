"""Runs `evictd demo` as a process."""

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


def test_the_simulated_demonstration_says_so_and_plots(tmp_path: Path) -> None:
    """The simulated node, drawn as well."""
    done = demo("--simulated", "--plot", str(tmp_path / "demo.svg"))
    assert done.returncode == 0, done.stderr
    assert "This is the simulated node" in done.stdout
    assert (tmp_path / "demo.svg").exists()


@pytest.mark.root
@pytest.mark.containerd
def test_garbage_is_collected_before_exactly_the_right_pod_is_evicted(tmp_path: Path) -> None:
    """The real demonstration, with its timeline line by line, because there is no terminal."""
    if reason := reason_against_nodes():
        pytest.skip(reason)
    done = demo("--plot", str(tmp_path / "demo.svg"))
    assert done.returncode == 0, done.stdout + done.stderr
    output = done.stdout
    assert output.index("collected 2 unused containers") < output.index("evict default/log-shipper")
    assert output.index("collected 2 unused images") < output.index("evict default/log-shipper")
    assert output.count(" evict default/") == 1
    assert (tmp_path / "demo.svg").exists()
