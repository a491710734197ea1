"""Says of an incident what held further evictions back: `evictionLimit`, or a disruption budget."""

from evictd.core.model.finding import NoActionReason
from evictd.core.model.signal import WITH_REQUEST
from evictd.render.history.all_refused import guarded_remedy
from evictd.render.history.history import EventKind, HistoryEvent
from evictd.render.incident.incident import Incident
from evictd.render.status.remedy_texts import limit_remedy
from evictd.render.text import amount_text, first_of

_SEVERAL = 2
_NAMED = 3
"""How many pods that a budget guards are named."""


def held_back_text(found: Incident) -> str:
    """Write what held further evictions back, as a clause; empty where nothing is known to."""
    if _reached_limit(found):
        return "evictionLimit held further evictions back"
    return f"a disruption budget refused {first_of(pods, _NAMED)}" if (pods := _guarded(found)) else ""


def held_back_remedy(found: Incident) -> str:
    """Return what to do about that, as a clause; empty where nothing is known to hold evictions back."""
    if _reached_limit(found):
        return limit_remedy(f"{requests}, move pods away") if (requests := _requests_text(found)) else limit_remedy()
    return guarded_remedy(pods) if (pods := _guarded(found)) else ""


def _requests_text(found: Incident) -> str:
    """Write to raise the requests of the pod's owner; empty unless several pods of it exceed theirs and none is within."""
    resource, rows = found.resource, [row for row in found.ranking if row.chosen or row.pod in found.siblings]
    if resource not in WITH_REQUEST or not found.event.owner or len(rows) < _SEVERAL:
        return ""
    used, requested = max(row.usage or 0 for row in rows), max(row.request for row in rows)
    if any((row.usage or 0) <= row.request for row in rows):
        return ""
    most = "" if all(row.usage == used for row in rows) else "up to "
    request = f"request {amount_text(requested, resource)}" if requested else "request none"
    return f"raise the requests of {found.event.owner} (its pods use {most}{amount_text(used, resource)} and {request})"


def _reached_limit(found: Incident) -> bool:
    """Whether `evictionLimit` was reached after the eviction."""
    reached = NoActionReason.EVICTION_LIMIT_REACHED.value
    known = (each for each in found.after if each.kind is EventKind.NO_ACTION and _concerns(each, found))
    return any(each.evidence.get("reason") == reached for each in known)


def _concerns(event: HistoryEvent, found: Incident) -> bool:
    """Whether the event is of the signal of the incident, or of one that is not known."""
    return not event.signal or found.signal is None or event.signal == found.signal.value


def _guarded(found: Incident) -> tuple[str, ...]:
    """Return the other pods whose eviction a disruption budget refused afterwards, and that were not evicted since.

    Where some of them exceed their request, only these: the budgets of the others are right to keep them.
    """
    went = {each.uid for each in found.after if each.kind is EventKind.EVICTED} | {found.event.uid}
    refused = (each for each in found.after if each.kind is EventKind.REFUSED and each.uid not in went)
    pods = tuple(dict.fromkeys(each.pod for each in refused))
    beyond = {row.pod for row in found.ranking if (row.usage or 0) > row.request}
    return tuple(each for each in pods if each in beyond) or pods
