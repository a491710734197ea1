"""Where on this machine are the things that get read?

Every reader takes these; there is no global root, so a test hands in a small tree of its own and a DaemonSet its host mounts.
"""

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True, kw_only=True)
class Roots:
    """The folders a real node has (spec 9.3 and 11.4)."""

    proc: Path = Path("/proc")
    cgroup: Path = Path("/sys/fs/cgroup")
    kubelet_dir: Path = Path("/var/lib/kubelet")
    """`--root-dir` of the kubelet: the filesystem that holds it is nodefs."""
    pod_logs_dir: Path = Path("/var/log/pods")
