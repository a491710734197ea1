"""The folders that are read are parameters."""

from pathlib import Path

from evictd.observe.roots import Roots


def test_a_real_node_needs_no_arguments() -> None:
    assert Roots() == Roots(
        proc=Path("/proc"),
        cgroup=Path("/sys/fs/cgroup"),
        kubelet_dir=Path("/var/lib/kubelet"),
        pod_logs_dir=Path("/var/log/pods"),
    )
