"""Decisions, findings and places in a ranking as sentences, for the log, the status page and every command.

Decisions and findings carry their reasons as data. The words are the kubelet's: threshold met, grace period, minimum reclaim,
rank, node-level reclaim. A finding about a signal names the signal, since thresholds of several signals stand side by side.
"""

from collections.abc import Sequence
from typing import assert_never

from evictd.core.model.attribution import Attribution, growth_text, holders_text
from evictd.core.model.config import EvictionConfig
from evictd.core.model.decision import (
    Decision,
    EvictionCause,
    EvictionReason,
    EvictPod,
    ReclaimNode,
    RecordEvent,
    ReportConditions,
    Wait,
    WithdrawEviction,
)
from evictd.core.model.finding import (
    ContainerFsIgnored,
    Finding,
    KeptAway,
    NoAction,
    NodeFinding,
    PodSkipped,
    PreferenceApplied,
    ProtectedPodSkipped,
    RankedPod,
    Ranking,
    ReclaimWouldHelp,
    SignalUnobserved,
    StatsMissing,
    ThresholdFinding,
    WaitingForMeasurement,
)
from evictd.core.model.signal import RESOURCES, SIGNALS, NodeCondition, Resource, Signal
from evictd.core.model.threshold import Threshold
from evictd.core.units.approximate import bytes_text, share_text, size_text
from evictd.core.units.quantity import NANO, Quantity
from evictd.render.contender import contender, deciding_key
from evictd.render.deciding import passed_over_because
from evictd.render.stop_reason import no_action_text
from evictd.render.text import (
    COUNTED,
    DELETES,
    amount_text,
    clean,
    conditions_text,
    duration_text,
    left_text,
    less_unusable,
    limit_text,
    names,
    pod_name,
    protection,
    quantity_text,
    standing,
    threshold_text,
)

# --- ranking ----------------------------------------------------------------------------------------------------------


def excess(row: RankedPod) -> int | None:
    """Return usage minus request in the signal's own unit; `None` without stats."""
    return None if row.usage is None else -row.deficit // NANO


def place_text(row: RankedPod, resource: Resource) -> str:
    """Describe what a pod's place in the ranking is made of."""
    if row.usage is None:
        return "no stats"
    used = amount_text(row.usage, resource)
    if resource is Resource.IO:
        return f"stalls {used} of the time"
    if resource in COUNTED:
        return f"uses {used}{COUNTED[resource]}"
    if row.stall is not None:
        return f"{_over_text(row, used, resource)}, stalls {share_text(row.stall)} of the time"
    return _over_text(row, used, resource)


def _over_text(row: RankedPod, used: str, resource: Resource) -> str:
    over = amount_text(abs(excess(row) or 0), resource)
    pages = f" ({pages} of it clean file pages)" if (pages := file_pages_text(row.file_pages, row.usage)) else ""
    if not row.request:
        return f"uses {used}{pages}, requests none"
    if not row.deficit:
        return f"uses what it requests{pages}"
    return (f"exceeds its request by {over}" if row.deficit < 0 else f"{over} within its request") + (
        f"; uses {used}{pages}" if pages else ""
    )


def file_pages_text(pages: int | None, usage: int | None) -> str:
    """Write how much of a usage of memory is clean file pages; empty for less than a tenth of it, or where it is not known."""
    return bytes_text(pages) if pages is not None and usage and pages * 10 >= usage else ""


def goes_before(row: RankedPod, following: RankedPod, resource: Resource) -> str:
    """Return the ranking key that puts a pod before the next one, with the numbers of both."""
    return deciding_key(contender(row), contender(following), resource).removeprefix("it ").removeprefix("its ")


def goes_last(row: RankedPod, before: RankedPod | None, resource: Resource) -> str:
    """Return why a pod ranks last: its priority where that decides against the pod before it, else its usage and request."""
    alike = before is not None and (row.standing, row.preference) == (before.standing, before.preference)
    if before is None or not alike or row.priority == before.priority:
        return place_text(row, resource)
    return f"its priority {row.priority} is above {before.priority} of {pod_name(before.pod)}"


def rivals(rows: Sequence[RankedPod], protections: Sequence[str]) -> list[RankedPod | None]:
    """Return for each row the nearest one after it that may be evicted; `None` where there is none."""
    found: list[RankedPod | None] = []
    rival: RankedPod | None = None
    for row, protected in zip(reversed(rows), reversed(protections), strict=True):
        found.append(rival)
        rival = rival if protected else row
    return found[::-1]


# --- decisions --------------------------------------------------------------------------------------------------------


def kind_of(decision: Decision) -> str:
    """Return the kind of a decision as the journal names it."""
    return type(decision).__name__


def decision_text(decision: Decision, before: Sequence[NodeCondition] = ()) -> str:
    """Write a decision on one line, without a full stop; `before` are the conditions that were reported until now."""
    match decision:
        case ReportConditions():
            ended = ", ".join(each.value for each in before if each not in decision.conditions)
            now = [conditions_text(decision.conditions)] if decision.conditions or not ended else []
            return f"report node conditions: {'; '.join([*now, f'{ended} ended'] if ended else now)}"
        case RecordEvent():
            return f"{decision.type} event {decision.reason}: {clean(decision.message)}"
        case ReclaimNode():
            what = " and ".join(action.value for action in decision.actions)
            wanted = "" if decision.wanted_bytes is None else f", {size_text(decision.wanted_bytes)} wanted"
            return f"{DELETES}unused {what} for {decision.threshold.signal.value}{wanted}"
        case EvictPod():
            return _eviction_text(decision)
        case WithdrawEviction():
            return f"withdraw the eviction of {pod_name(decision.pod)}: {clean(decision.reason)}"
        case Wait():
            return f"look again within {duration_text(decision.nanoseconds)}"
        case _:
            assert_never(decision)


def brief_text(decision: EvictPod | ReclaimNode, *, grace: bool) -> str:
    """Write a decision for a column of a comparison: of an eviction the pod, the signal and what was left.

    With `grace` also its grace period.
    """
    if not isinstance(decision, EvictPod) or decision.shortens or decision.because.threshold is None:
        return decision_text(decision)
    because = decision.because
    left = left_text(because.available, decision.because.threshold.signal, because.limit)
    period = f" (grace period {max(decision.grace_period_seconds, 0)}s)" if grace else ""
    return f"evict {pod_name(decision.pod)}{period} for {because.signal_label}: {left}"


def changes_nothing(decision: Decision, before: Sequence[NodeCondition]) -> bool:
    """Whether this only repeats the conditions, as the first report of a calm node does."""
    return isinstance(decision, ReportConditions) and set(decision.conditions) == set(before)


def _eviction_text(decision: EvictPod) -> str:
    because, pod = decision.because, pod_name(decision.pod)
    seconds = max(decision.grace_period_seconds, 0)  # the kubelet stops a pod at once for a negative one
    if decision.shortens:
        short = (
            ""
            if because.threshold is None
            else f" for {because.signal_label}: {_left_text(because, because.threshold)}"
        )
        return f"shorten the grace period of {pod} to {seconds}s{short}{_fill_text(decision)}"
    if because.reason is not EvictionReason.PRESSURE or because.threshold is None:
        return f"evict {pod} (grace period {seconds}s): {clean(decision.message.strip())}"
    resource = SIGNALS[because.threshold.signal].resource
    request = (
        "none" if because.request is None or not because.request.nano else quantity_text(because.request, resource)
    )
    used = ("its usage is unknown" if because.usage is None else _used_text(because, resource)) + _pages_text(because)
    return (
        f"evict {pod} (grace period {seconds}s) for {because.signal_label}: "
        f"{_left_text(because, because.threshold)}; "
        + used
        + ("" if resource in COUNTED else f", requests {request}")
        + _fill_text(decision)
    )


def _used_text(because: EvictionCause, resource: Resource) -> str:
    amount = quantity_text(because.usage, resource)
    if resource is Resource.IO:
        return f"it stalls {amount} of the time"
    used = f"{amount}{COUNTED.get(resource, '')}"
    return (
        f"it uses {used}" if because.usage_age is None else f"it used {used} {duration_text(because.usage_age)} before"
    )


def _left_text(because: EvictionCause, threshold: Threshold) -> str:
    """Write what is left beside the threshold."""
    return f"{left_text(because.available, threshold.signal, because.limit)}, threshold {_limit_of(because, threshold)}"


def _limit_of(because: EvictionCause, threshold: Threshold) -> str:
    """Write the threshold, with its configured amount where that is higher."""
    limit, text = because.limit, limit_text(because.limit, threshold)
    if limit is not None and because.available is not None and because.available >= limit and threshold.min_reclaim:
        more = threshold.min_reclaim.quantity
        if more is not None and because.available >= limit + more:
            return text  # it is not met, and was acted on before it was
        return f"{text} and its minimum reclaim {threshold.min_reclaim}"
    configured = None if limit is None else threshold.configured_above(limit)
    amount = text if configured is None else quantity_text(configured, Resource.MEMORY)
    return text if amount == text else f"{text} ({less_unusable(amount)})"


def _pages_text(because: EvictionCause) -> str:
    """Return which part of the memory of pod and node the kernel can give back by itself."""
    if because.usage is None or not (pages := file_pages_text(because.file_pages, because.usage.value())):
        return ""
    of_node = "" if because.node_file_pages is None else f"; {bytes_text(because.node_file_pages)} of the node's"
    return f" ({pages} of it clean file pages{of_node})"


def _fill_text(decision: EvictPod) -> str:
    """Return how long the available amount lasts at the measured rate, if the pod is frozen or killed at once for that."""
    because = decision.because
    if not (because.fitted or decision.freeze) or because.time_left is None or because.threshold is None:
        return ""
    resource = SIGNALS[because.threshold.signal].resource
    rate = quantity_text(Quantity((because.fill_rate or 0) * NANO, RESOURCES[resource].format), resource)
    early = because.available is not None and because.limit is not None and because.available >= because.limit
    what = "acts before the threshold is crossed" if early else "killed without grace"
    what = "frozen first" if decision.freeze else what
    return f"; {what}: what is left fell by {rate}/s just before, and lasts {duration_text(because.time_left)}"


# --- findings ---------------------------------------------------------------------------------------------------------


def finding_text(finding: Finding, config: EvictionConfig) -> str:
    """Return one line for a finding, with its signal."""
    match finding:
        case ThresholdFinding():
            left = left_text(finding.available, finding.threshold.signal)
            return f"{threshold_text(finding.threshold)}: {left}, {standing(finding)}"
        case SignalUnobserved():
            why = "this node has none" if finding.absent else "no observation"
            return f"{finding.signal.value}: {why}, so its thresholds are not tested"
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
            return f"{_for(finding.signal)}{pod} is skipped: it is protected ({reason})"
        case PodSkipped():
            return f"{_for(finding.signal)}{pod_name(finding.pod)} is skipped: {passed_over_text(finding)}"
        case PreferenceApplied():
            return f"{pod_name(finding.pod)} goes before {pod_name(finding.instead_of)}, because of ranking in the configuration"
        case WaitingForMeasurement():
            what = " and ".join(finding.what)
            return (
                f"{finding.threshold.signal.value}: waiting until the {what} of {names(finding.pods)} are measured, "
                f"for {duration_text(finding.until - finding.since)} in all at most"
            )
        case ReclaimWouldHelp() | ContainerFsIgnored():
            return _of_configuration(finding)
        case KeptAway() | Attribution():
            return _of_node(finding)
        case _:
            assert_never(finding)


def passed_over_text(finding: PodSkipped) -> str:
    """Return why a pod is passed over, and which one goes instead of it."""
    instead = "" if finding.instead is None else f" ({pod_name(finding.instead)} goes instead)"
    resource = None if finding.signal is None else SIGNALS[finding.signal].resource
    return f"{passed_over_because(finding.reason, resource)}{instead}"


def _of_node(finding: NodeFinding) -> str:
    if isinstance(finding, KeptAway):
        return kept_away_text(finding)
    return f"{finding.signal.value}: {clean(growth_text(finding)) or holders_text(finding)}"


def kept_away_text(finding: KeptAway) -> str:
    """Return the sentence about why a condition stays longer than configured."""
    return (
        f"{finding.condition.value} and its taint stay {duration_text(finding.period)} after the shortage, because pods of "
        f"{clean(finding.owner)} come back when they end: {finding.evictions} were evicted"
    )


def _of_configuration(finding: ReclaimWouldHelp | ContainerFsIgnored) -> str:
    if isinstance(finding, ContainerFsIgnored):
        return f"{threshold_text(finding.threshold)} is ignored: containerfs follows nodefs or imagefs"
    size, missing = bytes_text(finding.size), bytes_text(finding.missing)
    return (
        f"{finding.threshold.signal.value}: reclaim.{finding.action.value} is off and would have freed {size} of the "
        f"{missing} missing before a pod had to go"
    )


def _for(*signals: Signal | None) -> str:
    found = ", ".join(signal.value for signal in signals if signal is not None)
    return f"{found}: " if found else ""
