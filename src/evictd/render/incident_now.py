"""Says what to do now about an incident that is not over: an owner whose pods are evicted again and again, a hidden writer."""

from evictd.core.model.signal import Resource
from evictd.render.avoidance import AGAIN, held_by_page_cache
from evictd.render.incident import Incident
from evictd.render.text import first_of
from evictd.render.verdict import Need

_UNDONE = frozenset({"DaemonSet", "Deployment", "StatefulSet"})
"""Kinds whose last change `kubectl rollout undo` takes back."""
_NAMED = 3
_ON_DISK = (
    "`lsof +L1` shows deleted files that are open, and `{du} MOUNT_POINT | sort {by} | tail` the largest directories"
)
_ON_HOST: dict[Resource | None, str] = {
    Resource.MEMORY: (
        "`systemd-cgtop -m` shows the memory of its services, `slabtop` the kernel's, and `journalctl -k` what the kernel killed"
    ),
    Resource.EPHEMERAL_STORAGE: _ON_DISK.format(du="du -xhd3", by="-h"),
    Resource.INODES: _ON_DISK.format(du="du -xd3 --inodes", by="-n"),
    Resource.PIDS: "`systemd-cgtop -t` shows the processes of its services",
}
"""What shows who uses what is short outside pods."""


def now_text(found: Incident) -> str:
    """Return what to do now as a clause; empty where nothing is known to be left to do."""
    if found.host_filled and found.suspects:
        names = first_of(found.suspects, _NAMED)
        return (
            f"look at the hostPath volumes of {names}: if they fill the disk, end the pod and delete the files in them"
        )
    if found.host_filled and found.pressed and not held_by_page_cache(found):
        shown = _ON_HOST.get(found.resource, "")
        return f"the node is still short: look at the host{f': {shown}' if shown else ''}"
    if found.of_owner < AGAIN or found.host_filled or found.verdict is None or found.verdict.need is not Need.NEEDED:
        return ""
    return f"{_mended(found.event.owner, found.event.pod.partition('/')[0])}, or keep its pods off this node until it is mended"


def _mended(owner: str, namespace: str) -> str:
    kind, _, name = owner.partition("/")
    if kind in _UNDONE:
        return f"undo the last change of {owner} (`kubectl -n {namespace} rollout undo {kind.lower()}/{name}`)"
    return f"undo the last change of what owns {owner}" if kind == "ReplicaSet" else f"stop {owner}"
