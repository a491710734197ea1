"""Says of an incident whether requests of what pods use would place fewer of them on the node."""

from collections.abc import Callable

from evictd.core.model.signal import Resource
from evictd.render.history.recorded_ranking import IncidentRow
from evictd.render.incident.incident import Incident
from evictd.render.text import amount_text


def requested_with(found: Incident, raised: Callable[[IncidentRow], bool]) -> tuple[str, bool]:
    """Return what the pods would request of the node, had the raised ones requested what they use; and whether it is too much.

    A pod that uses less than it requests keeps its request. The text is empty where the size of the node is not known, or where
    the journal has only some of the pods and these fit.
    """
    if found.resource is not Resource.MEMORY or found.capacity is None:
        return "", False
    requested = sum(max(row.usage or 0, row.request) if raised(row) else row.request for row in found.ranking)
    too_much = requested > found.capacity
    if not too_much and found.pods > len(found.ranking):
        return "", False
    whole = f"{amount_text(requested, found.resource)} of the {amount_text(found.capacity, found.resource)} of the node"
    return f"the pods here would request {whole}", too_much
