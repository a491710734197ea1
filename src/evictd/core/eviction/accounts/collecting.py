"""Updates Standard's ledger of collections, and reports what collections that are switched off would have freed.

A device is collected once until none of its thresholds is due. A victim that is gone leaves dead containers and images, so it
allows another round everywhere (docs/faults.md, 2); one over a limit of its own does so only within `OWN_LIMITS_TIMEOUT`. A
collection at work is always kept, so that its deadline stays (fault 21), but its collectors may have listed the containers before
the victim of this device ended: once it has ended it rules out no other one. The same holds while removed pods are awaited: a pod
that was deleted by force leaves its dead container, with the layer, after the crossing.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from evictd.core.eviction.accounts.freshness import waiting_for_measurement
from evictd.core.eviction.accounts.holdings import HALF, grows_elsewhere
from evictd.core.eviction.accounts.ledger import OWN_LIMITS_TIMEOUT, bytes_of, supply_of
from evictd.core.eviction.reclaim import Layout, device_of, freed_bytes
from evictd.core.model.finding import ReclaimWouldHelp
from evictd.core.model.observation import Observation, Outcomes, ReclaimOutcome
from evictd.core.model.signal import SIGNALS, Filesystem, Resource, Signal
from evictd.core.model.state import Collection, Reclaiming, State, Victim
from evictd.core.model.threshold import Threshold
from evictd.core.units.duration import MINUTE, SECOND

COLLECT_AGAIN = 10 * MINUTE
"""Time after which a device that stays short is collected again: the kubelet's image garbage collection
runs every five minutes, and what has become unused since needs its minimum age."""
COLLECTION_TIMEOUT = 2 * SECOND
"""How long evictd waits for the bytes of a collection: a runtime needs half a second, and a writer goes on meanwhile."""
UNMEASURED_TIMEOUT = 1 * SECOND
"""How long evictd waits for the inodes of a collection, and for bytes that were not measured, as of a layer whose container has
just ended. No reading shows the last of them: containerd deletes the files of a removed container 100 ms after its answer."""
RECLAIM_TIMEOUT = 60 * SECOND
"""How long collectors may hold up an eviction: a runtime that removes hundreds of images takes most of a minute."""


def follow_collections(
    collections: Mapping[Filesystem, Collection], outcomes: Outcomes, layout: Layout, now: int
) -> dict[Filesystem, Collection]:
    """Note which collections have ended and what they freed on their device."""
    return {
        device: _ended(device, collection, outcomes, layout, now) if collection.ended_at is None else collection
        for device, collection in collections.items()
    }


def _ended(device: Filesystem, collection: Collection, outcomes: Outcomes, layout: Layout, now: int) -> Collection:
    if outcomes.reclaimed is None:
        return collection
    own = tuple(outcome for outcome in outcomes.reclaimed if outcome.device in {device, None})
    if not own and outcomes.reclaimed:
        return collection  # those of other devices
    freed = freed_bytes(own, bytes_of(device), layout)
    return replace(collection, ended_at=now, freed=freed, removed=sum(outcome.removed for outcome in own))


def is_lost(device: Filesystem, collection: Collection, outcomes: Outcomes, now: int) -> bool:
    """Whether no collector knows of a collection that was decided: the daemon was restarted, or it could not be begun.

    One that was decided in this cycle, for another threshold of the same device, is not known to the collectors yet.
    """
    unknown = outcomes.collecting is not None and device not in outcomes.collecting
    return unknown and collection.ended_at is None and collection.begun < now


def ended_reclaims(before: State, after: State, outcomes: Outcomes) -> tuple[ReclaimOutcome, ...]:
    """Return the outcomes of the collections that ended in the step from one state to the other, each once, for the metrics."""
    found = tuple(outcome for outcome in outcomes.reclaimed or () if outcome.unused_bytes is None)
    if isinstance(before.phase, Reclaiming):
        return () if isinstance(after.phase, Reclaiming) else found
    waited = before.collecting
    return tuple(outcome for outcome in found if waited and outcome.device in {*waited, None})


def may_collect_again(collection: Collection, supply: Signal, now: int, *, removing: bool) -> bool:
    """Whether a device is collected anew: it was never tried for this supply, or long ago.

    A device that is short for hours gathers new dead containers and unused images. Collectors that hang are not asked at once.
    `removing`: removed pods still hold something. What counts as tried for nothing because of them is tried after them.
    """
    if collection.is_under_way(now):
        return False
    awaits_pods = removing and not collection.tried
    untried = collection.ended_at is not None and supply not in collection.tried and not awaits_pods
    return untried or now - collection.begun >= COLLECT_AGAIN


def still_frees(
    collection: Collection | None, signal: Signal, available: int | None, *, presses: bool, now: int
) -> bool:
    """Whether what collectors freed may not show yet, within a bound: known bytes until they do, others unless time `presses`."""
    if collection is None or collection.ended_at is None:
        return False
    since = now - collection.ended_at
    match SIGNALS[signal].resource:
        case Resource.EPHEMERAL_STORAGE:
            before = collection.available_before
            if collection.freed == 0:
                return collection.removed > 0 and since < UNMEASURED_TIMEOUT and not presses
            shown = available is not None and before is not None and available >= before + collection.freed
            return since < COLLECTION_TIMEOUT and not shown
        case Resource.INODES:
            return collection.removed > 0 and since < UNMEASURED_TIMEOUT and not presses
        case _:
            return False


def is_late(victim: Victim, threshold: Threshold, state: State) -> bool:
    """Whether a victim over a limit of its own was chosen too late to hold this threshold up."""
    return victim.cause is None and victim.since >= due_since(threshold, state) + OWN_LIMITS_TIMEOUT


def due_since(threshold: Threshold, state: State) -> int:
    """Return when the grace period of a met threshold ended."""
    return state.thresholds_first_observed_at[threshold] + threshold.grace_period


def kept_collections(
    state: State, gone: Sequence[Victim], outcomes: Outcomes, read: Iterable[Signal], *, layout: Layout, now: int
) -> Mapping[Filesystem, Collection]:
    """Return the collections that rule out another one on their device; `gone` are the victims first seen gone now."""
    if not state.collections:
        return state.collections
    for_pressure = any(victim.cause is not None for victim in gone)
    met, seen = state.thresholds_met, devices_of(read, layout)
    short = devices_of((each.signal for each in met), layout)
    lasting = (each.signal for each in met if now - due_since(each, state) >= OWN_LIMITS_TIMEOUT)
    long_short = devices_of(lasting, layout)
    left = devices_of((victim.cause for victim in gone if victim.cause is not None), layout)
    kept: dict[Filesystem, Collection] = {}
    for device, collection in follow_collections(state.collections, outcomes, layout, now).items():
        if collection.is_under_way(now):
            kept[device] = replace(collection, tried=frozenset()) if device in left else collection
        elif not (for_pressure or (gone and device not in long_short) or (device in seen and device not in short)):
            kept[device] = collection
    return kept


def without_tried(collections: Mapping[Filesystem, Collection], device: Filesystem) -> Mapping[Filesystem, Collection]:
    """Return the collections, of which that of a device counts as tried for nothing."""
    known = collections.get(device)
    return collections if known is None else {**collections, device: replace(known, tried=frozenset())}


def devices_of(signals: Iterable[Signal], layout: Layout) -> frozenset[Filesystem]:
    """Return the devices that these signals observe."""
    found = (device_of(signal, layout) for signal in signals)
    return frozenset(device for device in found if device is not None)


def unused_reclaim(
    threshold: Threshold, outcomes: Outcomes, missing: int, layout: Layout
) -> tuple[ReclaimWouldHelp, ...]:
    """Return a finding for each disabled action that would have freed bytes on the short device."""
    device = device_of(threshold.signal, layout)
    if device is None or SIGNALS[threshold.signal].resource is not Resource.EPHEMERAL_STORAGE:
        return ()
    return tuple(
        ReclaimWouldHelp(threshold=threshold, action=each.action, size=each.unused_bytes, missing=missing)
        for each in outcomes.reclaimed or ()
        if each.device is device and each.unused_bytes
    )


def outruns_collectors(
    threshold: Threshold, state: State, observation: Observation, layout: Layout, *, missing: int, now: int
) -> bool:
    """Whether the end of a pod may relieve the disk sooner than its collectors; also while this is not known.

    A disk that is full before its collectors have ended is that of a pod that writes fast, and the sooner the pod ends, the more
    is left. But an image that is pulled, or a file of the host, fills a disk as fast: a pod that went then would be lost although
    the collection suffices.

    Not where all pods together hold less than is missing, nor where what fills the disk belongs to no pod. The growth of pods
    that were first measured lately is not known, and until all are measured none is chosen anyway.
    """
    holdings = state.holdings.get(supply_of(threshold.signal, layout))
    if holdings is None or len(holdings.used) < len(observation.pods):
        return True
    if waiting_for_measurement(threshold, state, observation, layout, now) is not None:
        return True
    if sum(holdings.used.values()) < missing:
        return False
    is_known = now - holdings.since >= HALF and not holdings.arrived
    return not (is_known and grows_elsewhere(holdings))
