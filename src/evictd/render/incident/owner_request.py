"""Says whether requests of what they use in all pods of the evicted pod's owner would have avoided its eviction.

A request is in the template of all of them. With that of the evicted pod alone another one of them goes in its place.
"""

from evictd.core.model.signal import Resource
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
    victim = found.victim
    other = next((row for row in found.ranking if row.pod == found.with_owner_request), None)
    grew = found.verdict is not None and found.verdict.grew  # it would have exceeded that request soon
    if victim is None or other is None or grew or other.priority > victim.priority:
        return ""
    if other.chosen or other.pod in found.siblings:
        return ""
    return f"{every}: {other.pod} ({amount_text(other.usage, resource)}) would have gone in its place then"
