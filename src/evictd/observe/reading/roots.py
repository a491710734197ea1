"""Names the directories of this machine that are read, its node, and the pod that evictd runs in.

Every reader takes these and there is no global root: a test passes a small tree of its own, a DaemonSet its host mounts.
"""

from collections.abc import Mapping
from pathlib import Path
from socket import gethostname

from evictd.config.settings import ClusterSettings
from evictd.core.frozen import frozen
from evictd.errors import ROOT_DIR_REMEDY

POD_UID = "POD_UID"
"""The environment variable with the uid of the pod that evictd runs in (DaemonSet, `metadata.uid`)."""


def own_pods(environ: Mapping[str, str]) -> frozenset[str]:
    """Return the uid of evictd's own pod, which is never evicted; empty where it runs as a service."""
    return frozenset({uid}) if (uid := environ.get(POD_UID)) else frozenset()


def own_node(settings: ClusterSettings) -> str:
    """Return the node's name: the configured one, else the host's in lower case, as a kubelet registers it."""
    return settings.node_name or gethostname().lower()


def existing(path: Path, root: Path = Path("/")) -> Path:
    """Return the nearest existing directory at or above `path`, not above `root`.

    A directory that does not exist yet will be made on the filesystem of that one.
    """
    within = (one for one in (path, *path.parents) if one.is_relative_to(root))
    return next((one for one in within if one.is_dir()), root)


def missing_root_dir(root_dir: Path, shown: Path) -> str:
    """Return what to say where the filesystem of another directory stands for that of a `rootDir` that does not exist yet."""
    if shown == root_dir:
        return ""
    return (
        f"rootDir {root_dir} does not exist, so a daemon could not read nodefs; the amounts shown are of {shown}. "
        f"Without a kubelet, {ROOT_DIR_REMEDY}"
    )


@frozen
class Roots:
    """The directories of a node."""

    proc: Path = Path("/proc")
    cgroup: Path = Path("/sys/fs/cgroup")
    node_cgroup: str = "/"
    """The cgroup whose memory is the node's; another than the root has a memory limit, and stands for a node."""
    kubelet_dir: Path = Path("/var/lib/kubelet")
    """`--root-dir` of the kubelet: the filesystem that holds it is nodefs."""
    pod_logs_dir: Path = Path("/var/log/pods")
    top: Path = Path("/")
    """Where the node's / is: the unit files of systemd are below it."""
