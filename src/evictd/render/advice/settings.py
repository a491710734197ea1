"""The advice beside that for signals: lines to keep, the grace of pods, `memory.lead` and reservations."""

from collections.abc import Iterator

from evictd.advice.pod_grace import DEFAULT_POD_GRACE, PodGrace
from evictd.advice.proposal import Advice
from evictd.advice.reservation import COVERED, LEAST_READINGS, Reservation
from evictd.advice.unfit import Unfit
from evictd.core.model.signal import Resource, Signal
from evictd.render.advice.missing_lines import some, unguarded_lines
from evictd.render.text import amount_text, clean, counted, first_of, signal_amount

RESERVED_NAMES = {Resource.MEMORY: "memory", Resource.EPHEMERAL_STORAGE: "ephemeral-storage", Resource.PIDS: "pid"}
"""Names of resources in systemReserved and kubeReserved."""
FIND = "find what used it instead"
_SHOWN = 5
"""Nodes that are named."""


def other_lines(advice: Advice) -> Iterator[str]:
    """Yield the lines that a copied list would drop, and the settings beside thresholds, each with its evidence."""
    yield from unguarded_lines(advice)
    yield from _kept_lines(advice)
    if advice.killed:
        killed = first_of(
            [f"{count} of {clean(where)} on {clean(node)}" for node, where, count in advice.killed], _SHOWN
        )
        total = sum(count for _, _, count in advice.killed)
        yield f"the kernel killed {'1 process' if total == 1 else f'{total} processes'} for want of memory of the node: {killed}"
    if advice.stalls:
        yield (
            f"{counted(advice.stalls, 'eviction')} for stalled tasks (`pressure`): nothing is advised, because a stall is "
            "not an amount; try other values with `evictd replay --config`"
        )
    if advice.max_pod_grace_seconds is not None:
        yield f"evictionMaxPodGracePeriod: {advice.max_pod_grace_seconds}: {_why_grace(advice)}"
    else:
        yield from (f"evictionMaxPodGracePeriod: none proposed: {each}" for each in _timed_out(advice.grace))
    if (led := advice.led) is not None:
        earlier, limit, rate = (
            signal_amount(amount, led.signal) for amount in (led.limit + led.led_by, led.limit, led.rate)
        )
        untested = "without an eviction for memory, it is not tested: how fast memory fills there no record shows"
        calm = f". On {some(advice.calm)}, {untested}" if advice.calm else ""
        yield (
            f"memory.lead: Auto: on {clean(led.node)} at {clean(led.wall)} memory filled at {rate} a second; with it the "
            f"eviction begins when {earlier} are left, instead of {limit}, also for a fill that would end before {limit}{calm}"
        )
    yield from _reserved_lines(advice)


def _reserved_lines(advice: Advice) -> Iterator[str]:
    """Yield a line for each reservation, and one for all of which too few readings were recorded."""
    few = [each for each in advice.reserved if not each.enough_evidence]
    if few:
        used = (
            f"{amount_text(each.worst.amount, each.resource)} of {RESERVED_NAMES[each.resource]} "
            f"({counted(each.readings, 'reading')})"
            for each in few
        )
        yield (
            f"systemReserved plus kubeReserved: not enough evidence: a reservation is proposed from {LEAST_READINGS} readings "
            f"on; the most in use outside pods was {', '.join(used)}"
        )
    for each in (each for each in advice.reserved if each.enough_evidence):
        name, readings = f"systemReserved plus kubeReserved for {RESERVED_NAMES[each.resource]}", each.readings
        most = (
            f"the most in use outside pods{_images(each)} was {amount_text(each.worst.amount, each.resource)} on "
            f"{clean(each.worst.node)} at {clean(each.worst.wall)}, of {counted(readings, 'reading')}"
        )
        if each.proposed:
            missed = f"; not covered: {some(each.not_covered)}" if each.not_covered else ""
            rounded = " (rounded up)" if each.amount > (each.deciding or each.worst).amount + each.threshold else ""
            yield f"{name}: {amount_text(each.amount, each.resource)}{rounded}; {most}{_for_threshold(each)}{missed}"
        elif each.amount:
            yield f"{name}: {_why_not_reserved(each)}; {most}"
        else:
            yield f"{name}: none, because nothing was in use outside pods, of {counted(readings, 'reading')}"


def _images(each: Reservation) -> str:
    """Say of a disk whether unused images, which reclaim frees, are in the figure."""
    if each.resource is not Resource.EPHEMERAL_STORAGE:
        return ""
    return ", images included," if each.worst.with_images else " without unused images"


def _why_grace(advice: Advice) -> str:
    """Say where the grace period comes from."""
    timed_out = "".join(f"; {each}" for each in _timed_out(advice.grace)) + _cuts(advice.grace)
    if advice.max_pod_grace_seconds == advice.grace.took:
        ends = advice.grace.ends - len(advice.grace.timed_out)
        return f"as long as pods took to end after {counted(ends, 'soft eviction')}{timed_out}"
    sooner = ": that evicted pods ended sooner says nothing of others" if advice.grace.took else ""
    if advice.max_pod_grace_seconds != DEFAULT_POD_GRACE:
        return f"the most that a node has{sooner}{timed_out}"
    few = "" if timed_out else ", because too few soft evictions were recorded"
    return f"the API's default for a pod{sooner or few}{timed_out}"


def _cuts(grace: PodGrace) -> str:
    """Say which pod gets less than its own grace period; empty where no recorded one does."""
    if grace.cuts is None:
        return ""
    return (
        f"; it cuts the terminationGracePeriodSeconds of {clean(grace.cuts[1])}, {grace.cuts[0]}, for a soft threshold"
    )


def _timed_out(grace: PodGrace) -> Iterator[str]:
    """Say of pods that were killed at the end of their grace period how to find what they need; nothing where none was."""
    if not grace.timed_out:
        return
    longest = max(grace.timed_out, key=lambda each: (each.grace or 0, each.own_grace or 0))
    pod, own = clean(longest.pod), longest.own_grace
    how = "a longer evictionMaxPodGracePeriod shows it"
    if own is not None and own <= (longest.grace or 0):
        how = f"only a longer terminationGracePeriodSeconds of {pod} than {own} shows it"
    elif own is not None:
        how += f", up to {own}, the terminationGracePeriodSeconds of {pod}"
    yield (
        f"{len(grace.timed_out)} of {counted(grace.ends, 'pod')} evicted for a soft threshold were killed at the end of their "
        f"grace period, the longest {longest.grace}s, so how long they take is not known: {how}"
    )


def _kept_lines(advice: Advice) -> Iterator[str]:
    """Say which thresholds the proposed lists do not name, so that a configuration with only these would lose them."""
    if not advice.missing and not any(each.proposed for each in advice.signals):
        return
    if advice.kept_hard and (advice.missing or any(each.raised for each in advice.signals)):
        kept = " and ".join(signal.value for signal in advice.kept_hard)
        yield f"keep your evictionHard of {kept}: a list of evictionHard drops each signal that it does not name"
    if advice.kept_soft:
        kept = " and ".join(signal.value for signal in advice.kept_soft)
        yield (
            f"keep your evictionSoft and evictionSoftGracePeriod of {kept}: a configuration without these lines has no soft "
            "threshold"
        )


def _why_not_reserved(each: Reservation) -> str:
    """Say why an amount fits not every node: it is above half of the capacity of the worst one, or only of smaller ones."""
    least, worst = (amount_text(node.capacity, each.resource) for node in (each.smallest, each.worst))
    if each.leaks:
        grew = f"grew from {amount_text(each.worst.least or 0, each.resource)} to {amount_text(each.worst.amount, each.resource)}"
        return f"none proposed: what is used outside pods {grew}, which no reservation bounds; {FIND}"
    if each.amount * 2 > each.worst.capacity:
        amount = amount_text(each.amount, each.resource)
        amount += " (rounded up)" if each.amount > each.worst.amount else ""
        return f"none proposed: {amount} is more than half of {worst}, so {FIND}"
    return none_fits_all(least, each.smallest.node, worst)


def _for_threshold(each: Reservation) -> str:
    """Say what the reservation has for thresholds, or what it lacks for them; empty where it has none."""
    signals = [signal.value for signal in COVERED.get(each.resource, ())]
    highest = f"the highest threshold of {' and '.join(signals)}"
    if each.with_threshold:
        amount = amount_text(each.with_threshold, each.resource)
        return (
            f"; not covered: {highest}, which pods within their requests can meet: with it {amount} would be reserved, "
            f"more than half of {amount_text(each.smallest.capacity, each.resource)}"
        )
    if not each.threshold:
        return ""
    without = " (without what no process can allocate, which is in use already)" * (each.resource is Resource.MEMORY)
    return (
        f"; {amount_text(each.threshold, each.resource)} are for {highest}{_where_else(each)}{without}, or pods "
        f"within their requests meet it. Set it for the kubelet, which may take off its own evictionHard of {signals[0]}"
    )


def _where_else(each: Reservation) -> str:
    """Write which node decides, if it is another one than that which used the most; its threshold is higher then."""
    if each.deciding is None or each.deciding is each.worst:
        return ""
    used = amount_text(each.deciding.amount, each.resource)
    return f" on {clean(each.deciding.node)}, where {used} were in use"


def unfit_text(found: Unfit, signal: Signal, hard: int) -> str:
    """Write on which node a hard threshold would be met always, or before a soft one that is kept."""
    node, amount, most = clean(found.node), signal_amount(hard, signal), signal_amount(found.amount, signal)
    why = (
        f"is above the soft threshold of {node}, which is kept and acts at {most}"
        if found.soft
        else f"would be met always on {node}, where at most {most} were available"
    )
    return f"no one value fits: {amount} {why}: advise nodes that differ apart"


def none_fits_all(least: str, node: str, most: str) -> str:
    """Write that nodes are too different for one value."""
    return f"none proposed: no one value fits nodes of {least} ({clean(node)}) and {most}: advise them apart"
