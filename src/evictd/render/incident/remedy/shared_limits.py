"""Says which limits keep several pods that grew at once from making a node short, from its first victim on.

A limit of one of them only delays that. The pods of one owner have one template, so the limit of each is the lowest of theirs.
"""

from collections.abc import Sequence
from typing import NamedTuple

from evictd.core.model.signal import WITH_REQUEST, Resource
from evictd.render.attribution import clock_text
from evictd.render.history.history import EventKind
from evictd.render.incident.cause.growers import other_growers, taken_beside
from evictd.render.incident.record.earlier import Earlier, HeldThen, of_one_owner
from evictd.render.incident.record.incident import Incident
from evictd.render.text import amount_text, first_of, rounded_below

_NAMED = 5
_PLACED = "which places it where that is free, on a larger node or beside fewer pods"
HAS_TO_HOLD_MORE = f"if it has to hold more: a request of that, {_PLACED}"
_AGAIN = f", and again after each restart in which it takes as much; {HAS_TO_HOLD_MORE}"
_EACH = "each pod of "


class SharedLimits(NamedTuple):
    """The pods that grew together, and what they may hold together, of which each gets its part as a limit."""

    pods: tuple[HeldThen, ...] = ()
    """What they held when the first of their victims went."""
    enough: int = 0
    """0 where no limits would have avoided the eviction."""
    at: str = ""
    """When that victim went, as a clause; empty where it is the pod of the incident."""

    def text(self, resource: Resource, growth: int = 0) -> str:
        """Write the limit of each; empty where one would be below the request, which is not valid.

        `growth` is what they take between two checks of limits on a disk.
        """
        shares = _shares(self.pods, self.enough - growth)
        if not shares:
            return ""
        split = [f"{amount_text(rounded_below(most), resource)} of {name}" for name, most in shares.items()]
        then = (
            "the kernel would have ended each there, before the node was short"
            if resource is Resource.MEMORY
            else "each would have been evicted for its own, before the node was so short that a pod had to go"
        )
        together = amount_text(sum(each.held for each in self.pods), resource)
        how = f" (they held {together} together when {self.at})" if self.at else ""
        again = _AGAIN if resource is Resource.MEMORY and any(name.startswith(_EACH) for name in shares) else ""
        return f"limits of {resource.value} of at most {first_of(split, _NAMED)}: {then}{how}{again}"


def shared_limits(found: Incident) -> SharedLimits:
    """Return the limits of the pods that grew together; none where nothing counts against a limit what was short."""
    if found.resource not in WITH_REQUEST:
        return SharedLimits()
    first = next((_at_earlier(found, each) for each in found.earlier if each.together), None)
    first = _at_incident(found) if first is None else first
    if any(each.pod in found.steady for each in first.pods):
        return first._replace(enough=0)  # one that stands still at more than its limit only started
    return first


def _at_earlier(found: Incident, earlier: Earlier) -> SharedLimits:
    held = sum(each.held for each in earlier.together)
    at = f"{earlier.event.pod} was evicted at {clock_text(earlier.event.at)}"
    return SharedLimits(earlier.together, held - earlier.missing - found.swapped, at)


def _at_incident(found: Incident) -> SharedLimits:
    """Return the pods that grew in the minute before the eviction, and what they may hold together."""
    growing = [each for each in found.growers if each.pod == found.event.pod and found.pod_grew] + [
        *other_growers(found)
    ]
    rows = {row.pod: row for row in found.ranking}
    if len(growing) < 2 or not found.missing or any(each.pod not in rows for each in growing):
        return SharedLimits()
    held = [HeldThen(each.pod, each.owner, rows[each.pod].usage or 0, rows[each.pod].request) for each in growing]
    if not all(each.held > each.request for each in held):
        return SharedLimits()  # what grew within its request is no fault
    before = (each for each in found.before if each.kind is EventKind.EVICTED and each.uid != found.event.uid)
    if found.pod_grew and any(of_one_owner(each, found.event) for each in before):
        return SharedLimits()  # with the limit that pod would have run on, and the sum has no part for it
    beside = taken_beside(found, {each.pod for each in held}) if found.resource is Resource.MEMORY else 0
    return SharedLimits(tuple(held), sum(each.held for each in held) - found.missing - found.swapped - beside)


def _shares(pods: Sequence[HeldThen], enough: int) -> dict[str, int]:
    """Return by pod, or by owner of several, the part of each of what they may hold together; empty where that is too little."""
    if enough <= 0:
        return {}
    held = sum(each.held for each in pods)
    least = [max(each.request, each.held * enough // held) for each in pods]
    largest = max(range(len(least)), key=lambda n: least[n] - pods[n].request)
    least[largest] -= max(sum(least) - enough, 0)
    if any(most < max(pod.request, 1) for most, pod in zip(least, pods, strict=True)):
        return {}
    shares = dict[str, int]()
    for pod, most in zip(pods, least, strict=True):
        name = _template(pod, pods)
        shares[name] = min(most, shares.get(name, most))
    return shares


def _template(pod: HeldThen, pods: Sequence[HeldThen]) -> str:
    """Return the pod, or its owner where more than one of its pods grew."""
    namespace = pod.pod.partition("/")[0]
    kin = [each for each in pods if pod.owner and (each.owner, each.pod.partition("/")[0]) == (pod.owner, namespace)]
    return f"{_EACH}{pod.owner}" if len(kin) > 1 else pod.pod
