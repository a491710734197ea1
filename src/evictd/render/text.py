"""Numbers, durations, names and thresholds as text, in one style for the log, the status page and every command.

Amounts are approximate (`core.units.approximate`); documents for programs have the exact numbers.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from evictd.core.model.amount_text import noun_of, unit_text
from evictd.core.model.problem import printable
from evictd.core.model.signal import ALL_OF_THE_TIME, RESOURCES, SIGNALS, STALLS, NodeCondition, Resource, Signal, Unit
from evictd.core.units.duration import MILLISECOND, SECOND, format_duration
from evictd.core.units.quantity import Quantity, parse_quantity

if TYPE_CHECKING:
    from evictd.core.model.config import EvictionConfig
    from evictd.core.model.finding import ThresholdFinding
    from evictd.core.model.pod import Pod
    from evictd.core.model.threshold import Threshold

_SHOWN_NAMES = 5
TENTH = 100 * MILLISECOND
"""Precision of a time in the play of a world."""
_HOURS, _DAYS = 2 * 3600, 2 * 86_400
"""Seconds from which a duration is written without seconds, and in days."""
DELETES = "delete "
"""How the text of a reclaim begins; what it removes follows."""
MEASURED_LATER = (
    "what pods use of a disk is measured when a threshold is within a tenth of the disk, or ten minutes away at the "
    "present rate"
)
"""Why no pod is measured while no threshold of the disk is near (`core.eviction.accounts.freshness`)."""


# --- numbers and names ------------------------------------------------------------------------------------------------


def clean(text: str) -> str:
    """Return a text on one line, with everything a terminal would act on written out: names come from files."""
    return printable(text)


def amount_text(count: int | None, resource: Resource) -> str:
    """Write an amount of this resource: bytes, a count of inodes or PIDs, a share of time; `-` where it is unknown."""
    return _in_unit(count, RESOURCES[resource].unit)


_ROUNDING = 200
ROUNDED_BY = f"{100 / _ROUNDING:g}%"
"""The part by which `rounded_below` lowers an amount."""


def rounded_below(amount: int) -> int:
    """Return an amount to propose, lower by so little that its rounded text is not above the given one."""
    return amount - amount // _ROUNDING


def enough_text(amount: int, resource: Resource) -> str:
    """Write an amount to propose as a request: its text is raised by so little where rounding would write less."""
    text = amount_text(amount, resource)
    return amount_text(amount + amount // _ROUNDING, resource) if parse_quantity(text).value() < amount else text


COUNTED = {Resource.PIDS: " processes", Resource.INODES: " inodes", Resource.SWAP: " in swap", Resource.IO: " stalled"}
"""Text after an amount of a resource that pods do not request."""


def usage_text(usage: int, resource: Resource) -> str:
    """Write what a pod uses, with what the amount counts where that is not bytes of memory or disk."""
    return amount_text(usage, resource) + COUNTED.get(resource, "")


def signal_amount(count: int | None, signal: Signal) -> str:
    """Write an amount of this signal; for a stall signal the share of time in which tasks stall."""
    unit = SIGNALS[signal].unit
    return _in_unit(ALL_OF_THE_TIME - count if count is not None and unit is Unit.SHARE else count, unit)


def signal_quantity(quantity: Quantity | None, signal: Signal) -> str:
    """Write a quantity of what this signal measures; `-` where it is unknown."""
    return signal_amount(None if quantity is None else quantity.value(), signal)


def pods_text(status: Mapping[str, Any]) -> str:
    """Write the number of pods in a document of `/statusz`, and when they were read where that was before the last cycle."""
    if status["pods"] is None:
        return "pods unknown"
    earlier = status.get("podsAgeSeconds", status["ageSeconds"]) - status["ageSeconds"]
    return counted(status["pods"], "pod") + (f" (as of {seconds_text(earlier)} earlier)" if earlier > 0 else "")


def gap_text(difference: int, signal: Signal) -> str:
    """Write the difference of two amounts of a signal."""
    return _in_unit(difference, SIGNALS[signal].unit)


def _in_unit(count: int | None, unit: Unit) -> str:
    return "-" if count is None else unit_text(count, unit)


def quantity_text(quantity: Quantity | None, resource: Resource) -> str:
    """Write a quantity of this resource; `-` where it is unknown."""
    return amount_text(None if quantity is None else quantity.value(), resource)


def counted(number: int, noun: str) -> str:
    """Write a number of things: `1 node`, `2 nodes`."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def ordinal(number: int) -> str:
    """Write a place in a sequence: `1st`, `12th`, `51st`."""
    endings = {1: "st", 2: "nd", 3: "rd"}
    return f"{number}{'th' if number % 100 in {11, 12, 13} else endings.get(number % 10, 'th')}"


def duration_text(nanoseconds: int) -> str:
    """Write a duration as Go does, not finer than a millisecond, or a second once there are some."""
    unit = MILLISECOND if abs(nanoseconds) < 10 * SECOND else SECOND
    return format_duration(round(nanoseconds / unit) * unit)


def clock(at: int) -> str:
    """Write a time to a tenth of a second."""
    return format_duration(round(at / TENTH) * TENTH)


def seconds_text(seconds: float) -> str:
    """Write seconds as a short duration: `9.5s` below ten, `1m30s`, from two hours on `7h20m`, from two days on `7 days`."""
    if seconds >= _DAYS:
        return f"{round(seconds / 86_400)} days"
    if seconds >= _HOURS:
        return format_duration(round(seconds / 60) * 60 * SECOND).removesuffix("0s")
    return f"{seconds:.1f}s" if seconds < 10 else format_duration(round(seconds) * SECOND)


def threshold_text(threshold: "Threshold") -> str:
    """Write a threshold as the kubelet's flag does, and how soon it acts: `memory.available<1Gi (soft, 1m30s)`."""
    return f"{threshold} ({kind_text(threshold, ', ')})"


def kind_text(threshold: "Threshold", before_grace: str = " ") -> str:
    """Return whether a threshold is hard or soft, with its grace period if it has one."""
    kind = "hard" if threshold.hard else "soft"
    return f"{kind}{before_grace}{duration_text(threshold.grace_period)}" if threshold.grace_period else kind


def less_unusable(configured: str) -> str:
    """Write why a soft threshold of memory is lower than it is configured."""
    return f"{configured} less what no process can allocate"


def lowered_text(configured: int, limit: int, signal: Signal) -> str:
    """Write why a soft threshold of memory is lower than it is configured; empty where both are the same amount as written."""
    amount = signal_amount(configured, signal)
    return "" if amount == signal_amount(limit, signal) else f"configured: {less_unusable(amount)}"


def limit_text(limit: Quantity | None, threshold: "Threshold") -> str:
    """Write the amount of a threshold; of a stall with the time for which it must be met: `20% for 20s`."""
    text = signal_quantity(limit, threshold.signal)
    if threshold.signal not in STALLS or not threshold.grace_period:
        return text
    return f"{text} for {duration_text(threshold.grace_period)}"


def left_text(available: Quantity | None, signal: Signal, limit: Quantity | None = None) -> str:
    """Return what is left of a signal: `1.2Gi left`, `31.2% stalled`; `just under 500Mi left` below a limit of 500Mi."""
    text = signal_quantity(available, signal)
    if available is not None and limit is not None and available < limit and text == signal_quantity(limit, signal):
        text = f"just {'over' if signal in STALLS else 'under'} {text}"
    return f"{text} {'stalled' if signal in STALLS else 'left'}"


def conditions_text(conditions: Iterable[NodeCondition]) -> str:
    """List node conditions; `none` if there are none."""
    return ", ".join(condition.value for condition in conditions) or "none"


def pod_name(pod: "Pod") -> str:
    """Return `namespace/name`, or the name alone where there is no namespace."""
    return clean(pod.full_name if pod.namespace else pod.name)


def protection(pod: "Pod", config: "EvictionConfig") -> str:
    """Return why this pod is never evicted; empty where it may be."""
    from evictd.core.model.pod import PodSource  # noqa: PLC0415 - `evictd status` needs no pods

    if pod.source is not PodSource.API:
        return f"{pod.source.value} pod"
    if pod.critical:
        return "critical priority"
    return "evictd itself" if pod.uid in config.protected_pods else ""


def names(pods: Iterable["Pod"]) -> str:
    """List pods; of many only the first few and how many more there are."""
    return first_of([pod_name(pod) for pod in pods])


def first_of(listed: Sequence[str], most: int = _SHOWN_NAMES) -> str:
    """Join texts with commas; of more than `most` only the first, and how many more there are."""
    more = f" and {len(listed) - most} more" if len(listed) > most else ""
    return ", ".join(listed[:most]) + more


# --- thresholds -------------------------------------------------------------------------------------------------------


def standing(finding: "ThresholdFinding") -> str:
    """Return the state of a threshold in a few words."""
    if finding.stale:
        return "met, stats not updated"
    if finding.led:
        return "met early: what is left does not last for an eviction"
    if finding.kept_by_min_reclaim:
        return "min-reclaim not reached"
    if not finding.met:
        return "ok"
    return f"met, {duration_text(finding.grace_left)} left" if finding.grace_left else "met"


def distance(finding: "ThresholdFinding") -> int:
    """Return how far the signal is above the limit, in its own unit; negative below it."""
    return (finding.available - finding.limit).value()


def not_of_pods_text(amount: int, resource: Resource) -> str:
    """Return how much of a disk no eviction gives back at once."""
    used = f"{amount_text(amount, resource)}{noun_of(amount, resource)}"
    return f"{used} in use belong to no pod (images, host files, dead containers)"


def incident_id(uid: str) -> str:
    """Return the name of an eviction for `evictd incident`: the begin of the pod's uid."""
    return clean(uid)[:8]


def capital(text: str) -> str:
    """Begin a sentence with a capital, unless it begins with the name of a pod."""
    return text if "/" in text.partition(" ")[0] else text[:1].upper() + text[1:]


def chosen_because(why: str) -> str:
    """Return the sentence of an eviction for a pod that is still there: it is chosen, and not evicted yet."""
    return f"Chosen{why.removeprefix('Evicted')}" if why.startswith("Evicted ") else why
