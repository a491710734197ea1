"""Makes the event for a reason not to evict although the node is short, once for each time that it is short (policy Standard).

A user who sees the pressure condition and no eviction asks why. The event answers with the numbers, on the node.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace

from evictd.core.eviction.draft import WARNING, Draft
from evictd.core.model.attribution import Attribution, growth_text
from evictd.core.model.decision import RecordEvent
from evictd.core.model.finding import Finding, NoAction, NoActionReason
from evictd.core.model.signal import RESOURCES, SIGNALS, STALLS, Signal
from evictd.core.model.state import State
from evictd.core.units.approximate import bytes_text, count_text
from evictd.core.units.quantity import Format, Quantity

_TEXTS: Mapping[NoActionReason, str] = {
    NoActionReason.PROTECTED_CULPRIT: (
        "{needed} is needed and the pods that may be evicted hold {reachable}; {pod} holds or grows most and may not go now"
    ),
    NoActionReason.UNMEASURED_CULPRIT: (
        "{needed} is needed and the pods that may be evicted hold {reachable}; pods that were not measured hold or grow more"
    ),
    NoActionReason.EVICTIONS_DO_NOT_HELP: (
        "{needed} is missing and the last two evictions gave back {reachable}, or what grows is no pod; evictions pause"
    ),
    NoActionReason.EVICTION_LIMIT_REACHED: "{needed} is missing and evictionLimit allows no more than {detail}",
    NoActionReason.THRESHOLD_NEVER_CLEAR: (
        "the threshold {threshold} was met ever since it was configured, and three pods were evicted for it within ten minutes"
    ),
}
"""The reasons that mean that something else than an eviction has to be done, with their sentences."""
_STALLS = "{pod} stalls and may not go now; no pod that keeps to its request is evicted in its place"
"""The text about a protected culprit of a stall, for which no amount is needed."""


def with_notices(draft: Draft, state: State, findings: Iterable[Finding], supply: Signal) -> State:
    """Record an event for each reason not to evict that has had none since the supply became short; return the new state."""
    found = tuple(findings)
    held = next((each for each in found if isinstance(each, Attribution)), None)
    known = state.noticed.get(supply, ())
    for finding in found:
        if not isinstance(finding, NoAction) or finding.why in known:
            continue
        if (event := notice_of(finding, held)) is not None:
            draft.decisions.append(event)
            known = (*known, finding.why)
    return state if known == state.noticed.get(supply, ()) else replace(state, noticed={**state.noticed, supply: known})


def notice_of(finding: NoAction, attribution: Attribution | None) -> RecordEvent | None:
    """Return the event for a reason not to evict; `None` for a reason that is the normal course of an eviction."""
    if finding.why not in _TEXTS or finding.threshold is None:
        return None
    threshold = finding.threshold
    culprit_of_stall = finding.why is NoActionReason.PROTECTED_CULPRIT and threshold.signal in STALLS
    text = (_STALLS if culprit_of_stall else _TEXTS[finding.why]).format(
        needed=_amount(finding.needed, finding),
        reachable=_amount(finding.reachable, finding),
        pod="a pod" if finding.pod is None else finding.pod.full_name,
        threshold=threshold.value,
        detail=finding.detail,
    )
    grown = "" if attribution is None else growth_text(attribution)
    message = f"No pod is evicted for {threshold.signal.value}: {text}" + (f"; {grown}" if grown else "")
    return RecordEvent(type=WARNING, reason=finding.why.value, message=message)


def _amount(quantity: Quantity | None, finding: NoAction) -> str:
    if quantity is None or finding.threshold is None:
        return "an unknown amount"
    in_bytes = RESOURCES[SIGNALS[finding.threshold.signal].resource].format is Format.BINARY_SI
    return bytes_text(quantity.value()) if in_bytes else count_text(quantity.value())
