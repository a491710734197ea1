"""Says of an incident how much memory belongs to no pod, where that is more than what was missing."""

from evictd.core.model.signal import Resource
from evictd.render.history.history import killed_of
from evictd.render.incident.record.incident import Incident
from evictd.render.text import amount_text

_NOTABLE = 20
"""What belongs to no pod is named from this part of the memory on: each node runs a few daemons."""


def outside_pods_text(found: Incident) -> str:
    """Write how much belongs to no pod; empty where it is less than what was missing, or is what filled the memory."""
    held, capacity = found.elsewhere or 0, found.capacity or 0
    if found.resource is not Resource.MEMORY or found.missing is None or found.host_filled:
        return ""
    if held <= found.missing or held * _NOTABLE < capacity:
        return ""
    text, hidden = f"{amount_text(held, found.resource)} of what is used belongs to no pod", found.unallocatable
    if not hidden:
        return text
    of_it = "it" if hidden >= held else f"{amount_text(hidden, found.resource)} of it"
    return f"{text}, and no process can allocate {of_it}"


def reserve_text(found: Incident) -> str:
    """Write to reserve what belongs to no pod; empty where `outside_pods_text` is, and where that would not help.

    It does not where most of the growth is of pods beyond their request, or the evicted pod filled the memory by its own before,
    where what belongs to no pod still grows or is probably a leak (`host_suspect`), or where only the minimum reclaim was not
    reached. Nor does it where that is known to fit beside what the pods request: the scheduler would have placed each of them
    here all the same.
    """
    requested = sum(row.request for row in found.ranking)
    if len(found.ranking) >= found.pods and requested + (found.elsewhere or 0) <= (found.capacity or 0):
        return ""
    growers = () if found.verdict is None else found.verdict.growers
    beyond = {row.pod for row in found.ranking if (row.usage or 0) > row.request}
    leaks = sum(each.rate for each in growers if each.pod in beyond) * 2 > sum(each.rate for each in growers)
    outside_grows = bool(found.host_suspect) or (found.grows_on is not None and found.grows_on.of_no_pod)
    host = _host_stands(found)
    if not (outside_pods_text(found) or host) or leaks or outside_grows or found.own_cause or found.kept_by_min_reclaim:
        return ""
    held = amount_text(found.elsewhere or 0, Resource.MEMORY)
    if host:
        reserved = (
            f"let systemReserved and kubeReserved of the kubelet cover at least the {held} that belonged to no pod"
        )
        return f"if the host has to use so much, {reserved}, so that fewer pods are placed here"
    return f"let systemReserved and kubeReserved of the kubelet cover the {held} that belongs to no pod"


def _host_stands(found: Incident) -> bool:
    """Whether what belongs to no pod filled the memory, and neither grew any more nor lost a process to the kernel since."""
    known = found.resource is Resource.MEMORY and bool(found.elsewhere) and bool(found.capacity)
    return known and found.host_filled and found.quiet and not killed_of(found.after)
