"""Finds an owner with more pods on a node than fit there. A new pod of it grows until it uses as much as the others.

Such a pod is no leak. Its end, or a limit of it alone, helps for a time only, because the owner creates the next pod.
"""

from collections.abc import Collection, Iterable
from typing import NamedTuple

from evictd.core.model.signal import Resource
from evictd.render.history.cause.recorded import IncidentRow
from evictd.render.incident.record.incident import Incident
from evictd.render.status.owners import TWICE
from evictd.render.text import amount_text, enough_text, first_of

_SETTLED = 2
"""How many pods of the owner that do not grow have to hold as much as the one that grew."""
_PLACES = "the scheduler places"
_NAMED = 3
_PART = 10
"""A request of more than this part above what a pod uses is explained; what exceeds less than it of all excess is not named."""


class Overcommit(NamedTuple):
    """How many pods of one owner were here and how many fit, and the request with which no more are placed here."""

    owner: str
    pods: int
    most: int
    """What the largest of them used."""
    fit: int
    request: int
    """0 where the memory of the node is not known."""
    beside: tuple[str, ...] = ()
    """Other owners, or pods without one, that use much more than they request: they have to request that as well."""
    placed: int = 0
    """How many are placed with a tenth more than the largest uses, where these are too many."""

    @property
    def cause(self) -> str:
        """How many were here and how many fit, as a clause."""
        most = amount_text(self.most, Resource.MEMORY)
        return f"the {self.pods} pods of {self.owner} here used up to {most} each, and no more than {self.fit} of that size fit"

    @property
    def remedy(self) -> str:
        """The request in all of them, and what the scheduler does then."""
        if not self.request:
            return (
                f"a request of a little more memory than each uses in all pods of {self.owner}: "
                f"with it {_PLACES} fewer of them here"
            )
        asked = f"a request of {enough_text(self.request, Resource.MEMORY)} of memory in all pods of {self.owner}"
        if self.beside:
            asked += f", and of what is used in {first_of(self.beside, _NAMED)}, where too little is requested as well"
        if self.placed:
            most = amount_text(self.most, Resource.MEMORY)
            asked += f" (with the {most} that each uses and a tenth more, {self.placed} would be placed)"
        fewer = f"with both {_PLACES} no more than {self.fit} pods of {self.owner} here"
        return f"{asked}: {fewer if self.beside else f'with it {_PLACES} no more than {self.fit} of them here'}"


def overcommit(found: Incident) -> Overcommit | None:
    """Return the pods of the evicted pod's owner if only these grew, none beyond what others of them hold, and not all fit."""
    verdict, victim, available = found.verdict, found.victim, found.available
    if verdict is None or victim is None or available is None or found.resource is not Resource.MEMORY:
        return None
    if found.of_owner < TWICE or found.host_filled or not found.measured or found.pods > len(found.ranking):
        return None
    if (victim.usage or 0) <= victim.request:
        return None
    kin = [row for row in found.ranking if row.chosen or row.pod in found.siblings]
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
    most, held = max(row.usage or 0 for row in kin), sum(row.usage or 0 for row in kin)
    fit = (available + held - found.highest_limit()) // most
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
