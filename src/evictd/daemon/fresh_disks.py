"""Has everybody been measured since the disk ran short?

Walks of pods' volumes are made in the background and only while a filesystem is not calm, so at the moment of a
crossing the one who filled it may not be known yet, and an innocent pod would rank first. Policy Standard decides on
fresh numbers alone: a disk's reading counts as new, and collectors as done, once every pod was walked since. Within a
bound; then what is known counts.
"""

from collections.abc import Collection, Mapping
from dataclasses import replace

from evictd.core.config import EvictionConfig, Policy
from evictd.core.decision import Finding, ThresholdFinding
from evictd.core.duration import SECOND
from evictd.core.observation import Filesystems, Observation, SignalObservation, signal_observations
from evictd.core.pod import Pod
from evictd.core.reclaim import layout_of, node_reclaim_actions
from evictd.core.release import RECLAIM_TIMEOUT
from evictd.core.signal import SIGNAL_TO_FILESYSTEM, Filesystem, Signal
from evictd.core.state import Reclaiming, State
from evictd.core.stats import FsStats, PodStats
from evictd.core.threshold import Threshold, thresholds_met

LONGEST = 30 * SECOND
"""How long walks may hold up a decision, in nanoseconds."""

_NEAR_PART = 10
"""A filesystem is not calm once it is within a tenth of its capacity of a threshold."""


def not_calm(findings: Collection[Finding], state: State) -> Collection[Filesystem]:
    """Say for which filesystems pods should be measured: all if any is near a threshold, since pods fill them together.

    Also all while collectors are at work: what follows may be a choice among pods.
    """
    tested = [f for f in findings if isinstance(f, ThresholdFinding) and f.threshold.signal in SIGNAL_TO_FILESYSTEM]
    if not findings or isinstance(state.phase, Reclaiming):
        return frozenset(Filesystem)
    near = any(
        finding.available.value() <= finding.limit.value() + finding.capacity.value() // _NEAR_PART
        for finding in tested
    )
    return frozenset(Filesystem) if near else frozenset()


def hold_for_walks(observation: Observation, state: State, config: EvictionConfig, now: int) -> Observation:
    """Give the observation as it may be decided on; the same object where nothing has to be held back."""
    if config.policy is not Policy.STANDARD or observation.node is None:
        return observation
    phase = state.phase
    if isinstance(phase, Reclaiming):
        began = phase.until - RECLAIM_TIMEOUT
        if observation.outcomes.reclaimed is None or _all_walked(observation, began) or now - began >= LONGEST:
            return observation
        return replace(observation, outcomes=replace(observation.outcomes, reclaimed=None))
    since = _short_since(observation, state, config, now)
    if since is None or now - since >= LONGEST or _all_walked(observation, since):
        return observation
    last = state.last_observations
    node = observation.node
    node = replace(
        node,
        fs=_as_of(node.fs, last, Signal.NODEFS_AVAILABLE, since),
        image_fs=_as_of(node.image_fs, last, Signal.IMAGEFS_AVAILABLE, since),
        container_fs=_as_of(node.container_fs, last, Signal.CONTAINERFS_AVAILABLE, since),
    )
    return replace(observation, node=node)


def _short_since(observation: Observation, state: State, config: EvictionConfig, now: int) -> int | None:
    """Give since when a disk threshold is met for which there is nothing to collect first; `None` if there is none."""
    if observation.node is None:
        return None
    met = [
        threshold
        for threshold in thresholds_met(config.thresholds, signal_observations(observation.node))
        if threshold.signal in SIGNAL_TO_FILESYSTEM and not _collects_first(threshold, observation.filesystems, config)
    ]
    known = {threshold.identity: at for threshold, at in state.thresholds_first_observed_at.items()}
    return min((known.get(threshold.identity, now) for threshold in met), default=None)


def _collects_first(threshold: Threshold, filesystems: Filesystems, config: EvictionConfig) -> bool:
    return bool(node_reclaim_actions(threshold.signal, layout_of(filesystems), config))


def _all_walked(observation: Observation, since: int) -> bool:
    return all(_walked(pod, observation.pod_stats.get(pod.uid), since) for pod in observation.pods)


def _walked(pod: Pod, stats: PodStats | None, since: int) -> bool:
    # A pod without stats has nothing running yet, or nobody can tell; waiting would not help.
    return stats is None or not pod.spec_known or (stats.disk_time is not None and stats.disk_time >= since)


def _as_of(
    fs: FsStats | None, last: Mapping[Signal, SignalObservation], signal: Signal, otherwise: int
) -> FsStats | None:
    """Stamp a reading with the time of the last one, which makes it no news."""
    if fs is None:
        return None
    before = last.get(signal)
    return replace(fs, time=otherwise if before is None else before.time)
