"""Says in one sentence what an incident was: what made the node short, and what the eviction achieved."""

from evictd.core.model.signal import Resource
from evictd.core.units.duration import SECOND, format_duration
from evictd.render.avoidance import page_cache
from evictd.render.incident import Incident
from evictd.render.text import usage_text
from evictd.render.verdict import Need

_FILLED = {
    Resource.MEMORY: "memory",
    Resource.EPHEMERAL_STORAGE: "the disk",
    Resource.INODES: "the inodes",
    Resource.PIDS: "the PIDs",
}


def summary_text(found: Incident) -> str:
    """Write cause and effect; empty where neither is known."""
    texts = [each for each in (_cause_text(found), _effect_text(found)) if each]
    return "; ".join(texts)


def _cause_text(found: Incident) -> str:
    """Write what made the node short, from the surest reason to the least sure one."""
    pod, resource, verdict = found.event.pod, found.resource, found.verdict
    if found.signal is None or resource is None:
        return f"{pod} exceeded a limit of its own"
    if found.kept_by_min_reclaim:
        return "the threshold was clear already, its minimum reclaim was not"
    if page_cache(found).by:
        return "page cache that the kernel can drop held the threshold met"
    if not found.measured:
        return f"{pod} was not measured, so its part is not known"
    if found.host_filled:
        return f"what filled {_FILLED.get(resource, resource.value)} belongs to no pod"
    grower = None if verdict is None else verdict.grower
    if grower is not None and grower.pod:
        rate = f"by {usage_text(grower.rate, resource)} a second"
        went = "would have gone" if found.event.dry_run else "went"
        return f"{grower.pod} grew {rate}" + (f" and {went}" if grower.pod == pod else f", and {pod} {went}")
    if verdict is not None and not verdict.growers and not found.event.filled:
        return "nothing grew in the minute before"
    return ""


def _effect_text(found: Incident) -> str:
    """Write whether the eviction relieved the node, for how long, and whether it was needed."""
    missing, came_back, again = found.missing, found.came_back, found.met.again
    if found.event.dry_run or missing is None:
        return ""
    if found.relieved:
        return "the eviction relieved the node"
    if found.verdict is not None and found.verdict.need in {Need.NOTHING_SHORT, Need.ANOTHER_POD}:
        return "the eviction was not needed"
    if came_back is None:
        return ""
    if came_back < missing:
        return "the eviction gave back too little"
    if again is not None:
        return f"the eviction relieved the node for {format_duration(max(round(again), 1) * SECOND)} only"
    return "the eviction gave back enough"
