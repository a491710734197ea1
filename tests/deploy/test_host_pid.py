"""Shows why the DaemonSet uses the PID namespace of the host: from Linux 6.14 on, `pid_max` belongs to the namespace."""

import os
import re
import subprocess
from pathlib import Path

import pytest

from tests.deploy.manifests import base

PID_MAX = Path("/proc/sys/kernel/pid_max")
SINCE = (6, 14)


def kernel() -> tuple[int, ...]:
    found = re.match(r"(\d+)\.(\d+)", os.uname().release)
    assert found is not None
    return tuple(map(int, found.groups()))


@pytest.mark.root
@pytest.mark.skipif(kernel() < SINCE, reason="pid_max is the node's in every PID namespace of this kernel")
def test_another_pid_namespace_has_another_pid_max() -> None:
    """A child namespace starts with the greatest limit, whatever the host's is; available PIDs would be those of no node."""
    command = ["unshare", "--pid", "--fork", "--mount-proc", "cat", str(PID_MAX)]
    inside = int(subprocess.run(command, capture_output=True, text=True, timeout=60, check=True).stdout)
    assert inside == 4194304
    assert inside >= int(PID_MAX.read_text())


def test_the_base_uses_the_hosts_namespace_while_it_has_a_threshold_on_pids() -> None:
    daemon = next(item for item in base() if item["kind"] == "DaemonSet")
    assert daemon["spec"]["template"]["spec"]["hostPID"] is True
