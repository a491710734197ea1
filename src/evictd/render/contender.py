"""Compares one pod of a ranking with a later one: the first key in which the two differ, with both numbers.

Nothing is ranked here: the keys are those of the core's ranking, or those that the journal has of it.
"""

from collections.abc import Mapping
from typing import Any

from evictd.core.frozen import frozen
from evictd.core.model.finding import RankedPod, RankPlace, Standing
from evictd.core.model.signal import DISKS, WITH_REQUEST, Resource
from evictd.core.units.approximate import share_text
from evictd.core.units.quantity import NANO
from evictd.render.text import amount_text, clean, duration_text, usage_text

HOST_PATHS_APART = " (hostPath volumes are not measured)"
"""Why a pod can seem to use nothing of a disk."""


@frozen
class Contender:
    """One row of a ranking: a pod with the keys that put it where it is. `usage` is `None` where it was not measured."""

    name: str
    uid: str
    usage: int | None
    request: int
    exceeds: bool
    preference: int
    priority: int
    stall: int | None
    stalls_little: bool
    protected: bool

    def amount(self, resource: Resource) -> str:
        """Write what it uses: `249Mi`, `20 processes`."""
        if self.usage is None:
            return "not measured"
        return usage_text(self.usage, resource)

    def named(self, resource: Resource, age: int | None = None) -> str:
        """Write its name with what it uses, or used `age` nanoseconds before."""
        before = "" if age is None or self.usage is None else f" {duration_text(age)} before"
        return f"{self.name} ({self.amount(resource)}{before})"


def contender(row: RankedPod) -> Contender:
    """Convert a row of the core."""
    return Contender(
        name=clean(row.pod.full_name),
        uid=row.uid,
        usage=row.usage,
        request=row.request // NANO,
        exceeds=row.standing is Standing.EXCEEDS,
        preference=row.preference,
        priority=row.priority,
        stall=row.stall,
        stalls_little=row.place is RankPlace.LAST and row.usage is not None,
        protected=row.pod.critical,
    )


def recorded_contender(row: Mapping[str, Any], namespace: str) -> Contender:
    """Read a row; with a namespace, pods of others have no name."""
    known = namespace in {"", row["namespace"]}
    return Contender(
        name=clean(f"{row['namespace']}/{row['name']}") if known else "a pod of another namespace",
        uid=row["uid"],
        usage=row["usage"],
        request=row["request"],
        exceeds=bool(row["exceedsRequest"]),
        preference=row.get("preference", 0),
        priority=row["priority"],
        stall=row.get("stall"),
        stalls_little=row.get("stallsLittle", False),
        protected=row["protected"],
    )


def is_tie(row: RankedPod, rival: RankedPod) -> bool:
    """Whether two pods are equal in every key of a ranking but their names."""
    pod, other = contender(row), contender(rival)
    if pod.exceeds != other.exceeds or not _same_but_usage(pod, other):
        return False
    if pod.usage is None or other.usage is None:
        return pod.usage is other.usage
    return pod.usage - pod.request == other.usage - other.request


def deciding_key(pod: Contender, rival: Contender, resource: Resource) -> str:
    """Return the first ranking key in which a pod differs from a later one, with both numbers."""
    return _key(pod, rival, resource, theirs=f" of {rival.name}")


def _key(pod: Contender, rival: Contender, resource: Resource, *, theirs: str) -> str:
    if pod.exceeds != rival.exceeds or (pod.usage is None and rival.usage is not None):
        return _standing(pod, rival, resource)
    if pod.preference != rival.preference:
        return (
            "the configuration prefers to evict it" if pod.preference < 0 else f"the configuration avoids {rival.name}"
        )
    if pod.priority != rival.priority:
        return f"its priority {pod.priority} is below {rival.priority}{theirs}"
    if rival.usage is None and pod.usage is not None:
        return f"{rival.name} is not measured"
    if pod.stalls_little != rival.stalls_little:
        return f"it stalls {share_text(pod.stall or 0)} of the time, {rival.name} {share_text(rival.stall or 0)}"
    return _usage(pod, rival, resource)


def _standing(pod: Contender, rival: Contender, resource: Resource) -> str:
    if pod.usage is None:
        return f"it is not measured, {rival.name} is"
    if rival.usage is None:
        return f"{rival.name} is not measured"
    if resource not in WITH_REQUEST:
        return f"it uses {pod.amount(resource)}, {rival.name} none"
    if not rival.request:
        unmeasured = HOST_PATHS_APART if resource in DISKS else ""
        return f"it {_excess(pod, resource)}, while {rival.name} uses none{unmeasured}"
    return f"it {_excess(pod, resource)}, while {rival.name} does not exceed its {'own' if pod.request else 'request'}"


def _usage(pod: Contender, rival: Contender, resource: Resource) -> str:
    if pod.usage is None or rival.usage is None:
        return f"neither it nor {rival.name} is measured, so the name decides"
    if pod.usage - pod.request == rival.usage - rival.request:
        return f"it is equal to {rival.name}, so the name decides"
    if resource not in WITH_REQUEST:
        return f"it uses {pod.amount(resource)}, {rival.name} {rival.amount(resource)}"
    if pod.exceeds:
        return _greater_excess(pod, rival, resource)
    if pod.usage == pod.request:
        same = "uses what it requests" if pod.request else "uses and requests none"
        return f"it {same}, {rival.name} is {_distance(rival, resource)} within its request"
    return f"it is {_distance(pod, resource)} within its request, {rival.name} {_distance(rival, resource)}"


def _greater_excess(pod: Contender, rival: Contender, resource: Resource) -> str:
    if not pod.request and not rival.request:
        return f"it uses {pod.amount(resource)}, {rival.name} only {rival.amount(resource)}; both request none"
    if pod.request and rival.request:
        return f"it {_excess(pod, resource)}, {rival.name} by only {_distance(rival, resource)}"
    return f"it {_excess(pod, resource)}, while {rival.name} {_excess(rival, resource, only='only ')}"


def _excess(pod: Contender, resource: Resource, only: str = "") -> str:
    if not pod.request:
        return f"requests none and uses {only}{pod.amount(resource)}"
    return f"exceeds its request by {only}{_distance(pod, resource)}"


def _distance(pod: Contender, resource: Resource) -> str:
    return amount_text(abs((pod.usage or 0) - pod.request), resource)


def against(pod: Contender, rival: Contender, resource: Resource, *, nearest: bool = True) -> str:
    """Compare with a rival, if not said otherwise the nearest; common keys come first, so that the deciding key stands out."""
    named = rival.named(resource)
    if resource not in WITH_REQUEST or pod.exceeds != rival.exceeds or pod.usage is None or rival.usage is None:
        return _key(pod, rival, resource, theirs=f" of {named}")
    common = f"both it and {named} {'exceed' if pod.exceeds else 'are within'} their request"
    if _same_but_usage(pod, rival) and pod.usage - pod.request != rival.usage - rival.request:
        both = f"both have priority {pod.priority}, so the {_deciding_amount(pod, rival)} decides"
        name = f"{rival.name}, the next," if nearest else rival.name
        return f"it {_place(pod, resource)}; {name} {_place(rival, resource)}; {both}"
    return f"{common}, and {_key(pod, rival, resource, theirs='')}"


def _place(pod: Contender, resource: Resource) -> str:
    """Write how a pod stands to its request."""
    if not pod.request:
        return f"requests none and uses {pod.amount(resource)}"
    request = f"request of {amount_text(pod.request, resource)}"
    distance = _distance(pod, resource)
    return f"exceeds its {request} by {distance}" if pod.exceeds else f"is {distance} within its {request}"


def _deciding_amount(pod: Contender, rival: Contender) -> str:
    """Return which of the two amounts that `_place` writes makes a pod rank first."""
    if not pod.exceeds:
        return "smaller distance"
    return "larger excess" if pod.request or rival.request else "larger use"


def _same_but_usage(pod: Contender, rival: Contender) -> bool:
    keys = (pod.preference, pod.priority, pod.stalls_little)
    return keys == (rival.preference, rival.priority, rival.stalls_little)
