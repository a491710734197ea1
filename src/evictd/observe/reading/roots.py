"""Names the directories of this machine that are read.

Every reader takes these and there is no global root: a test passes a small tree of its own, a DaemonSet its host mounts.
"""

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True, kw_only=True)
class Roots:
    """The directories of a node (spec 9.3 and 11.4)."""

    proc: Path = Path("/proc")
    cgroup: Path = Path("/sys/fs/cgroup")
    node_cgroup: str = "/"
    """The cgroup whose memory is the node's; another than the root has a memory limit, and stands for a node."""
    kubelet_dir: Path = Path("/var/lib/kubelet")
    """`--root-dir` of the kubelet: the filesystem that holds it is nodefs."""
    pod_logs_dir: Path = Path("/var/log/pods")
