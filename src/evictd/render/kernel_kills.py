"""Says what the kernel killed for want of memory of the node."""

from evictd.render.text import clean

NOT_RECORDED = "kills by the kernel at a pod's own limit, and on cgroup v1 all, are only in `dmesg`"
"""Which kills no journal has."""


def kill_text(where: str, uid: str, count: int) -> str:
    """Write who lost how many processes; `where` is a pod if it has a uid, else a cgroup directly below the root."""
    processes = "1 process" if count == 1 else f"{count} processes"
    limit = ", not at a limit of the pod" if uid else ""
    return f"the kernel killed {processes} of {clean(where)} for want of memory of the node{limit}"
