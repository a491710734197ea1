"""Says what an earlier or a smaller soft threshold would have done, and how far the hard one was when the pod went."""

from itertools import pairwise

from evictd.advice.soft import SOFT_GRACE
from evictd.config.kernel_share import kernel_share
from evictd.core.model.signal import WITH_REQUEST, Resource, Signal
from evictd.core.units.duration import SECOND
from evictd.render.history.evictions import signal_of
from evictd.render.history.history import EventKind, HistoryEvent
from evictd.render.incident.cause.page_cache import held_by_page_cache
from evictd.render.incident.record.aftermath import time_of
from evictd.render.incident.record.incident import Incident
from evictd.render.incident.record.readings import still_for
from evictd.render.incident.remedy.avoided import Avoidance, in_vain
from evictd.render.text import duration_text, rounded_below, seconds_text, signal_amount

LEAD_SECONDS = 60
"""How much earlier a threshold with the advised grace period is met."""
_LONGER = 3
"""How many times as long a grace period is proposed where a burst had ended within the one that is set."""


def soft_threshold_avoidance(found: Incident, resource: Resource) -> Avoidance:
    """Say whether a soft threshold would have been of use at the rate at which the signal fell."""
    rate, signal = found.rate, found.signal
    if (smaller := smaller_soft_text(found)) and not held_by_page_cache(found):
        return Avoidance(by=(smaller, *filter(None, (longer_grace_text(found),))))
    if rate is None or rate <= 0 or signal is None:
        return Avoidance()
    lead, grace = lead_and_grace(found)
    limit = _base(found) + rate * lead
    decided = found.event.because.get("fillRate")  # the line of the eviction names it
    mean = ""
    if isinstance(decided, int) and decided > 2 * rate:
        mean = f", the mean of the minute before ({signal_amount(decided, signal)} a second just before the eviction),"
    hidden = hidden_from_soft(found)
    fell, amount = f"at {signal_amount(rate, signal)} a second{mean}", signal_amount(limit + hidden, signal)
    went = f"and a pod would have gone all the same, {lead - grace} s earlier, with a grace period of its own"
    if found.refusals or found.event.past_budget:
        went = "when the disruption budget guarded this pod"
    if was_within_request(found, resource, lead - grace):
        went = "when this pod was still within its request"
    if held_by_page_cache(found):
        went = "and no pod goes for a soft threshold that page cache alone holds met"
    had = "" if found.soft is None else f" (it was {signal_amount(found.soft, signal)})"
    had += f" with a grace period of {duration_text(grace * SECOND)}" if grace else ""
    if (fall := fall_within_lead(found, limit)) is not None:
        left, seconds = fall
        at_most = f"it would have been met at most {seconds_text(seconds)} earlier, so fast it fell"
        return in_vain(f"a soft threshold of up to {signal_amount(left + hidden, signal)}{had}: {at_most}")
    what = f"a soft threshold of {amount}{had}"
    soft = f"{what}: {fell} it would have been met {lead} s earlier, {went}"
    if found.capacity is not None and limit * 2 > found.capacity:
        if found.soft is None:
            return Avoidance()  # it is not one that a user would set
        part = "all" if limit > found.capacity else "half"
        most = f"more than {part} of the {signal_amount(found.capacity, signal)} that there are"
        soft = f"a soft threshold{had}: {fell} it would have to be {amount}, {most}"
    elif (first := evicted_within_lead(found)) is not None:
        soft = f"{what}: it would have been met before {first.pod} was evicted, and that pod would have gone then"
    return in_vain(soft)


def _base(found: Incident) -> int:
    """Return the limit that a proposed threshold has to be met before: of the hard threshold where the pod went for that."""
    return (0 if found.for_soft else found.highest_limit("hard")) or found.highest_limit()


def lead_and_grace(found: Incident) -> tuple[int, int]:
    """Return how many seconds earlier a proposed threshold is met, and how many of them its grace period takes.

    That is the one that is set, else the advised one. Beyond it the next cycle and what is waited for on a disk take time. A pod
    that went for a soft threshold waited for it already.
    """
    if found.for_soft:
        return LEAD_SECONDS, 0
    grace = (found.soft_grace or SOFT_GRACE) // SECOND
    return grace + LEAD_SECONDS - SOFT_GRACE // SECOND, grace


def was_within_request(found: Incident, resource: Resource, seconds: int) -> bool:
    """Whether the pod exceeded its request only by what it took in the last `seconds` before its eviction."""
    victim = found.victim
    if victim is None or victim.usage is None or resource not in WITH_REQUEST or victim.usage <= victim.request:
        return False
    rate = 0 if found.verdict is None else found.verdict.rate_of(victim.pod)
    return victim.usage - rate * seconds <= victim.request > 0


def evicted_within_lead(found: Incident) -> HistoryEvent | None:
    """Return the first eviction for the same signal within the lead of a proposed threshold; `None` without one."""
    at, signal = time_of(found.event.at), found.signal
    evicted = (each for each in found.before if each.kind is EventKind.EVICTED and each.uid != found.event.uid)
    for_it = (each for each in evicted if signal_of(each) is signal)
    return next((each for each in for_it if at - time_of(each.at) <= LEAD_SECONDS * SECOND), None)


def fall_within_lead(found: Incident, limit: int) -> tuple[int, float] | None:
    """Return the last reading above a proposed limit, and how many seconds before the highest threshold was met it was.

    `None` unless the readings show so that the limit would have been met by less than half the lead earlier: in a sudden fall the
    mean of the readings around it says nothing.
    """
    highest = _base(found)
    before = [each for each in found.points if each[0] <= 0]
    met_at = next((at for (_, left), (at, then) in reversed([*pairwise(before)]) if left >= highest > then), None)
    if met_at is None:
        return None
    above = [(left, met_at - at) for at, left in before if at < met_at and left >= limit]
    return above[-1] if above and above[-1][1] <= LEAD_SECONDS / 2 else None


def hidden_from_soft(found: Incident) -> int:
    """Return by how much a soft threshold acts below its configured amount: by the memory that no process can allocate."""
    unset = found.unallocatable if found.signal is Signal.MEMORY_AVAILABLE else 0
    return max((found.soft - each for kind, each in found.levels if kind == "soft" and found.soft), default=unset)


def smaller_soft_text(found: Incident) -> str:
    """Write the soft threshold that what was left did not reach; empty where a smaller one would have been met as well.

    Where something still filled the supply, a smaller one would only have been met later. It is the amount to configure, with
    which the soft threshold is met before the hard one.
    """
    verdict = found.verdict
    if found.signal is None or found.available is None or verdict is None:
        return ""
    grew = bool(verdict.growers) or (found.rate or 0) > 0
    still = still_for(found.points) if grew else 0
    if grew and not still:
        return ""
    lowest = min((amount for seconds, amount in found.points if seconds <= 0), default=found.available)
    enough = rounded_below(min(lowest, found.available))
    hard = found.highest_limit("hard")
    if not found.for_soft or enough <= hard:
        return ""
    hidden = hidden_from_soft(found)
    if enough + hidden <= hard + _busy_share(found):
        return ""  # `evictd check` would warn of it: with more kernel memory the hard one acts first (SoftAfterHard)
    amount = signal_amount(enough + hidden, found.signal)
    had = "" if found.soft is None else f" (it was {signal_amount(found.soft, found.signal)})"
    less = f" ({amount} less what no process can allocate)" if hidden else ""
    left = f"{signal_amount(enough, found.signal)} or more was left{less}, and nothing grew any more"
    since = f" in the {seconds_text(still)} before" if still else ""
    return f"a soft threshold of at most {amount}{had}: {left}{since}"


def _busy_share(found: Incident) -> int:
    """Return the memory that processes cannot allocate on a busy node of this size; 0 where soft thresholds leave it out too."""
    hidden = hidden_from_soft(found)
    share = kernel_share(found.capacity or 0) if hidden else None
    return hidden if share is None else max(hidden, share.busy)


def longer_grace_text(found: Incident) -> str:
    """Write a longer grace period where the growth ended within the one that is set: a burst may end within it; else empty."""
    if found.soft_grace is None or not 0 < still_for(found.points) * SECOND <= found.soft_grace:
        return ""
    had, longer = (duration_text(each) for each in (found.soft_grace, found.soft_grace * _LONGER))
    gone = f"no pod would have gone if what grew is given back within {longer}, which the journal cannot show"
    return f"a soft grace period of {longer} (it was {had}): {gone}"


def went_for_soft(found: Incident) -> bool:
    """Whether the pod went for a soft threshold and no hard one of the signal was met up to its end, as far as readings show."""
    left = [amount for seconds, amount in found.points if 0 < seconds <= (found.gone_after or 0)]
    left += [] if found.available is None else [found.available]
    return found.for_soft and min(left, default=0) >= found.highest_limit("hard")


def above_hard_text(found: Incident) -> str:
    """Write what was left above the hard threshold; empty where that was met, or the record has none."""
    hard = found.highest_limit("hard")
    if found.signal is None or found.available is None or not hard or not went_for_soft(found):
        return ""
    left, limit = (signal_amount(each, found.signal) for each in (found.available - hard, hard))
    return f"the hard threshold, {limit}, was not met: {left} was left above it"
