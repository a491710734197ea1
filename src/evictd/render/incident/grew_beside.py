"""Says of an evicted pod that it grew beyond its request beside what filled the supply and belongs to no pod."""

from evictd.core.model.signal import WITH_REQUEST
from evictd.render.incident.grower_rate import grower_rate
from evictd.render.incident.incident import Incident
from evictd.render.text import usage_text


def grew_beside_text(found: Incident) -> str:
    """Write by how much it grew; empty where it did not by a tenth of all growth, was within its request, or was the cause."""
    verdict, victim, resource = found.verdict, found.victim, found.resource
    if verdict is None or victim is None or resource is None or not (found.host_filled and found.measured):
        return ""
    if not verdict.grew or (resource in WITH_REQUEST and (victim.usage or 0) <= victim.request):
        return ""
    own = next(each for each in verdict.growers if each.pod == verdict.pod)
    return f"{own.pod} grew by {usage_text(grower_rate(found, own), resource)} a second as well"
