"""Tells of an incident whether a pod that was not measured held what was missing."""

from evictd.core.model.signal import WITH_REQUEST
from evictd.render.incident.incident import Incident
from evictd.render.incident.verdict import Need


def held_unmeasured(found: Incident) -> bool:
    """Whether the pod was not measured, and its end relieved the node, which no end of a measured pod would have."""
    no_pod = found.verdict is not None and found.verdict.need is Need.NO_POD_HELPS
    return no_pod and found.relieved and not found.measured and found.signal is not None


def exceeded_unmeasured(found: Incident) -> bool:
    """Whether such a pod used more than it requested when it was measured before."""
    victim = found.victim
    if victim is None or victim.usage is None or not held_unmeasured(found):
        return False
    return found.resource in WITH_REQUEST and victim.usage > victim.request
