"""Updates Standard's ledger of collections, and reports what collections that are switched off would have freed.

A device is collected once until none of its thresholds is due. A victim that is gone leaves dead containers and images, so it
allows another round everywhere (docs/laws.md, fault 2); one over a limit of its own does so only within `OWN_LIMITS_TIMEOUT`. A
collection at work is always kept, so that its deadline stays (fault 21).
"""

from collections.abc import Iterable, Mapping, Sequence

from evictd.core.eviction.ledger import OWN_LIMITS_TIMEOUT, devices_of, follow_collections, is_under_way
from evictd.core.eviction.reclaim import Layout, device_of
from evictd.core.model.decision import ReclaimWouldHelp
from evictd.core.model.observation import Outcomes
from evictd.core.model.signal import SIGNALS, Filesystem, Resource, Signal
from evictd.core.model.state import Collection, State, Victim
from evictd.core.model.threshold import Threshold


def due_since(threshold: Threshold, state: State) -> int:
    """Return when the grace period of a met threshold ended."""
    return state.thresholds_first_observed_at[threshold] + threshold.grace_period


def kept_collections(
    state: State, gone: Sequence[Victim], outcomes: Outcomes, read: Iterable[Signal], *, layout: Layout, now: int
) -> Mapping[Filesystem, Collection]:
    """Return the collections that prevent another one of their device; `gone` are the victims whose end was seen now."""
    if not state.collections:
        return state.collections
    for_pressure = any(victim.cause is not None for victim in gone)
    met, seen = state.thresholds_met, devices_of(read, layout)
    short = devices_of((each.signal for each in met), layout)
    lasting = (each.signal for each in met if now - due_since(each, state) >= OWN_LIMITS_TIMEOUT)
    long_short = devices_of(lasting, layout)
    return {
        device: collection
        for device, collection in follow_collections(state.collections, outcomes, layout, now).items()
        if is_under_way(collection, now)
        or not (for_pressure or (gone and device not in long_short) or (device in seen and device not in short))
    }


def unused_reclaim(
    threshold: Threshold, outcomes: Outcomes, missing: int, layout: Layout
) -> tuple[ReclaimWouldHelp, ...]:
    """Return a finding for each action that is switched off and would have freed bytes on the device that is short of them."""
    device = device_of(threshold.signal, layout)
    if device is None or SIGNALS[threshold.signal].resource is not Resource.EPHEMERAL_STORAGE:
        return ()
    return tuple(
        ReclaimWouldHelp(threshold=threshold, action=each.action, size=each.unused_bytes, missing=missing)
        for each in outcomes.reclaimed or ()
        if each.device is device and each.unused_bytes
    )
