"""What has been set going, and what of it is still to come?

Victims take their grace period to stop, and a filesystem gives bytes back some time after they were freed. The kubelet waits for
a victim with the whole loop standing still, and not at all for its bytes. Policy Standard keeps looking: while a victim is in
flight nobody else goes, a hard threshold shortens its grace, and bytes that are due are waited for up to a bound (kubernetes
issues 123872, 127864).
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace

from evictd.core.decision import EvictPod
from evictd.core.duration import SECOND
from evictd.core.grace import IMMEDIATE_EVICTION_GRACE_PERIOD_SECONDS
from evictd.core.observation import Observation, ReclaimOutcome, SignalObservation
from evictd.core.signal import SIGNAL_TO_FILESYSTEM, SIGNAL_TO_RESOURCE, Resource, Signal
from evictd.core.state import Release
from evictd.core.threshold import Threshold

POD_CLEANUP_POLL = 1 * SECOND
"""`podCleanupPollFreq`."""
POD_CLEANUP_TIMEOUT = 30 * SECOND
"""`podCleanupTimeout`."""
POD_KILL_TIMEOUT = 10 * SECOND
"""The least the kubelet waits for a kill; otherwise one and a half times the grace period."""
RECLAIM_TIMEOUT = 60 * SECOND
"""How long collectors may keep a pod eviction waiting (policy Standard)."""
RELEASE_TIMEOUT = 10 * SECOND
"""How long bytes that are due keep another pod alive (policy Standard)."""
COLLECTION_TIMEOUT = 2 * SECOND
"""How long the bytes of a collection may take: a runtime needs half a second, and whoever fills the disk goes on meanwhile."""


def victim_until(grace_period_seconds: int, now: int) -> int:
    """Give the time when waiting for a victim ends: the kill's own bound and the clean-up's."""
    grace = max(grace_period_seconds, 0)
    return now + max(POD_KILL_TIMEOUT, (grace + grace // 2) * SECOND) + POD_CLEANUP_TIMEOUT


def release_of_victim(
    eviction: EvictPod, observations: Mapping[Signal, SignalObservation], expected: int | None, now: int
) -> Release:
    """Note a victim and what its end should give back."""
    signal = eviction.because.threshold.signal if eviction.because.threshold is not None else None
    observation = observations.get(signal) if signal is not None else None
    return Release(
        uid=eviction.pod.uid,
        full_name=eviction.pod.full_name,
        signal=signal,
        grace_period_seconds=eviction.grace_period_seconds,
        until=victim_until(eviction.grace_period_seconds, now),
        available_before=None if observation is None else observation.available.value(),
        expected=expected,
    )


def release_of_reclaim(
    threshold: Threshold, before: SignalObservation | None, outcomes: Iterable[ReclaimOutcome], now: int
) -> Release:
    """Note a collection that has ended and what it says it freed; inodes are not counted by any collector."""
    in_bytes = SIGNAL_TO_RESOURCE[threshold.signal] is not Resource.INODES
    return Release(
        full_name="node-level reclaim",
        signal=threshold.signal,
        available_before=None if before is None else before.available.value(),
        expected=sum(outcome.freed_bytes for outcome in outcomes) if in_bytes else None,
        gone_at=now,
        collected=True,
    )


def follow(
    releases: tuple[Release, ...],
    observation: Observation,
    observations: Mapping[Signal, SignalObservation],
    now: int,
) -> tuple[Release, ...]:
    """Mark those gone since, and drop those that have come through or have had their time."""
    if not releases:
        return ()
    active = {pod.uid for pod in observation.pods}
    marked = (
        replace(release, gone_at=now)
        if release.gone_at is None and release.uid in observation.outcomes.cleaned_up
        else release
        for release in releases
    )
    return tuple(release for release in marked if _is_open(release, observations, active, now))


def _is_open(release: Release, observations: Mapping[Signal, SignalObservation], active: set[str], now: int) -> bool:
    if release.gone_at is None:
        return now < release.until or release.uid in active
    bound = RELEASE_TIMEOUT if release.uid else COLLECTION_TIMEOUT
    if now - release.gone_at >= bound or release.signal not in SIGNAL_TO_FILESYSTEM:
        return False  # memory and PIDs are back with the last process
    observation = observations.get(release.signal)
    if observation is None or not release.expected or release.available_before is None:
        return False  # nothing is known to be due
    return observation.available.value() < release.available_before + release.expected


def collected(releases: Iterable[Release]) -> tuple[Release, ...]:
    """Note that collectors have been over what the victims that are gone left behind."""
    return tuple(replace(release, collected=True) if release.gone_at is not None else release for release in releases)


def in_flight(releases: Iterable[Release], now: int) -> tuple[Release, ...]:
    """Pick the victims that are not gone yet and still within their time."""
    return tuple(release for release in releases if release.gone_at is None and now < release.until)


def still_due(releases: Iterable[Release], threshold: Threshold) -> tuple[Release, ...]:
    """Pick what should still come back to this threshold's filesystem."""
    filesystem = SIGNAL_TO_FILESYSTEM.get(threshold.signal)
    return tuple(
        release
        for release in releases
        if release.gone_at is not None
        and release.signal is not None
        and filesystem is not None
        and SIGNAL_TO_FILESYSTEM.get(release.signal) is filesystem
    )


def shortened(releases: Iterable[Release], now: int) -> tuple[Release, ...]:
    """Give every victim in flight the grace of a hard threshold at the most."""
    least = IMMEDIATE_EVICTION_GRACE_PERIOD_SECONDS
    return tuple(
        replace(release, grace_period_seconds=least, until=victim_until(least, now))
        if release.gone_at is None and release.grace_period_seconds > least
        else release
        for release in releases
    )
