"""Says what to do where the journal has a reason for which no pod was evicted."""

from evictd.core.eviction.laws.blame import GUARDED_BY_BUDGET, IS_STATIC
from evictd.core.model.finding import NoActionReason
from evictd.core.model.signal import SIGNALS, signal_named
from evictd.render.history.history import HistoryEvent
from evictd.render.status.proposed import budget_remedy
from evictd.render.status.remedy_texts import host_path_remedy, of_culprit, remedy_of


def no_action_remedy(event: HistoryEvent) -> str:
    """Return the remedy for the reason of an event of the kind `NoAction`; empty where the reason has none."""
    signal = signal_named(event.signal)
    resource = None if signal is None else SIGNALS[signal].resource
    if suspects := event.evidence.get("suspects"):
        return host_path_remedy([*suspects], resource, [*dict.fromkeys(filter(None, suspects.values()))])
    reason, message = str(event.evidence.get("reason")), str(event.evidence.get("message", ""))
    if reason != NoActionReason.PROTECTED_CULPRIT.value or not event.pod or not message:
        return remedy_of(reason, resource, event.pod)
    if f" {GUARDED_BY_BUDGET}" in message:
        return budget_remedy(event.pod)
    return of_culprit(remedy_of(reason, resource), event.pod, "static pod" if f" {IS_STATIC}" in message else "another")
