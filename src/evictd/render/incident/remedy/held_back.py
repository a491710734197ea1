"""Says of an incident what held further evictions back: `evictionLimit`, or a disruption budget."""

from evictd.core.model.finding import NoActionReason
from evictd.render.history.history import EventKind, HistoryEvent
from evictd.render.history.pod.all_refused import budgets_of, guarded_remedy
from evictd.render.incident.record.incident import Incident
from evictd.render.status.remedy_texts import limit_remedy, raise_requests
from evictd.render.text import first_of

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
        return limit_remedy(_requests_text(found))
    pods = _guarded(found)
    refused = (each for each in found.after if each.kind is EventKind.REFUSED and each.pod in pods)
    return guarded_remedy(pods, budgets_of(refused)) if pods else ""


def passed_budget_text(found: Incident) -> str:
    """Return what to do after the eviction of a pod that a disruption budget guarded, as a clause."""
    refused = (each for each in found.before if each.kind is EventKind.REFUSED and each.uid == found.event.uid)
    named = " ".join(("disruption budget", first_of(budgets_of(refused), _NAMED))).rstrip()
    return f"tell whose {named} guarded {found.event.pod} that evictd waits no longer than evictionTimeout"


def _requests_text(found: Incident) -> str:
    """Write to raise the requests of the pod's owner; empty where its pods do not all exceed theirs."""
    rows = [row for row in found.ranking if row.chosen or row.pod in found.siblings]
    if found.resource is None or not found.event.owner:
        return ""
    return raise_requests(found.event.owner, [(row.usage or 0, row.request) for row in rows], found.resource)


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
