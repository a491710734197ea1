"""Finds thresholds that are valid but probably not intended.

Each lint covers a fault from operators' reports: a disk without a threshold, a soft threshold that is never met before the hard
one, a memory threshold below the kernel's own reserve, no PID threshold or one that the kernel's reserve of PIDs keeps from being
met, evictd and the kubelet acting on the same amount, a kubelet that reserves too little, and systemd-oomd beside evictd. Some
would evict pods of a healthy node: they are met already, met always, or have a minimum reclaim out of reach.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from evictd.config.lint_model import Lint, LintFinding, Surroundings, amount_on, at_most, limit_on, same_supply
from evictd.config.little_left import little_left
from evictd.config.much_kept import much_kept
from evictd.config.never_met import kubelet_never_acts, memory_never_met
from evictd.config.reserved import requests_meet
from evictd.config.settings import UnknownField
from evictd.config.soft_after_hard import soft_after_hard
from evictd.core.model.config import MemoryFormula
from evictd.core.model.signal import MEMORY_SIGNALS, SIGNALS, STALLS, Filesystem, Resource, Signal, Unit
from evictd.core.model.threshold import Operator, Origin, Threshold
from evictd.core.units.duration import HOUR, MINUTE, format_duration
from evictd.core.units.quantity import Quantity, of_bytes, of_count

_LEAST = of_bytes(2**20)
"""A smaller amount was most likely meant in another unit."""
_LONG_GRACE = 30 * MINUTE
"""A grace period of memory from which on seconds were probably meant."""
_HALF = 2
"""A threshold above one half of the capacity evicts while most of it is unused."""


def lint(thresholds: Sequence[Threshold], surroundings: Surroundings) -> tuple[LintFinding, ...]:
    """Return every finding, in the order of the signals."""
    active = [threshold for threshold in thresholds if threshold.operator is Operator.LESS_THAN]
    findings = [
        *_filesystems_without_threshold(active, surroundings),
        *_soft_never_first(active, surroundings),
        *soft_after_hard(active, surroundings),
        *_below_low_watermark(active, surroundings),
        *memory_never_met(active, surroundings),
        *kubelet_never_acts(active, surroundings),
        *little_left(active, surroundings),
        *_long_memory_grace(active),
        *much_kept(active, surroundings),
        *_no_memory_threshold(active),
        *_no_pid_threshold(active),
        *_pid_threshold_never_met(active, surroundings),
        *_not_observed(active, surroundings),
        *_kubelet_acts_first(active, surroundings),
        *requests_meet(active, surroundings),
        *(kill.finding for kill in surroundings.oomd),
        *without_unit(active),
        *_lethal(active, surroundings),
    ]
    order = list(Signal)
    return tuple(sorted(findings, key=lambda finding: -1 if finding.signal is None else order.index(finding.signal)))


def misspelt(fields: Sequence[UnknownField]) -> Iterator[LintFinding]:
    """Yield a finding for each unknown field that is spelt almost like a known one."""
    for each in fields:
        if each.misspelt:
            yield LintFinding(lint=Lint.FIELD_MISSPELT, message=each.message, remedy=each.remedy)


def without_effect(fields: Sequence[str]) -> tuple[str, ...]:
    """Warn of fields of the kubelet's configuration that are set but that evictd does not obey.

    A warning and not a finding, so that the exit status stays 0: the file may be the kubelet's own, which obeys them.
    """
    return tuple(f"{field} has no effect on evictd; only the kubelet obeys it" for field in fields)


# --- the lints --------------------------------------------------------------------------------------------------------


def _filesystems_without_threshold(thresholds: Sequence[Threshold], around: Surroundings) -> Iterator[LintFinding]:
    have = {threshold.signal for threshold in thresholds}
    for signal, spec in SIGNALS.items():
        filesystem = spec.filesystem
        if filesystem is not None and filesystem in around.filesystems and signal not in have:
            what = "inodes" if spec.resource is Resource.INODES else "space"
            yield LintFinding(
                lint=Lint.FILESYSTEM_WITHOUT_THRESHOLD,
                signal=signal,
                message=f"has no threshold, so evictd does not act on the {what} of {filesystem.value}",
                remedy="set one, or mergeDefaultEvictionSettings: true for the default",
            )


def _soft_never_first(thresholds: Sequence[Threshold], around: Surroundings) -> Iterator[LintFinding]:
    for soft in thresholds:
        if soft.hard or soft.origin is Origin.DERIVED:
            continue
        own = [one for one in thresholds if one.hard and one.origin is not Origin.DERIVED]
        hards = [one for one in own if same_supply(one.signal, soft.signal, around)]
        first = [one for one in hards if at_most(soft, one, around) and one.grace_period <= soft.grace_period]
        if first:
            hard = first[-1]
            of = "" if hard.signal is soft.signal else f"{hard.signal.value} on the same disk, "
            more = "below" if soft.signal in STALLS else "above"
            yield LintFinding(
                lint=Lint.SOFT_NEVER_FIRST,
                signal=soft.signal,
                message=(
                    f"the soft threshold {soft.bound[1:]} is not {more} the hard one {of}{hard.bound[1:]}: "
                    "it can never act first"
                ),
                remedy=f"{'lower' if soft.signal in STALLS else 'raise'} the soft one",
            )


def _below_low_watermark(thresholds: Sequence[Threshold], around: Surroundings) -> Iterator[LintFinding]:
    for threshold in thresholds:
        if threshold.signal not in MEMORY_SIGNALS or threshold.origin is Origin.DERIVED:
            continue
        limit, watermark = limit_on(threshold, around.capacities), around.low_watermark_bytes
        if any(memory_never_met([threshold], around)):
            continue  # which says more
        if threshold.hard and around.formula is MemoryFormula.AUTO:
            continue  # the kernel's estimate leaves the watermarks out
        if limit is not None and watermark is not None and limit <= of_bytes(watermark):
            yield LintFinding(
                lint=Lint.BELOW_LOW_WATERMARK,
                signal=threshold.signal,
                message=(
                    f"{threshold.value} is not above the kernel's low watermark of {watermark // 2**20}Mi: the kernel "
                    "stalls or kills before evictd acts"
                ),
                remedy="raise the threshold, or lower vm.min_free_kbytes",
            )


def _long_memory_grace(thresholds: Sequence[Threshold]) -> Iterator[LintFinding]:
    """Find grace periods in which memory that grows has ended; of one over a day the configuration itself warns."""
    for threshold in thresholds:
        if threshold.signal in MEMORY_SIGNALS and _LONG_GRACE <= threshold.grace_period <= 24 * HOUR:
            yield LintFinding(
                lint=Lint.LONG_MEMORY_GRACE,
                signal=threshold.signal,
                message=(
                    f"the soft threshold {threshold.value} must be met for {format_duration(threshold.grace_period)} before a "
                    "pod is evicted"
                ),
                remedy="if seconds were meant, set evictionSoftGracePeriod to minutes, such as 1m30s",
            )


def _no_memory_threshold(thresholds: Sequence[Threshold]) -> Iterator[LintFinding]:
    """Find that memory has none: one entry in `evictionHard` removes all defaults, as k3s's for the disks does."""
    if not any(each.signal in MEMORY_SIGNALS and each.origin is not Origin.DERIVED for each in thresholds):
        yield LintFinding(
            lint=Lint.NO_MEMORY_THRESHOLD,
            signal=Signal.MEMORY_AVAILABLE,
            message="has no threshold, so evictd does not act on memory and the OOM killer chooses",
            remedy="set one, or mergeDefaultEvictionSettings: true for the default",
        )


def _no_pid_threshold(thresholds: Sequence[Threshold]) -> Iterator[LintFinding]:
    if not any(threshold.signal is Signal.PID_AVAILABLE for threshold in thresholds):
        yield LintFinding(
            lint=Lint.NO_PID_THRESHOLD,
            signal=Signal.PID_AVAILABLE,
            message="has no threshold and no default, so evictd does not act on PIDs",
            remedy="set one, such as pid.available: 5%",
        )


def _pid_threshold_never_met(thresholds: Sequence[Threshold], around: Surroundings) -> Iterator[LintFinding]:
    """Find PID thresholds that are never met: available PIDs never fall below the number that the kernel never assigns."""
    for threshold in thresholds:
        limit = limit_on(threshold, around.capacities)
        if threshold.signal is not Signal.PID_AVAILABLE or limit is None or around.unusable_pids is None:
            continue
        if limit <= of_count(around.unusable_pids):
            yield LintFinding(
                lint=Lint.PID_THRESHOLD_NEVER_MET,
                signal=threshold.signal,
                message=(
                    f"{threshold.value} cannot be met: the kernel gives no PID below 300 again, so at least "
                    f"{around.unusable_pids} always count as available"
                ),
                remedy=f"set it well above {around.unusable_pids}, such as 5%, or raise kernel.pid_max",
            )


def _not_observed(thresholds: Sequence[Threshold], around: Surroundings) -> Iterator[LintFinding]:
    """Find thresholds of evictd's own on stalls or swap that this node does not have."""
    for threshold in thresholds:
        signal = threshold.signal
        if not around.available or signal in around.available:
            continue
        if signal in STALLS:
            remedy = "boot with psi=1 and cgroup v2"  # without the pods' own stalls those of the node name no culprit
            message = "cannot be met here: the kernel reports no such stalls"
            yield LintFinding(lint=Lint.STALL_NOT_OBSERVED, signal=signal, message=message, remedy=remedy)
        elif signal is Signal.SWAP_AVAILABLE:
            message, remedy = "cannot be met here: the node has no swap", "remove it, or give the node swap"
            yield LintFinding(lint=Lint.SWAP_NOT_OBSERVED, signal=signal, message=message, remedy=remedy)


def _kubelet_acts_first(thresholds: Sequence[Threshold], around: Surroundings) -> Iterator[LintFinding]:
    """Find thresholds of the kubelet that act first: both would evict, so evictd has to act earlier.

    Compared are those of evictd whose grace period is no longer: a soft one above a hard one of the kubelet comes too late where
    the signal falls quickly. Where evictd has none of these, the others count.
    """
    for theirs in around.kubelet or ():
        if theirs.origin is Origin.DERIVED:
            continue
        ours = [one for one in thresholds if same_supply(one.signal, theirs.signal, around)]
        ours = [one for one in ours if one.grace_period <= theirs.grace_period] or ours
        later = [one for one in ours if at_most(one, theirs, around)]
        if ours and len(later) == len(ours) and not any(kubelet_never_acts(ours, replace(around, kubelet=(theirs,)))):
            grace = "" if theirs.hard else f" for {format_duration(theirs.grace_period)}"
            off = "switch the kubelet's off with 0%" if theirs.hard else "remove the kubelet's"
            yield LintFinding(
                lint=Lint.KUBELET_ACTS_FIRST,
                signal=theirs.signal,
                message=f"the kubelet acts at {theirs.value}{grace}, not later than evictd at {ours[0].value}",
                remedy=f"raise evictd's threshold, or {off}",
            )


def without_unit(thresholds: Sequence[Threshold]) -> Iterator[LintFinding]:
    """Find amounts of a few bytes: `10` is ten. A node that has less left of memory or disk no longer runs."""
    for threshold in thresholds:
        quantity = threshold.value.quantity
        if (
            SIGNALS[threshold.signal].unit is Unit.BYTES
            and quantity is not None
            and quantity < _LEAST
            and threshold.origin is not Origin.DERIVED
        ):
            below_one = quantity < of_bytes(1)
            amount = "less than a byte" if below_one else f"{quantity.value()} bytes"
            number = str(quantity).removesuffix("m") if below_one else quantity.value()
            # "0.15" was meant as a share; 500m hardly, as a half is no sensible threshold.
            share = quantity.nano / of_bytes(1).nano
            percent = f" such as {100 * share:.6g}%" if share * _HALF < 1 else ""
            yield LintFinding(
                lint=Lint.WITHOUT_UNIT,
                signal=threshold.signal,
                message=f"{quantity} is {amount}: it is not met before the node stops working",
                remedy=f"write its unit, such as {number}Mi, or a percentage{percent}",
            )


# --- thresholds that evict pods of a healthy node: the kubelet accepts each of them and evicts pod after pod --------------


def _lethal(thresholds: Sequence[Threshold], around: Surroundings) -> Iterator[LintFinding]:
    """Yield at most one finding for the limit of each threshold, and one for its minimum reclaim."""
    for threshold in thresholds:
        spec = SIGNALS[threshold.signal]
        limit, capacity = limit_on(threshold, around.capacities), around.capacities.get(threshold.signal)
        # The thresholds of containerfs repeat those of the filesystem that it follows.
        if spec.filesystem is Filesystem.CONTAINERFS or spec.stall is not None:
            continue
        yield from _limit(threshold, limit, capacity, around.available.get(threshold.signal))
        if limit is not None and capacity is not None:
            yield from _min_reclaim(threshold, limit, capacity, around.available.get(threshold.signal))


def _limit(
    threshold: Threshold, limit: Quantity | None, capacity: Quantity | None, available: Quantity | None
) -> Iterator[LintFinding]:
    """Find a limit that is too high; a percentage needs no capacity for that."""
    signal, value = threshold.signal, threshold.value
    whole = "" if capacity is None else f" of {amount_on(capacity, signal)}"
    part, all_of_it = (value.fraction if limit is None else 0.0, 1.0)
    if limit is not None and capacity is not None:
        part, all_of_it = limit.nano, capacity.nano
    if part >= all_of_it:
        yield LintFinding(
            lint=Lint.NOT_BELOW_CAPACITY,
            signal=signal,
            message=f"{value} is not below the capacity{whole}: always met, so every pod is evicted",
            remedy="set it well below the capacity",
        )
    elif available is not None and limit is not None and available < limit:
        yield LintFinding(
            lint=Lint.MET_ALREADY,
            signal=signal,
            message=f"{value} is met already on this node: {amount_on(available, signal)} left",
            remedy="lower it, or free what is short before evictd starts",
        )
    elif part * _HALF > all_of_it:
        yield LintFinding(
            lint=Lint.ABOVE_HALF_OF_CAPACITY,
            signal=signal,
            message=f"{value} is above half of the capacity{whole}: pods are evicted while most is unused",
            remedy="lower it; it is what must stay available, not what may be used",
        )


def _min_reclaim(
    threshold: Threshold, limit: Quantity, capacity: Quantity, available: Quantity | None
) -> Iterator[LintFinding]:
    if threshold.min_reclaim is None:
        return
    more = threshold.min_reclaim.resolve(capacity)
    target = limit + more
    if target.nano * _HALF > capacity.nano >= limit.nano * _HALF:
        wanted, whole = amount_on(target, threshold.signal), amount_on(capacity, threshold.signal)
        yield LintFinding(
            lint=Lint.RECLAIM_TOO_LARGE,
            signal=threshold.signal,
            message=(
                f"with evictionMinimumReclaim {wanted} must be left, above half of the capacity of {whole}: once the threshold "
                "is met, pod after pod is evicted"
            ),
            remedy="lower evictionMinimumReclaim",
        )
    # A reclaim no larger than the threshold is usual, also on a node that is nearly full.
    elif available is not None and limit < available < target and more > limit:
        wanted, left = amount_on(target, threshold.signal), amount_on(available, threshold.signal)
        yield LintFinding(
            lint=Lint.RECLAIM_ABOVE_AVAILABLE,
            signal=threshold.signal,
            message=(
                f"with evictionMinimumReclaim {wanted} must be left, more than the {left} available now: once the threshold is "
                "met, pods are evicted that fit on the node today"
            ),
            remedy="lower evictionMinimumReclaim",
        )
