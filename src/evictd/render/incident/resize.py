"""Says of an evicted pod what a resize of its memory request, which the kubelet had not granted, has to do with it."""

from evictd.core.model.signal import Resource
from evictd.render.incident.incident import Incident
from evictd.render.text import amount_text


def resize_remedy(found: Incident) -> tuple[str, ...]:
    """Write how the pod gets the memory that it asked for; empty without a resize, or where it used more than it asked for."""
    victim = found.victim
    if not found.asked or victim is None or victim.usage is None or victim.usage > found.asked:
        return ()
    asked = amount_text(found.asked, Resource.MEMORY)
    remedy = f"if it needs {asked} of memory, a new pod with that request in place of the resize"
    placed = "the scheduler places it where so much is free"
    requested = sum(found.asked if row.chosen else row.request for row in found.ranking)
    if found.capacity is not None and requested > found.capacity:
        of = f"{amount_text(requested, Resource.MEMORY)} of the {amount_text(found.capacity, Resource.MEMORY)} of this node"
        return (f"{remedy}: {placed}; with it the pods here would request {of}, so the kubelet cannot grant it here",)
    return (f"{remedy}: {placed}; its condition PodResizePending says why the kubelet did not grant it here",)


def resize_in_vain(found: Incident) -> tuple[str, ...]:
    """Write that a granted resize would not have been enough; empty without a resize, or where it would have been."""
    victim = found.victim
    if not found.asked or victim is None or victim.usage is None or victim.usage <= found.asked:
        return ()
    asked, used = (amount_text(each, Resource.MEMORY) for each in (found.asked, victim.usage))
    return (f"its resize to {asked} of memory granted: it used {used}, which is more",)
