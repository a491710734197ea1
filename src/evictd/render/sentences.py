"""Decisions, findings and places in a ranking as sentences, for the log, the status page and every command.

Decisions and findings carry their reasons as data. The words are the kubelet's: threshold met, grace period, minimum reclaim,
rank, node-level reclaim. A finding about a signal names the signal, since thresholds of several signals stand side by side.
"""

from typing import assert_never

from evictd.core.model.config import EvictionConfig
from evictd.core.model.decision import (
    ContainerFsIgnored,
    Decision,
    EvictionReason,
    EvictPod,
    Finding,
    NoAction,
    NoActionReason,
    PodSkipped,
    PreferenceApplied,
    ProtectedPodSkipped,
    RankedPod,
    Ranking,
    ReclaimNode,
    RecordEvent,
    ReportConditions,
    SignalUnobserved,
    SkipReason,
    StatsMissing,
    ThresholdFinding,
    Wait,
    WaitingForMeasurement,
)
from evictd.core.model.signal import RESOURCE_TO_FORMAT, SIGNAL_TO_RESOURCE, Resource, Signal
from evictd.core.units.approximate import bytes_text
from evictd.core.units.duration import MILLISECOND
from evictd.core.units.quantity import NANO, Quantity
from evictd.render.text import (
    amount_text,
    clean,
    conditions_text,
    duration_text,
    left_text,
    limit_text,
    names,
    pod_name,
    protection,
    quantity_text,
    share_text,
    standing,
    threshold_text,
)

# --- ranking ----------------------------------------------------------------------------------------------------------


def excess(row: RankedPod) -> int | None:
    """Give usage minus request in the signal's own unit; `None` without stats."""
    return None if row.usage is None else -row.deficit // NANO


def place_text(row: RankedPod, resource: Resource) -> str:
    """Describe what a pod's place in the ranking is made of."""
    if row.usage is None:
        return "no stats"
    used = amount_text(row.usage, resource)
    if resource is Resource.PIDS:
        return f"{used} processes"
    if resource is Resource.SWAP:
        return f"{used} in swap"
    if resource is Resource.IO:
        return f"stalls {used} of the time"
    if row.stall is not None:
        return f"{_over_text(row, used, resource)}, stalls {share_text(row.stall)} of the time"
    return _over_text(row, used, resource)


def _over_text(row: RankedPod, used: str, resource: Resource) -> str:
    over = amount_text(abs(excess(row) or 0), resource)
    if not row.request:
        return f"uses {used}, requests none"
    return f"exceeds its request by {over}" if row.deficit < 0 else f"{over} within its request"


def goes_before(row: RankedPod, following: RankedPod, resource: Resource) -> str:
    """Name the key of the ranking that puts a pod before the next one."""
    if row.first != following.first:
        return "no stats, the next has" if row.usage is None else "exceeds its request, the next does not"
    if row.preference != following.preference:
        return "the configuration avoids the next" if following.preference > 0 else "preferred by the configuration"
    if row.priority != following.priority:
        return f"priority below the next ({following.priority})"
    if row.second != following.second:
        if row.usage is not None and following.usage is not None:
            return f"stalls {share_text(row.stall or 0)} of the time, the next {share_text(following.stall or 0)}"
        return "the next has no stats" if following.usage is None else "no stats, the next has"
    if row.deficit == following.deficit:
        return "equal to the next, by name"
    mine, theirs = amount_text(excess(row), resource), amount_text(excess(following), resource)
    what = _COUNTED.get(resource, "usage - request")
    return f"{what} {mine}, the next {theirs}"


_COUNTED = {Resource.PIDS: "processes", Resource.IO: "stalls", Resource.SWAP: "swap"}
"""What pods are ranked by where they have no request."""


# --- decisions --------------------------------------------------------------------------------------------------------


def kind_of(decision: Decision) -> str:
    """Name the kind of a decision, as the journal does."""
    return type(decision).__name__


def decision_text(decision: Decision) -> str:
    """Write a decision on one line, without a full stop."""
    match decision:
        case ReportConditions():
            return f"report node conditions: {conditions_text(decision.conditions)}"
        case RecordEvent():
            return f"{decision.type} event {decision.reason}: {clean(decision.message)}"
        case ReclaimNode():
            what = " and ".join(action.value for action in decision.actions)
            wanted = "" if decision.wanted_bytes is None else f", {bytes_text(decision.wanted_bytes)} wanted"
            return f"delete unused {what} for {decision.threshold.signal.value}{wanted}"
        case EvictPod():
            return _eviction_text(decision)
        case Wait():
            return f"look again within {duration_text(decision.nanoseconds)}"
        case _:
            assert_never(decision)


def _eviction_text(decision: EvictPod) -> str:
    because, pod = decision.because, pod_name(decision.pod)
    seconds = max(decision.grace_period_seconds, 0)  # the kubelet stops a pod at once for a negative one
    if decision.shortens:
        return f"shorten the grace period of {pod} to {seconds}s" + _fill_text(decision)
    if because.reason is not EvictionReason.PRESSURE or because.threshold is None:
        return f"evict {pod} (grace period {seconds}s): {clean(decision.message.strip())}"
    resource = SIGNAL_TO_RESOURCE[because.threshold.signal]
    request = (
        "none" if because.request is None or not because.request.nano else quantity_text(because.request, resource)
    )
    used = "its usage is unknown" if because.usage is None else f"it uses {quantity_text(because.usage, resource)}"
    return (
        f"evict {pod} (grace period {seconds}s) for {because.signal_label}: "
        f"{left_text(because.available, because.threshold.signal)}, threshold {limit_text(because.limit, because.threshold)}; "
        + used
        + ("" if resource in _COUNTED else f", requests {request}")
        + _fill_text(decision)
    )


def _fill_text(decision: EvictPod) -> str:
    """Say how long what is left lasts at the measured rate, where that has shortened the grace period."""
    because = decision.because
    if not because.fitted or because.time_left is None or because.threshold is None:
        return ""
    resource = SIGNAL_TO_RESOURCE[because.threshold.signal]
    rate = quantity_text(Quantity((because.fill_rate or 0) * NANO, RESOURCE_TO_FORMAT[resource]), resource)
    early = because.available is not None and because.limit is not None and because.available >= because.limit
    what = "acts before the threshold is crossed" if early else "killed without grace"
    return f"; {what}: {rate}/s are taken, so what is left lasts {because.time_left // MILLISECOND}ms"


# --- findings ---------------------------------------------------------------------------------------------------------


def finding_text(finding: Finding, config: EvictionConfig) -> str:
    """Write a finding on one line, with the signal that it is about."""
    match finding:
        case ThresholdFinding():
            left = left_text(finding.available, finding.threshold.signal)
            return f"{threshold_text(finding.threshold)}: {left}, {standing(finding)}"
        case SignalUnobserved():
            return f"{finding.signal.value}: no observation, so its thresholds are not tested"
        case Ranking():
            return (
                f"{finding.signal.value}: rank for {finding.resource.value}: {names(row.pod for row in finding.rows)}"
            )
        case NoAction():
            return _for(None if finding.threshold is None else finding.threshold.signal) + no_action_text(finding)
        case StatsMissing():
            return f"{_for(*finding.signals)}no stats for {names(finding.pods)}"
        case ProtectedPodSkipped():
            pod, reason = pod_name(finding.pod), protection(finding.pod, config)
            return f"{_for(finding.signal)}{pod} ranks before the victim but is protected: {reason}"
        case PodSkipped():
            return f"{_for(finding.signal)}{pod_name(finding.pod)} is skipped: {_SKIPPED[finding.reason]}"
        case PreferenceApplied():
            return f"{pod_name(finding.pod)} goes before {pod_name(finding.instead_of)}, because of ranking in the configuration"
        case WaitingForMeasurement():
            what = " and ".join(finding.what)
            return (
                f"{finding.threshold.signal.value}: waiting until the {what} of {names(finding.pods)} are measured, "
                f"for {duration_text(finding.until - finding.since)} at most"
            )
        case ContainerFsIgnored():
            return f"{threshold_text(finding.threshold)} is ignored: containerfs follows nodefs or imagefs"
        case _:
            assert_never(finding)


def _for(*signals: Signal | None) -> str:
    found = ", ".join(signal.value for signal in signals if signal is not None)
    return f"{found}: " if found else ""


_SKIPPED = {
    SkipReason.IN_FLIGHT: "it is being evicted already",
    SkipReason.NOT_MEASURED: "its usage of what is short is not known",
    SkipReason.USES_NOTHING: "it uses nothing of what is short",
    SkipReason.BUDGET: "a disruption budget refused its eviction",
    SkipReason.OWNER: "its owner recreates it here after each eviction",
}

_NO_ACTION = {
    NoActionReason.NO_STATS: "the stats could not be read, so nothing is decided",
    NoActionReason.RECLAIM_SUFFICED: "node-level reclaim was enough; no pod is evicted",
    NoActionReason.NO_RANK_FUNCTION: "pods cannot be ranked for this signal",
    NoActionReason.NO_ACTIVE_PODS: "there are no active pods to evict",
    NoActionReason.NOTHING_EVICTABLE: "every active pod is protected or being evicted; unable to evict any",
    NoActionReason.NO_POD_MEASURED: "no evictable pod is measured for this signal, so none is chosen",
    NoActionReason.API_PODS_STANDALONE: "the pods are an API server's and evictd runs standalone; it only reports",
    NoActionReason.FILESYSTEM_READ_ONLY: "the filesystem is read-only; an eviction would free nothing of it",
    NoActionReason.NOTHING_HELPS: "no evictable pod uses what is short, so no eviction would free any of it",
    NoActionReason.HELD_BACK: "each pod whose eviction would help is skipped for now",
    NoActionReason.LAYOUT_UNKNOWN: "the filesystem layout is unknown; the cycle waits for it",
}


def no_action_text(finding: NoAction) -> str:
    """Write why nothing (more) was decided, without the signal."""
    detail = clean(finding.detail) or (pod_name(finding.pod) if finding.pod is not None else "the last victims")
    if finding.why is NoActionReason.WAITING_FOR_VICTIM:
        return f"waiting for {detail} to be gone before another pod is chosen"
    if finding.why is NoActionReason.WAITING_FOR_RELEASE:
        return f"waiting for what {detail} should free"
    if finding.why is NoActionReason.PROTECTED_CULPRIT and finding.pod is not None and finding.threshold is not None:
        resource = SIGNAL_TO_RESOURCE[finding.threshold.signal]
        needed, reachable = quantity_text(finding.needed, resource), quantity_text(finding.reachable, resource)
        return (
            f"ProtectedCulprit: {pod_name(finding.pod)} is the largest user and protected; all others together use "
            f"{reachable}, but {needed} is needed, so evicting them would not help"
        )
    return _NO_ACTION[finding.why]
