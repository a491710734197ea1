"""The machine has only cgroup v2, systemd, and containerd with the systemd cgroup driver."""

import subprocess
from pathlib import Path

import pytest

pytestmark = pytest.mark.vm


def test_cgroup_v2_has_all_controllers_that_evictd_reads() -> None:
    controllers = Path("/sys/fs/cgroup/cgroup.controllers").read_text().split()
    assert {"memory", "pids", "cpu"} <= set(controllers)


def test_systemd_knows_notify_reload() -> None:
    version = subprocess.run(["systemctl", "--version"], check=True, capture_output=True, text=True).stdout
    assert int(version.split()[1]) >= 253
