"""Says where to look for what belongs to no pod: the commands of the node that show it."""

from evictd.core.model.signal import SIGNALS, Filesystem, Resource
from evictd.render.incident.record.incident import Incident
from evictd.render.incident.relief.back_alone import back_alone

_NODEFS, _IMAGEFS = "/var/lib/kubelet", "/var/lib/containerd"
"""The default directories of the kubelet and of containerd, by which the mount point is found: the journal does not have it."""
_ON_HOST: dict[Resource | None, str] = {
    Resource.MEMORY: (
        "`systemd-cgtop -m` shows the memory of its services, `slabtop` the kernel's, and `journalctl -k` what the kernel killed"
    ),
    Resource.PIDS: "`systemd-cgtop -t` shows the processes of its services",
}
"""What shows who uses what is short outside pods, where that is no filesystem."""
_LARGEST: dict[Resource | None, tuple[str, str]] = {
    Resource.EPHEMERAL_STORAGE: ("du -xhd3", "sort -h"),
    Resource.INODES: ("du -xd3 --inodes", "sort -n"),
}
"""Commands that measure the directories of a filesystem, and that order them by size."""
_SNAPSHOTS = "`ctr -n k8s.io snapshots usage` what each snapshot of containerd holds"


def on_host(found: Incident) -> str:
    """Return what shows who uses what is short outside pods; empty where nothing does."""
    if found.resource not in _LARGEST:
        back = back_alone(found)
        suspect = "" if back is None else back.suspect_text
        suspect = suspect or (found.host_suspect if found.resource is Resource.MEMORY else "")
        return "; ".join(filter(None, (suspect, _ON_HOST.get(found.resource))))
    filesystem = None if found.signal is None else SIGNALS[found.signal].filesystem
    mount_point = f'"$(findmnt -no TARGET -T {_NODEFS if filesystem is Filesystem.NODEFS else _IMAGEFS})"'
    measure, order = _LARGEST[found.resource]
    return (
        f"`lsof +L1` shows deleted files that are open, `{measure} {mount_point} | {order} | tail` the largest directories, "
        f"and {_SNAPSHOTS}"
    )


def look(found: Incident) -> str:
    """Return where to look for what belongs to no pod."""
    return "look at the host, and at snapshots that no image uses" if found.on_disk else "look at the host"
