"""Says of an incident what a request would have done with which no pod would have gone at that moment."""

from evictd.core.model.signal import Resource
from evictd.render.incident.growers import grower_rate
from evictd.render.incident.incident import Incident
from evictd.render.text import amount_text

_NO_POD = "evictd would have ended no pod at that moment"


def no_pod_then(found: Incident, resource: Resource) -> str:
    """Write what would have come then: a pod that grows passes any request, and may go at once when it does."""
    verdict = found.verdict
    if verdict is None or not verdict.grew:
        return f"{_NO_POD}; which one it would have ended later is not known"
    own = next((each for each in verdict.growers if each.pod == found.event.pod), None)
    if not found.past_request or own is None:
        return f"{_NO_POD}; had it grown on, it would have gone all the same later"
    rate = amount_text(grower_rate(found, own), resource)
    return f"it would have gone all the same, within a second, because it grew past that request at {rate} a second"
