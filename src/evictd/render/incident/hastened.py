"""Says of an incident that a pod with steady growth was the cause, and another one only brought its eviction forward."""

from evictd.core.units.duration import SECOND, format_duration
from evictd.render.incident.incident import Incident
from evictd.render.incident.verdict import Grower
from evictd.render.text import seconds_text, usage_text


def hastened_cause(found: Incident, went: str) -> str:
    """Write by how much the evicted pod had grown, and what brought its eviction forward; empty where nothing did."""
    own, other = _both(found)
    if own is None or other is None or found.resource is None:
        return ""
    grew = f"{own.pod} grew by {usage_text(own.grown or 0, found.resource)} in {_over(own)} and {went}"
    return f"{grew}; {other.pod} only brought it forward"


def hastened_text(found: Incident) -> str:
    """Write that less growth of the faster pod would only have delayed the eviction; empty where nothing brought it forward."""
    own, other = _both(found)
    if own is None or other is None or found.resource is None:
        return ""
    later = seconds_text((other.grown or 0) / own.rate)
    rate = usage_text(own.rate, found.resource)
    return f"less growth of {other.pod}: {own.pod} grew by {rate} a second, so it would have gone about {later} later"


def _both(found: Incident) -> tuple[Grower | None, Grower | None]:
    """Return the evicted pod and the one that brought its eviction forward; `None` twice where nothing did."""
    other = None if found.verdict is None else found.verdict.hastened_by
    if found.verdict is None or other is None or not other.pod:
        return None, None
    return next(each for each in found.verdict.growers if each.pod == found.event.pod), other


def _over(grower: Grower) -> str:
    return format_duration(grower.over // SECOND * SECOND)
