"""Says which limit would have ended a pod before the node was short, and how that limit comes about."""

from collections.abc import Collection
from typing import NamedTuple

from evictd.core.model.signal import WITH_REQUEST, Resource
from evictd.render.attribution import clock_text
from evictd.render.history.cause.recorded import IncidentRow
from evictd.render.incident.cause.growers import grower_rate, other_growers, taken_beside
from evictd.render.incident.record.earlier import Earlier
from evictd.render.incident.record.incident import CONTAINER_LOGS, Incident
from evictd.render.incident.record.verdict import Grower
from evictd.render.incident.remedy.avoided import Avoidance, in_vain
from evictd.render.incident.remedy.shared_limits import HAS_TO_HOLD_MORE, SharedLimits
from evictd.render.text import ROUNDED_BY, amount_text, first_of, rounded_below, seconds_text

LIMITS_CHECKED = 10
"""Seconds from one comparison of the pods' disk use with their limits to the next, by default."""
_NAMED = 3
"""How many pods that grew are named."""
_KIB = 1 << 10
"""Fewer bytes have no unit."""
_LOWER = 100
"""A limit is lower than another one by this part of it at least."""
_DAY = 10
"""Characters of a date."""
OUTSIDE_GREW = "what belongs to no pod grew as well, and more of that growth would have made the node short later"
_ROTATION = (
    "log rotation: containerLogMaxSize times containerLogMaxFiles of the kubelet bounds the logs of each container"
)
_LOGS_CHECKED = 10
"""Seconds after which the kubelet looks whether a log has to be rotated, by default."""
_LATER = "grew as well, and it leaves no room for more of that growth; a lower limit does"


def limit_sum(
    used: int,
    missing: int,
    growth: int,
    resource: Resource,
    *,
    in_swap: bool = False,
    beside: int = 0,
) -> str:
    """Write the sum in parentheses: what the pod held less what was missing and, on a disk, its growth between checks.

    The proposed amount is rounded below that, so the sum has what it is lower by. `in_swap`: the pod held more in swap.
    `beside`: what others take in a minute.
    """
    held = f"{amount_text(used, resource)} that it held{' outside swap' if in_swap else ''}"
    return sum_text(held, missing, growth, resource, beside)


def sum_text(held: str, missing: int, growth: int, resource: Resource, beside: int = 0) -> str:
    """Write the sum of a text of what was held less the others; what is missing of bytes is left out below 1Ki."""
    short = "" if missing < _KIB and resource in WITH_REQUEST else f"{amount_text(missing, resource)} that was missing"
    checked = f"{amount_text(growth, resource)} that it takes in the {LIMITS_CHECKED} s between two checks of limits"
    others = f"{amount_text(beside, resource)} that others take in a minute" if beside else ""
    less = filter(None, (short, checked if growth else "", others, f"{ROUNDED_BY} for rounding"))
    return f"({held}, less {', and '.join(less)})"


class LimitThen(NamedTuple):
    """A limit, and the sum in parentheses that gives it."""

    enough: int
    how: str


def limit_then(found: Incident, pods: Collection[str], enough: int, growth: int) -> LimitThen | None:
    """Return the limit of these pods together that spares each earlier victim of their growth; `None` where `enough` does.

    `growth` is what they take between two checks of limits. What was in swap then is not known, so as much as now counts.
    """
    found_then = list[tuple[int, Earlier]]()
    for each in found.earlier:
        held = sum(amount for pod, amount in each.held.items() if pod in pods)
        least = held - each.missing - growth - found.swapped
        if held and least > 0:
            found_then.append((least, each))
    least, first = min(found_then, key=lambda each: each[0], default=(enough, None))
    if first is None or least * _LOWER > enough * (_LOWER - 1):
        return None
    return LimitThen(least, _how(found, first, pods, growth))


def _how(found: Incident, first: Earlier, pods: Collection[str], growth: int) -> str:
    event, resource = first.event, found.resource
    if resource is None:
        return ""
    held = sum(amount for pod, amount in first.held.items() if pod in pods)
    at = clock_text(event.at) if event.at[:_DAY] == found.event.at[:_DAY] else event.at
    who = "it" if first.grower in {"", found.event.pod} else first.grower
    cause = "" if first.grower else ", perhaps for the same growth"
    swap = f", {amount_text(found.swapped, resource)} that may have been in swap" if found.swapped else ""
    then = f"{amount_text(held, resource)} that {who} held when {event.pod} was evicted at {at}{cause}{swap}"
    return sum_text(then, first.missing, growth, resource)


def grower_limit(found: Incident, grower: Grower, shared: SharedLimits, resource: Resource) -> Avoidance:
    """Return the limit of the only other pod that grew: it would have spared this one, unless this one grew as well."""
    limit = _limit_of_grower(found, grower)
    others = [each.pod for each in shared.pods if each.pod != grower.pod]
    if others and not found.pod_grew:
        alone = f"a limit of {limit} for {grower.pod} alone: {first_of(others, _NAMED)} {_LATER}"
        by = filter(None, (shared.text(resource),))
        return Avoidance(by=tuple(by)) + (in_vain(alone) if limit else Avoidance())
    if not limit:
        return Avoidance()
    if found.pod_grew:
        return in_vain(f"a limit of {limit} for {grower.pod} alone: {found.event.pod} {_LATER}")
    return Avoidance(by=(f"a limit of at most {limit} for it would have been enough",))


def _limit_of_grower(found: Incident, grower: Grower) -> str:
    """Write the limit of another pod with which its growth ends before the node is short; empty where none is known to."""
    row = next((each for each in found.ranking if each.pod == grower.pod), None)
    enough = enough_of_grower(found, grower)
    if row is None or found.resource is None or enough < max(row.request, 1):
        return ""
    return f"{amount_text(rounded_below(enough), found.resource)} of {found.resource.value}"


def enough_of_grower(found: Incident, grower: Grower) -> int:
    """Return what another pod may hold so that its growth ends before the node is short; 0 where nothing is known to do."""
    row = next((each for each in found.ranking if each.pod == grower.pod), None)
    resource, verdict = found.resource, found.verdict
    if resource is None or resource not in WITH_REQUEST or row is None or row.usage is None or not found.missing:
        return 0
    if verdict is None or other_growers(found) != (grower,) or found.host_filled:
        return 0
    if grower.rate * 2 < (found.rate or 0):
        return 0  # something else made the signal fall as well
    growth = grower_rate(found, grower) * LIMITS_CHECKED if resource is Resource.EPHEMERAL_STORAGE else 0
    beside = taken_beside(found, {grower.pod}) if resource is Resource.MEMORY else 0
    enough = row.usage - found.missing - growth - beside
    lower = limit_then(found, (grower.pod,), enough, growth)
    return max(enough if lower is None else lower.enough, 0)


def limit_avoidance(found: Incident, victim: IncidentRow, resource: Resource, shared: SharedLimits) -> Avoidance:
    """Say which limit would have ended the pod before the node was short."""
    if found.missing is None or victim.usage is None or found.missing <= 0 or resource not in WITH_REQUEST:
        return Avoidance()
    if found.missing >= victim.usage - found.swapped:
        return _of_limits(found, victim, resource, shared)
    if resource is Resource.EPHEMERAL_STORAGE and found.deleted * 2 >= victim.usage:
        deleted = amount_text(found.deleted, resource)
        return Avoidance(
            by=(f"no deleted files that are kept open: {deleted} of what it held, which no limit and no `du` counts",)
        )
    held = max(victim.usage, found.came_back or 0) if found.held_unmeasured else victim.usage - found.swapped
    growth = 0
    beside = taken_beside(found, {victim.pod}) if resource is Resource.MEMORY and not other_growers(found) else 0
    enough = held - found.missing - beside
    by: tuple[str, ...] = ()
    if resource is Resource.EPHEMERAL_STORAGE:
        own = (each for each in found.growers if each.pod == victim.pod)
        rate = next((grower_rate(found, each) for each in own), 0)
        by = (rotation_text(rate),) if found.most_in == CONTAINER_LOGS else ()
        growth = rate * LIMITS_CHECKED
        enough -= growth
    if enough <= 0:
        return Avoidance(by=by)
    lower = limit_then(found, (victim.pod,), enough, growth)
    how = limit_sum(held, found.missing, growth, resource, in_swap=found.swapped > 0, beside=beside)
    enough, how = (enough, how) if lower is None else lower
    most = f"{amount_text(rounded_below(enough), resource)} of {resource.value}"
    # A limit below the request is not valid.
    both = "request and a " if enough < max(victim.request, found.asked) else ""
    if_grown = "if it grew, " if found.verdict is None else ""
    limit = f"{if_grown}a {both}limit of at most {most}"
    evicted = "it would have been evicted for that, before the node was so short that a pod had to go"
    if resource is Resource.EPHEMERAL_STORAGE and (lasts := _lasts_text(found, enough)):
        return Avoidance(by=(*by, f"{limit}: {evicted} {how}; {lasts}"))
    if other_growers(found) or any(each.pod != victim.pod for each in shared.pods):
        rotated = Avoidance(by=by)
        if by and found.host_filled:
            rotated = in_vain(f"log rotation alone: {OUTSIDE_GREW}")
        return rotated + _of_limits(
            found, victim, resource, shared, f"{if_grown}a {both}limit of {most} for this pod alone"
        )
    if resource is Resource.EPHEMERAL_STORAGE:
        return Avoidance(by=(*by, f"{limit}: {evicted} {how}"))
    if found.in_memory:
        kills = (
            "the kernel would have killed its processes there, and again after each restart while files in its emptyDir"
        )
        fail = "in memory hold so much; a sizeLimit of that emptyDir below it lets the writes fail instead"
        return Avoidance(by=(f"{limit}: {kills} {fail} {how}",))
    ended = "moved more of it to swap, and ended it when that was full," if found.swap else "ended it there,"
    again = "and again after each restart in which it takes as much"
    return Avoidance(
        by=(f"{limit}: the kernel would have {ended} before the node was short, {again} {how}; {HAS_TO_HOLD_MORE}",)
    )


def _lasts_text(found: Incident, freed: int) -> str:
    """Write how long what the eviction of the main grower frees lasts for what else grew; empty where it is not the main one."""
    others = other_growers(found)
    if not others or found.grower is None or found.grower.pod != found.event.pod:
        return ""
    beside = sum(grower_rate(found, each) for each in others)
    fast = max(beside, (found.rate or 0) - grower_rate(found, found.grower), 1)
    names = first_of([each.pod or "what belongs to no pod" for each in others], _NAMED)
    return f"{names} grew as well, and what that frees lasts {seconds_text(freed / fast)}"


def _of_limits(
    found: Incident, victim: IncidentRow, resource: Resource, shared: SharedLimits, alone: str = ""
) -> Avoidance:
    """Say that a limit of one of several pods that grew only delays it, and what their limits may sum up to.

    `alone` is that limit; empty where the pod holds less than is missing, so that no limit of it suffices.
    """
    growth = LIMITS_CHECKED * max(found.rate or 0, 0) if resource is Resource.EPHEMERAL_STORAGE else 0
    names = tuple(each.pod or "what belongs to no pod" for each in other_growers(found))
    names = names or tuple(dict.fromkeys(each.pod for each in shared.pods if each.pod != victim.pod))
    vain = in_vain(f"{alone}: {first_of(names, _NAMED)} {_LATER}") if alone and names else Avoidance()
    return Avoidance(by=tuple(filter(None, (shared.text(resource, growth),)))) + vain


def rotation_text(rate: int) -> str:
    """Write what bounds the logs, and how much a container writes beyond that until the kubelet looks again."""
    if not rate:
        return _ROTATION
    fast, more = (amount_text(each, Resource.EPHEMERAL_STORAGE) for each in (rate, rate * _LOGS_CHECKED))
    return (
        f"{_ROTATION}; it checks every {_LOGS_CHECKED} s (containerLogMonitorInterval), so at {fast} a second each file may "
        f"hold {more} more"
    )
