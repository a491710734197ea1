"""When what a pod held is free again after its end, and how long it is waited for.

Memory and PIDs are free with the last process. Bytes and inodes are free when the volumes are removed as well, and so is memory
with a volume in it. The kubelet removes them a second or two after the end; while it is away they stay, and are seen
(`Observation.removed_pods`).
"""

from dataclasses import replace

from evictd.core.model.observation import Observation
from evictd.core.model.signal import SIGNALS, STALLS, Signal
from evictd.core.model.state import Victim
from evictd.core.units.duration import SECOND

POD_CLEANUP_TIMEOUT = 30 * SECOND
"""`podCleanupTimeout`: how long the kubelet waits for the volumes of a pod that it evicted. While they are seen, evictd waits as
long for those of a pod that has ended: a kubelet that restarts, or whose clean-up failed, removes them ten to fifteen seconds
later (`backOffPeriod`)."""
RELEASE_TIMEOUT = 10 * SECOND
"""How long evictd waits for the bytes of a victim: ext4 and overlayfs show them within seconds of the last close, and a kubelet
unmounts a volume in memory within seconds of the last process."""
STALL_WINDOWS = 2
"""How many averaging windows to wait for a stall to fall after its victim is gone: it is at a seventh (e^-2) by then."""


def supply_released_at(victim: Victim, supply: Signal) -> int | None:
    """Return when a victim let go of a supply; None before.

    Bytes and inodes are free when its volumes are removed as well, and so is memory if a volume is there. Everything else is
    free with its last process.
    """
    if victim.stopped_at is None or is_held_by_volumes(victim, supply):
        return victim.gone_at
    return victim.stopped_at if victim.gone_at is None else min(victim.gone_at, victim.stopped_at)


def release_timeout(victim: Victim, supply: Signal) -> int:
    """Return the nanoseconds for which what a victim owes is waited for after its end."""
    if supply in STALLS:
        return STALL_WINDOWS * STALLS[supply].average * SECOND
    return RELEASE_TIMEOUT if is_held_by_volumes(victim, supply) else 0


def released_by(victim: Victim, supply: Signal, released_at: int) -> int:
    """Return until when what a victim owes is waited for; `released_at`: when it let go of the supply.

    Volumes that are still seen on nodefs after that have not given back anything yet.
    """
    if victim.volumes_at is not None and SIGNALS[supply].filesystem is not None:
        released_at = max(released_at, victim.volumes_at)
    return released_at + release_timeout(victim, supply)


def is_awaited(victim: Victim, supply: Signal, now: int, *, pressing: bool) -> bool:
    """Whether what a victim owes is waited for; `pressing`: the supply runs out before another eviction can finish.

    Then a volume in memory is not, after the end of its pod. On a disk the rate is the victim's, so its bytes are, but not for as
    long as its kubelet may need.
    """
    released_at = supply_released_at(victim, supply)
    if released_at is None or not pressing:
        return True
    return SIGNALS[supply].filesystem is not None and now - released_at < RELEASE_TIMEOUT


def with_volumes(victim: Victim, observation: Observation, now: int) -> Victim:
    """Return a victim that has ended with the time at which a volume of it was last seen, within `POD_CLEANUP_TIMEOUT` in all."""
    removed = observation.removed_pods.get(victim.uid)
    if victim.gone_at is None or removed is None or not removed.has_volumes:
        return victim
    return victim if now - victim.gone_at >= POD_CLEANUP_TIMEOUT - RELEASE_TIMEOUT else replace(victim, volumes_at=now)


def is_held_by_volumes(victim: Victim, supply: Signal) -> bool:
    """Whether some of a supply stays used until a victim's volumes are removed: of a disk, or of memory with a volume in it."""
    in_memory = supply is Signal.MEMORY_AVAILABLE and victim.has_volumes_in_memory
    return SIGNALS[supply].filesystem is not None or in_memory
