"""How is a number, a decision or a finding said to a person?

Decisions and findings carry their reasons as data; the sentences are made here, and only here, for `simulate`, `explain` and
`replay`. The words are the kubelet's: threshold met, grace period, minimum reclaim, rank, node-level reclaim.
"""

from collections.abc import Iterable, Sequence
from typing import assert_never

from evictd.core.config import EvictionConfig
from evictd.core.decision import (
    ContainerFsIgnored,
    Decision,
    EvictionReason,
    EvictPod,
    Finding,
    RankedPod,
    Ranking,
    ReclaimNode,
    RecordEvent,
    ReportConditions,
    SignalUnobserved,
    Silence,
    Silent,
    Spared,
    StatsMissing,
    ThresholdFinding,
    Wait,
)
from evictd.core.duration import MILLISECOND, SECOND, format_duration
from evictd.core.pod import Pod, PodSource
from evictd.core.quantity import NANO, Quantity
from evictd.core.signal import SIGNAL_TO_RESOURCE, NodeCondition, Resource
from evictd.core.threshold import Threshold, ThresholdValue

_BINARY_UNITS = ("Ki", "Mi", "Gi", "Ti", "Pi", "Ei")
_IN_BYTES = frozenset({Resource.MEMORY, Resource.EPHEMERAL_STORAGE})
_SHOWN_NAMES = 5


# --- numbers and names ------------------------------------------------------------------------------------------------


def clean(text: str) -> str:
    """Give a text on one line, with everything a terminal would act on written out: names come from files."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in text)


def bytes_words(count: int) -> str:
    """Write bytes with three significant digits and a binary suffix: `62Mi`, `1.46Gi`."""
    size, unit = float(abs(count)), ""
    for larger in _BINARY_UNITS:
        if size < 1023.5:
            break
        size, unit = size / 1024, larger
    digits = 0 if size >= 99.95 or not unit else 1 if size >= 9.995 else 2
    text = f"{size:.{digits}f}"
    return ("-" if count < 0 else "") + (text.rstrip("0").rstrip(".") if digits else text) + unit


def units_words(count: int | None, resource: Resource) -> str:
    """Write an amount of this resource: bytes with a suffix, inodes and PIDs as they are; `-` where it is unknown."""
    if count is None:
        return "-"
    return bytes_words(count) if resource in _IN_BYTES else str(count)


def amount(quantity: Quantity | None, resource: Resource) -> str:
    """Write a quantity of this resource for people; JSON output has the exact number."""
    return units_words(None if quantity is None else quantity.value(), resource)


def period(nanoseconds: int) -> str:
    """Write a duration as Go does, not finer than a millisecond, or a second once there are some."""
    unit = MILLISECOND if abs(nanoseconds) < 10 * SECOND else SECOND
    return format_duration(round(nanoseconds / unit) * unit)


def value_words(value: ThresholdValue) -> str:
    """Write a threshold's value as it would stand in the configuration."""
    return str(value.quantity) if value.quantity is not None else f"{value.fraction * 100:.6g}%"


def threshold_words(threshold: Threshold) -> str:
    """Write a threshold as the kubelet's flag does, and how soon it acts: `memory.available<1Gi (soft, 1m30s)`."""
    kind = "hard" if threshold.hard else f"soft, {period(threshold.grace_period)}"
    return f"{threshold.signal.value}<{value_words(threshold.value)} ({kind})"


def conditions_words(conditions: Iterable[NodeCondition]) -> str:
    """List node conditions; `none` if there are none."""
    return ", ".join(condition.value for condition in conditions) or "none"


def pod_name(pod: Pod) -> str:
    """Give `namespace/name`, or the name alone where there is no namespace."""
    return clean(pod.full_name if pod.namespace else pod.name)


def protection(pod: Pod, config: EvictionConfig) -> str:
    """Say why this pod is never evicted; empty where it may be."""
    if pod.source is not PodSource.API:
        return f"{pod.source.value} pod"
    if pod.critical:
        return "critical priority"
    return "evictd itself" if pod.uid in config.protected_pods else ""


def names(pods: Iterable[Pod]) -> str:
    """List pods; of many only the first few and how many more there are."""
    listed = [pod_name(pod) for pod in pods]
    more = f" and {len(listed) - _SHOWN_NAMES} more" if len(listed) > _SHOWN_NAMES else ""
    return ", ".join(listed[:_SHOWN_NAMES]) + more


# --- thresholds -------------------------------------------------------------------------------------------------------


def standing(finding: ThresholdFinding) -> str:
    """Say in a few words how a threshold stands."""
    if finding.stale:
        return "met, stats not updated"
    if finding.kept_by_min_reclaim:
        return "min-reclaim not reached"
    if not finding.met:
        return "ok"
    return f"met, {period(finding.grace_left)} left" if finding.grace_left else "met"


def distance(finding: ThresholdFinding) -> int:
    """Give how far the signal is above the limit, in its own unit; negative below it."""
    return (finding.available - finding.limit).value()


# --- ranking ----------------------------------------------------------------------------------------------------------


def excess(row: RankedPod) -> int | None:
    """Give usage minus request in the signal's own unit; `None` without stats."""
    return None if row.usage is None else -row.deficit // NANO


def place_words(row: RankedPod, resource: Resource) -> str:
    """Say what a pod's place in the ranking is made of."""
    if row.usage is None:
        return "no stats"
    used = units_words(row.usage, resource)
    if resource is Resource.PIDS:
        return f"{used} processes"
    over = units_words(abs(excess(row) or 0), resource)
    if not row.request:
        return f"uses {used}, requests none"
    return f"exceeds its request by {over}" if row.deficit < 0 else f"{over} within its request"


def goes_before(row: RankedPod, following: RankedPod, resource: Resource) -> str:
    """Say which key of the ranking puts a pod before the next one."""
    if row.first != following.first:
        return "no stats, the next has" if row.usage is None else "exceeds its request, the next does not"
    if row.priority != following.priority:
        return f"priority below the next ({following.priority})"
    if row.second != following.second:
        return "the next has no stats" if following.usage is None else "no stats, the next has"
    if row.deficit == following.deficit:
        return "equal to the next, by name"
    mine, theirs = units_words(excess(row), resource), units_words(excess(following), resource)
    what = "processes" if resource is Resource.PIDS else "usage - request"
    return f"{what} {mine}, the next {theirs}"


# --- decisions --------------------------------------------------------------------------------------------------------


def say_decision(decision: Decision) -> str:
    """Say what is decided, in one line."""
    match decision:
        case ReportConditions():
            return f"report node conditions: {conditions_words(decision.conditions)}"
        case RecordEvent():
            return f"{decision.type} event {decision.reason}: {decision.message}"
        case ReclaimNode():
            what = " and ".join(action.value for action in decision.actions)
            wanted = "" if decision.wanted_bytes is None else f", {bytes_words(decision.wanted_bytes)} wanted"
            return f"delete unused {what} for {decision.threshold.signal.value}{wanted}"
        case EvictPod():
            return _say_eviction(decision)
        case Wait():
            return f"look again within {period(decision.nanoseconds)}"
        case _:
            assert_never(decision)


def _say_eviction(decision: EvictPod) -> str:
    because, pod = decision.because, pod_name(decision.pod)
    grace = f"grace period {decision.grace_period_seconds}s"
    if decision.shortens:
        return f"shorten the grace period of {pod} to {decision.grace_period_seconds}s"
    if because.reason is not EvictionReason.PRESSURE or because.threshold is None:
        return f"evict {pod} ({grace}): {clean(decision.message.strip())}"
    resource = SIGNAL_TO_RESOURCE[because.threshold.signal]
    request = "requests none" if because.request is None or not because.request.nano else f"requests {because.request}"
    used = "its usage is unknown" if because.usage is None else f"uses {amount(because.usage, resource)}"
    return (
        f"evict {pod} ({grace}) for {because.signal_label}: {amount(because.available, resource)} available, "
        f"threshold {amount(because.limit, resource)}; {used}" + ("" if resource is Resource.PIDS else f", {request}")
    )


# --- findings ---------------------------------------------------------------------------------------------------------


def say_finding(finding: Finding, config: EvictionConfig) -> str:
    """Say what was found, in one line."""
    match finding:
        case ThresholdFinding():
            resource = SIGNAL_TO_RESOURCE[finding.threshold.signal]
            there = amount(finding.available, resource)
            return f"{threshold_words(finding.threshold)}: {there} available, {standing(finding)}"
        case SignalUnobserved():
            return f"{finding.signal.value}: no observation, so its thresholds are not tested"
        case Ranking():
            return f"rank for {finding.resource.value}: {names(row.pod for row in finding.rows)}"
        case Silent():
            return say_silence(finding)
        case StatsMissing():
            return f"no stats for {names(finding.pods)}"
        case Spared():
            return (
                f"{pod_name(finding.pod)} ranks before the victim but is protected: {protection(finding.pod, config)}"
            )
        case ContainerFsIgnored():
            return f"{threshold_words(finding.threshold)} is ignored: containerfs follows nodefs or imagefs"
        case _:
            assert_never(finding)


_SILENCES = {
    Silence.NO_STATS: "the stats could not be read; nothing is decided on nothing",
    Silence.RECLAIM_SUFFICED: "node-level reclaim was enough; no pod has to go",
    Silence.NO_RANK_FUNCTION: "there is no way to rank pods for this signal",
    Silence.NO_ACTIVE_PODS: "there are no active pods to evict",
    Silence.NOTHING_EVICTABLE: "every active pod is protected or on its way out; unable to evict any",
    Silence.LAYOUT_UNKNOWN: "the filesystem layout could not be found out; the cycle waits for it",
}


def say_silence(finding: Silent) -> str:
    """Say why nothing (more) was done."""
    detail = clean(finding.detail) or (pod_name(finding.pod) if finding.pod is not None else "the last victims")
    if finding.why is Silence.WAITING_FOR_VICTIM:
        return f"waiting for {detail} to be gone before another pod is chosen"
    if finding.why is Silence.WAITING_FOR_RELEASE:
        return f"waiting for what {detail} should give back"
    if finding.why is Silence.PROTECTED_CULPRIT and finding.pod is not None and finding.threshold is not None:
        resource = SIGNAL_TO_RESOURCE[finding.threshold.signal]
        needed, reachable = amount(finding.needed, resource), amount(finding.reachable, resource)
        return (
            f"ProtectedCulprit: {pod_name(finding.pod)} is the largest user and protected; all others together use "
            f"{reachable}, but {needed} is needed, so evicting them would be in vain"
        )
    return _SILENCES[finding.why]


def evictions(decisions: Sequence[Decision]) -> list[EvictPod]:
    """Pick the evictions, without those that only shorten a grace period."""
    return [decision for decision in decisions if isinstance(decision, EvictPod) and not decision.shortens]
