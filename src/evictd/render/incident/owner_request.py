"""Says whether requests of what they use in all pods of the evicted pod's owner would have avoided its eviction.

A request is in the template of all of them. With that of the evicted pod alone another one of them goes in its place.
"""

from evictd.core.model.signal import Resource
from evictd.render.history.recorded_ranking import IncidentRow
from evictd.render.incident.incident import Incident
from evictd.render.incident.requested import requested_with
from evictd.render.text import amount_text

NOT_ALL_PLACED = ", so not all of them would be placed on it"


def owner_request_text(found: Incident, resource: Resource) -> str:
    """Write what requests of the whole owner would have avoided; empty where they would not, or where that is not known."""
    every = f"a request of what they use in all pods of {found.event.owner}"
    whole, too_much = requested_with(found, lambda row: row.chosen or row.pod in found.siblings)
    if too_much:
        return f"{every}: {whole}{NOT_ALL_PLACED}"
    other = _in_place_of_all(found)
    if other is None:
        return ""
    went = f"{every}: {other.pod} ({amount_text(other.usage, resource)}) would have gone in its place then"
    if not _is_higher(found, other):
        return went
    grower = found.grower
    is_cause = grower is not None and grower.pod == other.pod
    return f"{went}, whose priority {other.priority} is higher; it is the one that grew" if is_cause else ""


def higher_than_owner_text(found: Incident, resource: Resource) -> str:
    """Write, as a clause, which pod of higher priority would have gone had the whole owner requested it; empty for none."""
    other = _in_place_of_all(found)
    if other is None or not _is_higher(found, other) or owner_request_text(found, resource):
        return ""
    instead = f"{other.pod} ({amount_text(other.usage, resource)}), whose priority {other.priority} is higher"
    return f"; with that of all pods of {found.event.owner}, {instead}"


def _in_place_of_all(found: Incident) -> IncidentRow | None:
    """Return the pod of another owner that would have gone with requests of the whole owner; `None` where it is not known."""
    other = next((row for row in found.ranking if row.pod == found.with_owner_request), None)
    grew = found.pod_grew  # it would have exceeded that request soon
    if found.victim is None or other is None or grew or other.chosen or other.pod in found.siblings:
        return None
    return other


def _is_higher(found: Incident, other: IncidentRow) -> bool:
    return found.victim is not None and other.priority > found.victim.priority
