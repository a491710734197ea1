"""Says which setting would have avoided an eviction: a limit, a request, a priority; and which would not have."""

from collections.abc import Sequence

from evictd.core.frozen import frozen
from evictd.core.model.signal import SIGNALS, Resource
from evictd.render.incident import Incident, IncidentRow
from evictd.render.text import amount_text, signal_amount

_LEAD_SECONDS = 60
"""How much earlier a proposed threshold is met."""
_ROUNDING = 200
"""A limit is proposed by this part lower, so that its rounded amount is not above what would have been enough."""
_REQUESTED = {Resource.MEMORY, Resource.EPHEMERAL_STORAGE}
_LEADS = {Resource.MEMORY: "memory.lead", Resource.EPHEMERAL_STORAGE: "disk.lead"}


@frozen
class Avoidance:
    """What would have avoided an eviction, and what would not have, although it is the first that one thinks of."""

    by: tuple[str, ...] = ()
    not_by: tuple[str, ...] = ()

    def __add__(self, other: "Avoidance") -> "Avoidance":
        return Avoidance(by=self.by + other.by, not_by=self.not_by + other.not_by)


def avoidance(found: Incident) -> Avoidance:
    """Return what would have avoided this eviction."""
    if found.signal is None:
        return Avoidance(by=("a higher limit of its own, or less usage: no other pod had a part in it",))
    resource = SIGNALS[found.signal].resource
    of_pod = Avoidance() if found.victim is None else _of_pod(found, found.victim, resource)
    return of_pod + _of_threshold(found, resource)


def _of_pod(found: Incident, victim: IncidentRow, resource: Resource) -> Avoidance:
    if any(row.skipped and row.number < victim.number for row in found.ranking):
        return Avoidance(
            by=("a limit of its own",), not_by=("a higher request: the pods that rank before it were passed over",)
        )
    if victim.usage is None or resource not in _REQUESTED or victim.usage <= victim.request:
        return Avoidance(by=(f"a priority above {victim.priority}",) if len(found.ranking) > 1 else ())
    used = amount_text(victim.usage, resource)
    others = [row for row in found.ranking if not row.protected and not row.chosen and (row.usage or 0) > row.request]
    if not others:
        return Avoidance(by=(f"a limit of {resource.value}: no other pod exceeded its request, and it held {used}",))
    by: tuple[str, ...] = ()
    if found.missing is not None and 0 < found.missing < victim.usage:
        enough = victim.usage - found.missing
        most = amount_text(enough - enough // _ROUNDING, resource)
        by = (
            f"a limit of at most {most} of {resource.value}: it would have ended at its limit, before the node was short",
        )
    return Avoidance(by=by) + _of_request(found, victim, others, resource)


def _of_request(found: Incident, victim: IncidentRow, others: Sequence[IncidentRow], resource: Resource) -> Avoidance:
    """Say what a request of its usage would have done, where the decision was made again with it."""
    if found.with_request is None:
        return Avoidance()
    had = amount_text(victim.request, resource) if victim.request else "none"
    request = f"a request of {amount_text(victim.usage, resource)} of {resource.value} (it had {had})"
    if found.with_request == victim.pod:
        return Avoidance(not_by=(f"{request}: it would have gone all the same, because of what it holds",))
    if not found.with_request:
        return Avoidance(by=(f"{request}: no pod would have gone at that moment",))
    used = next((row.usage for row in others if row.pod == found.with_request), None)
    other = found.with_request + ("" if used is None else f" ({amount_text(used, resource)})")
    if found.missing is not None and sum(row.usage or 0 for row in others) < found.missing:
        return Avoidance(not_by=(f"{request}: {other} would have gone first, and that is too little",))
    return Avoidance(by=(f"{request}: {other} would have gone in its place",))


def _of_threshold(found: Incident, resource: Resource) -> Avoidance:
    """Say whether a soft threshold or a lead would have been of use at the rate at which the signal fell."""
    rate, signal = found.rate, found.signal
    if rate is None or rate <= 0 or signal is None:
        return Avoidance(not_by=("a soft threshold: the readings before it show no steady fall to propose one from",))
    option = _LEADS.get(resource)
    lead = () if option is None else (f"{option}: Auto, which begins an eviction earlier and avoids none",)
    limit = max((each for _, each in found.levels), default=0) + rate * _LEAD_SECONDS
    fell, amount = f"at {signal_amount(rate, signal)} a second", signal_amount(limit, signal)
    early = f"{_LEAD_SECONDS} s earlier"
    went = "and the pod would have gone then, with a grace period"
    soft = f"a soft threshold of {amount}: {fell} it would have been met {early}, {went}"
    if found.capacity is not None and limit * 2 > found.capacity:
        soft = f"a soft threshold: to be met {early} {fell} it would have to be {amount}, more than half of the node"
    return Avoidance(not_by=(soft, *lead))
