"""The entries of Standard's ledger: victims in flight with what each owes, and one collection for each device that is short.

What is owed is kept by *supply*: memory, PIDs, and the bytes and inodes of each device. Signals that observe the same supply
share what is owed to it: with one disk, nodefs and imagefs are the same bytes. Only queries and new values here; `standard`
decides.
"""

from collections.abc import Collection as SomeOf
from collections.abc import Iterable, Mapping
from dataclasses import replace

from evictd.core.eviction.backoff import owner_of, siblings
from evictd.core.eviction.rank import usage_meter
from evictd.core.eviction.reclaim import DEVICES, Layout, device_of, freed_bytes
from evictd.core.model.decision import EvictPod
from evictd.core.model.observation import Observation, Outcomes, ReclaimOutcome, SignalObservation
from evictd.core.model.signal import MEMORY_SIGNALS, SIGNAL_TO_FILESYSTEM, STALLS, Filesystem, Signal
from evictd.core.model.state import Collection, Reclaiming, State, Victim
from evictd.core.model.volume import IN_MEMORY
from evictd.core.units.duration import SECOND

POD_CLEANUP_TIMEOUT = 30 * SECOND
"""`podCleanupTimeout`."""
POD_KILL_TIMEOUT = 10 * SECOND
"""The least the kubelet waits for a kill; otherwise one and a half times the grace period."""
RECLAIM_TIMEOUT = 60 * SECOND
"""How long collectors may hold up an eviction: a runtime that removes hundreds of images takes most of a minute."""
RELEASE_TIMEOUT = 10 * SECOND
"""How long bytes that a victim owes are waited for: ext4 and overlayfs show them within seconds of the last close, and a kubelet
unmounts a volume in memory within seconds of the last process."""
OWN_LIMITS_TIMEOUT = 60 * SECOND
"""How long pods over limits of their own may hold up a threshold that is due: they may come one after another, for ever."""
STALL_WINDOWS = 2
"""For so many windows of its average a stall is waited to fall after a victim is gone: it is at a seventh (e^-2) by then."""
COLLECTION_TIMEOUT = 2 * SECOND
"""How long the bytes of a collection are waited for: a runtime needs half a second, and a writer goes on meanwhile."""

_SUPPLIES = {
    Filesystem.NODEFS: (Signal.NODEFS_AVAILABLE, Signal.NODEFS_INODES_FREE),
    Filesystem.IMAGEFS: (Signal.IMAGEFS_AVAILABLE, Signal.IMAGEFS_INODES_FREE),
}
"""Device to the signals that stand for its bytes and its inodes."""
_INODES = {Signal.NODEFS_INODES_FREE, Signal.IMAGEFS_INODES_FREE, Signal.CONTAINERFS_INODES_FREE}


def _supply(signal: Signal, layout: Layout) -> Signal:
    if signal in MEMORY_SIGNALS:
        return Signal.MEMORY_AVAILABLE
    if signal not in SIGNAL_TO_FILESYSTEM:
        return signal
    return _SUPPLIES[DEVICES[layout][SIGNAL_TO_FILESYSTEM[signal]]][signal in _INODES]


_SUPPLY_OF = {layout: {signal: _supply(signal, layout) for signal in Signal} for layout in Layout}


def supply_of(signal: Signal, layout: Layout) -> Signal:
    """Give the signal that stands for all that observe the same supply."""
    return _SUPPLY_OF[layout][signal]


def supplies(layout: Layout) -> tuple[Signal, ...]:
    """List the supplies of a node whose amounts a pod is measured to use; how much of a stall it causes is not known."""
    return tuple(dict.fromkeys(supply for supply in _SUPPLY_OF[layout].values() if supply not in STALLS))


def bytes_of(device: Filesystem) -> Signal:
    """Give the supply that stands for the bytes of a device."""
    return _SUPPLIES[device][0]


def available_supplies(observations: Mapping[Signal, SignalObservation], layout: Layout) -> dict[Signal, int]:
    """Give what is available of each supply that was read."""
    supply = _SUPPLY_OF[layout]
    return {supply[signal]: observation.available.value() for signal, observation in observations.items()}


# --- victims ----------------------------------------------------------------------------------------------------------


def victim_until(grace_period_seconds: int, now: int) -> int:
    """Give the time when waiting for a victim ends: the kill's own bound and the clean-up's."""
    grace = max(grace_period_seconds, 0)
    return now + max(POD_KILL_TIMEOUT, (grace + grace // 2) * SECOND) + POD_CLEANUP_TIMEOUT


def victim_of(
    eviction: EvictPod,
    observation: Observation,
    available: Mapping[Signal, int],
    layout: Layout,
    now: int,
) -> Victim:
    """Note a victim and what its end should give back, of every supply that it was measured for; `available` is by supply."""
    pod, stats = eviction.pod, observation.pod_stats.get(eviction.pod.uid)
    used = {} if stats is None else {supply: usage_meter(supply, layout)(pod, stats) for supply in supplies(layout)}
    threshold = eviction.because.threshold
    return Victim(
        uid=pod.uid,
        full_name=pod.full_name,
        owner=owner_of(pod),
        siblings=siblings(owner_of(pod), observation),
        cause=None if threshold is None else supply_of(threshold.signal, layout),
        since=now,
        grace_period_seconds=eviction.grace_period_seconds,
        until=victim_until(eviction.grace_period_seconds, now),
        owed={supply: amount for supply, amount in used.items() if amount is not None},
        available_before=available,
        has_volumes_in_memory=any(volume.medium == IN_MEMORY for volume in pod.volumes),
        message=eviction.message,
        condition=eviction.condition,
    )


def is_leaving(victim: Victim, now: int) -> bool:
    """Whether it is not gone yet, and still within its time."""
    return victim.gone_at is None and now < victim.until


def is_overdue(victim: Victim, now: int) -> bool:
    """Whether it should have ended and lives on."""
    return victim.gone_at is None and now >= victim.until


def still_owed(victim: Victim, supply: Signal, available: int | None, now: int) -> int | None:
    """Give what of this supply is still to come from a victim; `None`: it owes an amount that is not known.

    An overdue victim owes nothing. Of one that is gone, PIDs are back with its last process, and so is memory unless it has a
    volume there; bytes and inodes are waited for within a bound, until what is available has risen by what it was measured to
    use. A stall is an average over the time before, so it shows what a victim's end has relieved only later.
    """
    timeout = _release_timeout(victim, supply)
    if is_overdue(victim, now) or (victim.gone_at is not None and now - victim.gone_at >= timeout):
        return 0
    owed = victim.owed.get(supply)
    if owed is None or victim.gone_at is None:
        return owed
    before = victim.available_before.get(supply)
    if before is None or available is None:
        return owed
    return min(max(before + owed - available, 0), owed)


def _release_timeout(victim: Victim, supply: Signal) -> int:
    if supply in STALLS:
        return STALL_WINDOWS * STALLS[supply].average * SECOND
    in_memory = supply is Signal.MEMORY_AVAILABLE and victim.has_volumes_in_memory
    return RELEASE_TIMEOUT if supply in SIGNAL_TO_FILESYSTEM or in_memory else 0


def follow_victims(
    victims: tuple[Victim, ...],
    observation: Observation,
    available: Mapping[Signal, int],
    relevant: SomeOf[Signal],
    now: int,
) -> tuple[Victim, ...]:
    """Mark those gone since, and drop those that owe nothing any more of the `relevant` supplies: those with a threshold.

    `available` is by supply.
    """
    active = {pod.uid for pod in observation.pods}
    gone = observation.outcomes.cleaned_up
    marked = (replace(v, gone_at=now) if v.gone_at is None and v.uid in gone else v for v in victims)
    return tuple(victim for victim in marked if _is_open(victim, available, active, relevant, now))


def _is_open(
    victim: Victim, available: Mapping[Signal, int], active: set[str], relevant: SomeOf[Signal], now: int
) -> bool:
    if victim.gone_at is None:
        # An overdue victim stays in the ledger as long as it is there, so that it is not chosen again.
        return now < victim.until or victim.uid in active
    return any(still_owed(victim, supply, available.get(supply), now) != 0 for supply in relevant)


def shortened(victim: Victim, grace_period_seconds: int, now: int) -> Victim:
    """Give a victim a shorter grace period from now on."""
    until = victim_until(grace_period_seconds, now)
    return replace(victim, since=now, grace_period_seconds=grace_period_seconds, until=until)


def can_shorten(victim: Victim, grace_period_seconds: int) -> bool:
    """Whether so much grace is less than it has."""
    return victim.gone_at is None and victim.grace_period_seconds > grace_period_seconds


# --- collections ------------------------------------------------------------------------------------------------------


def is_under_way(collection: Collection, now: int) -> bool:
    """Whether its collectors are waited for."""
    return collection.ended_at is None and now < collection.until


def collection_owes(collection: Collection, available: int | None, now: int) -> bool:
    """Whether bytes that its collectors freed have not shown yet, within the bound."""
    if collection.ended_at is None or now - collection.ended_at >= COLLECTION_TIMEOUT or not collection.freed:
        return False
    if available is None or collection.available_before is None:
        return True
    return available < collection.available_before + collection.freed


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
    return replace(collection, ended_at=now, freed=freed)


def is_lost(device: Filesystem, collection: Collection, outcomes: Outcomes, now: int) -> bool:
    """Whether no collector knows of a collection that was decided: the daemon was restarted, or it could not be begun.

    One that was decided in this cycle, for another threshold of the same device, is not known to the collectors yet.
    """
    unknown = outcomes.collecting is not None and device not in outcomes.collecting
    return unknown and collection.ended_at is None and collection.begun < now


def ended_reclaims(before: State, after: State, outcomes: Outcomes) -> tuple[ReclaimOutcome, ...]:
    """Give the outcomes of the collections that ended in the step from one state to the other, each once, for the metrics."""
    found = outcomes.reclaimed or ()
    if isinstance(before.phase, Reclaiming):
        return () if isinstance(after.phase, Reclaiming) else found
    waited = before.collecting
    return tuple(outcome for outcome in found if waited and outcome.device in {*waited, None})


def devices_of(signals: Iterable[Signal], layout: Layout) -> frozenset[Filesystem]:
    """Give the devices that these signals observe."""
    found = (device_of(signal, layout) for signal in signals)
    return frozenset(device for device in found if device is not None)
