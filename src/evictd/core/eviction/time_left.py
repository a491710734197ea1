"""Compares the time that is left at the measured fill rate with the time that an eviction takes (policy Standard).

A process that takes 500 MiB/s uses up the 100 MiB behind a threshold in 200 ms, less than a stop takes; then the OOM killer
chooses instead. Three rules follow, none of which the kubelet has:

* Grace. The documentation says that a hard threshold kills without grace; the kubelet gives one second, and PID 1 of a container
  ignores SIGTERM. So the second is given only where it and the stop fit into the time left (`fit_grace`).
* Lead, off by default (`memory.lead: Auto`, `disk.lead: Auto`). A hard threshold is met before it is crossed while the time left
  is shorter than an eviction takes on this node, at least a second; of a disk the collection before it comes on top. A slow
  fill is never acted on early: at 50 MiB/s the time falls below one second only when 50 MiB are left.
* Freeze, off by default (`disk.freeze: Auto`). A pod that leaves a disk less than `FREEZE_WITHIN` is frozen before it is asked to
  stop, so that it writes nothing more, and thawed `THAWED_TIME` before the end of its grace, in which it can handle SIGTERM. So
  it keeps its grace where the disk lasts for that time and a stop, and not only where it lasts for the whole second.

On a disk that does not last for that, no eviction waits for the collectors either (`standard`).
"""

from collections.abc import Mapping
from dataclasses import replace

from evictd.core.model.config import EvictionConfig, FastFill, Policy
from evictd.core.model.decision import EvictPod
from evictd.core.model.observation import SignalObservation
from evictd.core.model.signal import MEMORY_SIGNALS, SIGNALS, Resource, Signal
from evictd.core.model.threshold import Threshold, is_met, limit_of
from evictd.core.units.duration import MILLISECOND, SECOND
from evictd.core.units.quantity import NANO, Quantity

STOP_TIME = 500 * MILLISECOND
"""The least that a stop is taken to need beyond its grace, until the memory is free: ten times what a calm node needs."""
LONGEST_STOP_TIME = 10 * SECOND
"""The most: one stop that hung for minutes must not take the grace from pods that fill slowly."""
RATE_AGE = STOP_TIME
"""Nanoseconds by which an eviction begins earlier, because the measured rate is slightly old."""
LONGEST_COLLECT_TIME = 10 * SECOND
"""The most that a collection is taken to need: one that removed a hundred images must not make evictd act minutes early."""
FREEZE_WITHIN = 2 * SECOND
"""A pod is frozen on a disk that lasts less than this."""
THAWED_TIME = 200 * MILLISECOND
"""How long a frozen pod has at the end of its grace to handle SIGTERM: a process that heeds it needs some milliseconds."""

SHORTEST = 100 * MILLISECOND
"""The least time between two readings of a disk, and between two looks at a victim's grace."""
LEAST_RATE: Mapping[Resource, int] = {Resource.EPHEMERAL_STORAGE: 1 << 30, Resource.INODES: 100_000}
"""The least rate that is assumed, in units per second: more than most disks take, and the inodes that two cores create. The first
fill of a disk that was calm is noticed late if it is faster."""


def time_left(seen: SignalObservation) -> int | None:
    """Return the nanoseconds until nothing is left at the measured rate; `None`: not measured, or not falling."""
    if seen.fill_rate is None or seen.fill_rate <= 0:
        return None
    return max(seen.available.value(), 0) * SECOND // seen.fill_rate


def stop_time(measured: int | None) -> int:
    """Return the nanoseconds that a stop takes beyond its grace: as measured here (`NodeStats.stop_time`), within bounds."""
    return min(max(measured or 0, STOP_TIME), LONGEST_STOP_TIME)


def next_look(left: int) -> int:
    """Return the nanoseconds until a victim's grace is compared again with the time left, which falls faster than a clock."""
    return max(left // 4, SHORTEST)


def fit_grace(eviction: EvictPod, threshold: Threshold, seen: SignalObservation, config: EvictionConfig) -> EvictPod:
    """Remove the grace period of a hard eviction if the resource would run out before it ends; its cause gets rate and time left.

    With `disk.freeze` the pod is frozen for most of its grace instead, where that suffices.

    A soft threshold's victim keeps its grace: when it does not suffice, a hard threshold shortens it.
    """
    left = time_left(seen)
    if config.policy is not Policy.STANDARD or not threshold.hard or left is None:
        return eviction
    stop = stop_time(seen.stop_time)
    freeze = _may_be_frozen(eviction, threshold, config) and THAWED_TIME + stop <= left < FREEZE_WITHIN
    shorter = not freeze and eviction.grace_period_seconds * SECOND + stop > left
    return replace(
        eviction,
        freeze=freeze,
        grace_period_seconds=0 if shorter else eviction.grace_period_seconds,
        because=replace(eviction.because, fill_rate=seen.fill_rate, time_left=left, fitted=shorter),
    )


def _may_be_frozen(eviction: EvictPod, threshold: Threshold, config: EvictionConfig) -> bool:
    """Whether a pod may be frozen. One without grace is killed at once, and one that came under protection is not touched."""
    if config.disk_freeze is not FastFill.AUTO or SIGNALS[threshold.signal].filesystem is None:
        return False
    return eviction.grace_period_seconds > 0 and not config.protects(eviction.pod)


def lead_time(measured: int | None, collect_time: int | None) -> int:
    """Return the nanoseconds that an eviction takes, from the measured times of stops, and on a disk of collections."""
    return stop_time(measured) + RATE_AGE + min(collect_time or 0, LONGEST_COLLECT_TIME)


def is_pressing(threshold: Threshold, seen: SignalObservation) -> bool:
    """Whether the resource of a hard threshold will run out before an eviction can finish."""
    left = time_left(seen)
    return threshold.hard and left is not None and left < lead_time(seen.stop_time, seen.collect_time)


def is_led(threshold: Threshold, seen: SignalObservation, config: EvictionConfig) -> bool:
    """Whether this threshold is not crossed yet, and has to be acted on all the same."""
    return may_be_led(threshold.signal, config) and is_pressing(threshold, seen) and not is_met(threshold, seen)


def missing_to_target(threshold: Threshold, seen: SignalObservation, config: EvictionConfig) -> int:
    """Return how much is missing to the amount from which this threshold is relieved, the minimum reclaim included."""
    return (target_of(threshold, seen, config, with_min_reclaim=True) - seen.available).value()


def may_be_led(signal: Signal, config: EvictionConfig) -> bool:
    """Whether a hard threshold of this signal is acted on before it is crossed (`memory.lead`, `disk.lead`)."""
    if config.policy is not Policy.STANDARD:
        return False
    if SIGNALS[signal].filesystem is not None:
        return config.disk_lead is FastFill.AUTO
    return signal in MEMORY_SIGNALS and config.memory_lead is FastFill.AUTO


def led_limit(fill_rate: int, measured: int | None = None, collect_time: int | None = None) -> int:
    """Return the available amount below which evictd acts early at this rate, in units and units per second."""
    return max(fill_rate, 0) * lead_time(measured, collect_time) // SECOND


def grace_limit(fill_rate: int, grace_seconds: int, measured: int | None) -> int:
    """Return the available amount from which a hard eviction keeps its grace period at this rate (`fit_grace`)."""
    return max(fill_rate, 0) * (grace_seconds * SECOND + stop_time(measured)) // SECOND


def target_of(
    threshold: Threshold, seen: SignalObservation, config: EvictionConfig, *, with_min_reclaim: bool
) -> Quantity:
    """Return the amount from which this threshold is relieved: its limit, or the higher limit while `memory.lead` applies."""
    limit = limit_of(threshold, seen, with_min_reclaim=with_min_reclaim)
    if seen.fill_rate is None or not is_led(threshold, seen, config):
        return limit
    return max(limit, Quantity(led_limit(seen.fill_rate, seen.stop_time, seen.collect_time) * NANO, limit.format))


def until_next_reading(distance: int, rate: int, longest: int) -> int:
    """Return the nanoseconds until a disk is read again between two cycles: when it could be short at this rate, within bounds.

    `distance` is what is left to the limit, in the units of the rate. The daemon's watch of disks
    (`observe.threshold_watch.disk_watch`) and that of a world (`world.watch`) obey it.
    """
    return max(SHORTEST, min(longest, max(distance, 0) * SECOND // rate))
