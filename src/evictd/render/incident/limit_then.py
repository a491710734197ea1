"""Finds the limit that also spares the pods that growth of the same pod had evicted before, and says how it comes about."""

from collections.abc import Collection
from typing import NamedTuple

from evictd.core.model.signal import WITH_REQUEST, Resource
from evictd.render.attribution import clock_text
from evictd.render.incident.earlier import Earlier
from evictd.render.incident.growers import grower_rate, other_growers
from evictd.render.incident.incident import Incident
from evictd.render.incident.limit_sum import LIMITS_CHECKED, sum_text
from evictd.render.incident.verdict import Grower
from evictd.render.text import amount_text, rounded_below

_LOWER = 100
"""A limit is lower than another one by this part of it at least."""
_DAY = 10
"""Characters of a date."""


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


def grower_limit(found: Incident, grower: Grower) -> str:
    """Return the limit of another pod, whose growth alone evicted this one, that would have spared it; empty for none."""
    row = next((each for each in found.ranking if each.pod == grower.pod), None)
    resource, verdict = found.resource, found.verdict
    if resource is None or resource not in WITH_REQUEST or row is None or row.usage is None or not found.missing:
        return ""
    if verdict is None or other_growers(found) != (grower,) or found.host_filled:
        return ""
    if grower.rate * 2 < (found.rate or 0):
        return ""  # something else made the signal fall as well
    growth = grower_rate(found, grower) * LIMITS_CHECKED if resource is Resource.EPHEMERAL_STORAGE else 0
    enough = row.usage - found.missing - growth
    lower = limit_then(found, (grower.pod,), enough, growth)
    enough = enough if lower is None else lower.enough
    if enough < max(row.request, 1):
        return ""
    most = amount_text(rounded_below(enough), resource)
    return f"; a limit of at most {most} of {resource.value} for it would have been enough"
