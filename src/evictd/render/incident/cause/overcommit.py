"""Finds an owner with more pods on a node than fit there. A new pod of it grows until it uses as much as the others.

Such a pod is no leak. Its end, or a limit of it alone, helps for a time only, because the owner creates the next pod.
"""

from collections.abc import Collection, Iterable, Sequence

from evictd.core.model.signal import Resource
from evictd.render.history.cause.recorded import IncidentRow
from evictd.render.incident.record.incident import Incident
from evictd.render.incident.record.overcommit import Overcommit
from evictd.render.status.owners import TWICE

_SETTLED = 2
"""How many pods of the owner that do not grow have to hold as much as the one that grew."""
_PART = 10
"""A request of more than this part above what a pod uses is explained; what exceeds less than it of all excess is not named."""


def overcommit(found: Incident) -> Overcommit | None:
    """Return the pods of the evicted pod's owner if only these grew, none beyond what others of them hold, and not all fit."""
    verdict = found.verdict
    if verdict is None or found.of_owner < TWICE:
        return None
    kin = _kin(found)
    growing = {each.pod for each in verdict.notable}
    on = () if found.grows_on is None else found.grows_on.growers
    if not growing or not {*growing, *(each.pod for each in on)} <= {row.pod for row in kin}:
        return None
    largest = max(row.usage or 0 for row in kin if row.pod in growing)
    if not largest:
        return None
    grew = {each.pod for each in verdict.growers}
    if sum((row.usage or 0) >= largest for row in kin if row.pod not in grew) < _SETTLED:
        return None
    return _that_fit(found, kin)


def grown_together(found: Incident) -> Overcommit | None:
    """Return the pods of the evicted pod's owner if only these grew, several at once, and not all fit."""
    kin, growing = _kin(found), {each.pod for each in found.growers}
    if len(growing) < TWICE or not growing <= {row.pod for row in kin}:
        return None
    return _that_fit(found, kin)


def _kin(found: Incident) -> list[IncidentRow]:
    """Return the pods of the evicted pod's owner, itself with them; empty where it is within its request, or not all is known."""
    victim = found.victim
    if victim is None or found.available is None or found.resource is not Resource.MEMORY:
        return []
    if found.host_filled or not found.measured or found.pods > len(found.ranking):
        return []
    if (victim.usage or 0) <= victim.request:
        return []
    return [row for row in found.ranking if row.chosen or row.pod in found.siblings]


def _that_fit(found: Incident, kin: Sequence[IncidentRow]) -> Overcommit | None:
    """Return how many pods of the size of the largest fit, with the request for that; `None` where all do, or none does."""
    most, held = max(row.usage or 0 for row in kin), sum(row.usage or 0 for row in kin)
    fit = ((found.available or 0) + held - found.highest_limit()) // most
    if not 0 < fit < len(kin):
        return None
    more, others = most + most // _PART, [row for row in found.ranking if row not in kin]
    left, beside = _unrequested(found, others), list[IncidentRow]()
    if left // (fit + 1) >= more:  # others use what they do not request, and more pods are placed there
        beside = [row for row in others if (row.usage or 0) - row.request > most // _PART]
        left = _unrequested(found, others, beside)
    request = max(left // (fit + 1) + 1, most) if left > 0 else 0
    names = tuple(dict.fromkeys(found.owners.get(row.pod, row.pod) for row in beside))
    return Overcommit(found.event.owner, len(kin), most, fit, request, names, left // more if request > more else 0)


def _unrequested(found: Incident, others: Iterable[IncidentRow], beside: Collection[IncidentRow] = ()) -> int:
    """Return the memory that the other pods leave unrequested, where those `beside` request what they use."""
    requested = sum((row.usage or 0) if row in beside else row.request for row in others)
    return (found.capacity or 0) - requested
