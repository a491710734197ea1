"""Says whether less use by the evicted pod alone would have avoided its eviction, where it held what was missing."""

from evictd.core.model.signal import Resource
from evictd.render.history.recorded_ranking import IncidentRow
from evictd.render.incident.growers import other_growers
from evictd.render.incident.incident import Incident
from evictd.render.incident.within_lead import LEAD_SECONDS
from evictd.render.text import amount_text

OUTSIDE_GREW = "what belongs to no pod grew as well, and more of that growth would have made the node short later"


def outside_grows_on(found: Incident) -> bool:
    """Whether what belongs to no pod filled the supply, or a part of it, and still did when the pod was evicted."""
    return (found.host_filled and (found.rate or 0) > 0) or any(not each.pod for each in other_growers(found))


def less_use(found: Incident, victim: IncidentRow, resource: Resource) -> str:
    """Return the setting: the use of a pod that alone held what was missing beyond its request; empty where it did not."""
    excess = (victim.usage or 0) - victim.request
    grew = found.pod_grew
    others = 0 if grew else max(found.rate or 0, 0) * LEAD_SECONDS
    if found.missing is None or excess < found.missing + others:
        return ""  # what grows beside it would have taken that within the minute
    more = "and requested none" if not victim.request else f"{amount_text(excess, resource)} more than it requested"
    return f"less use by {victim.pod}: it held {amount_text(victim.usage, resource)}, {more}"
