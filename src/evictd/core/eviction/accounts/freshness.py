"""Holds a decision about a disk until every pod was measured since the disk ran short (policy Standard).

Pods' volumes are walked in the background, and only while a filesystem is near a threshold; the runtime reads writable layers on
its own schedule (containerd every `stats_collect_period`, 10 s by default). At the moment of a crossing the pod that filled the
disk may look small, or not be measured at all. So each pod's logs and volumes must have been walked since the crossing, and each
of its layers read since, as far as they lie on the filesystem that is short. Within a bound; then what is known counts.

Where a disk would be full within that bound, a hard threshold waits for the pods that fill it alone: those measured since the
crossing make most of the growth of the last minute, so another measurement could not show another cause. On a node with a
million files the walk of all pods takes longer than a fast fill.
"""

from collections.abc import Collection, Mapping
from collections.abc import Set as AbstractSet
from types import MappingProxyType

from evictd.core.eviction.accounts.holdings import NEAR_TIME, growth_elsewhere, growth_of_pods
from evictd.core.eviction.accounts.ledger import supply_of
from evictd.core.eviction.rank import RANKED_PARTS, Part
from evictd.core.eviction.reclaim import DEVICES, Layout
from evictd.core.eviction.time_left import time_left
from evictd.core.model.config import EvictionConfig, Policy
from evictd.core.model.finding import Finding, ThresholdFinding, WaitingForMeasurement
from evictd.core.model.observation import Observation
from evictd.core.model.pod import Pod
from evictd.core.model.signal import SIGNALS, Filesystem, Signal
from evictd.core.model.state import Reclaiming, State
from evictd.core.model.threshold import Threshold
from evictd.core.units.duration import MILLISECOND, SECOND

MEASUREMENT_TIMEOUT = 30 * SECOND
"""How long measurements may hold up a decision: three collections of containerd as it is by default."""
HELD_INTERVAL = 100 * MILLISECOND
"""The time until the next cycle while a decision is held; the walk of an ordinary pod takes less."""

NEAR_PART = 10
"""A filesystem is near a threshold once it is within a tenth of its capacity of it."""
_LAYERS, _WALK = "layers", "logs and volumes"


def filesystems_to_measure(
    state: State,
    findings: Collection[Finding],
    config: EvictionConfig,
    rates: Mapping[Signal, int] = MappingProxyType({}),
) -> frozenset[Filesystem]:
    """Return the filesystems for which pods should be measured: all if any is near a threshold, since pods fill them together.

    `findings` are the last cycle's; all are measured before the first one. Also all while a device is being collected: what
    follows may be a choice among pods. Policy Kubelet waits for no measurement and evicts on the numbers from before a reclaim:
    all are measured while a disk has a threshold, as the kubelet does. `rates` are fill rates that are newer than the last cycle.
    """
    everything = frozenset(Filesystem)
    if not findings or isinstance(state.phase, Reclaiming) or state.collections:
        return everything
    if config.policy is Policy.KUBELET and any(
        SIGNALS[each.signal].filesystem is not None for each in config.thresholds
    ):
        return everything
    tested = (
        f for f in findings if isinstance(f, ThresholdFinding) and SIGNALS[f.threshold.signal].filesystem is not None
    )
    near = any(_is_near(finding, state, rates.get(finding.threshold.signal, 0)) for finding in tested)
    return everything if near else frozenset()


def _is_near(finding: ThresholdFinding, state: State, newer: int) -> bool:
    seen = state.last_seen.get(finding.threshold.signal)
    distance = finding.available.value() - finding.limit.value()
    rate = max(newer, 0 if seen is None else seen.fill_rate or 0)
    return distance <= finding.capacity.value() // NEAR_PART or distance <= rate * NEAR_TIME // SECOND


def is_held(state: State, config: EvictionConfig) -> bool:
    """Whether a decision for a hard disk threshold may be held for a collection or for measurements, and no victim leaves."""
    if config.policy is Policy.KUBELET or state.in_flight or state.leaving:
        return False
    return any(each.hard and SIGNALS[each.signal].filesystem is not None for each in state.thresholds_met)


def waiting_for_measurement(
    threshold: Threshold, state: State, observation: Observation, layout: Layout, now: int
) -> WaitingForMeasurement | None:
    """Return what must be measured before a pod is chosen for this threshold; `None` if nothing is waited for."""
    filesystem = SIGNALS[threshold.signal].filesystem
    if filesystem is None:
        return None
    device = DEVICES[layout][filesystem]
    since = _since(threshold, state, device, supply_of(threshold.signal, layout), now)
    until = max(since, state.started_at or since) + MEASUREMENT_TIMEOUT
    if now >= until:
        return None
    parts = RANKED_PARTS[layout][filesystem]
    layers, walk = Part.ROOTFS in parts, bool(parts & {Part.LOGS, Part.VOLUMES})
    old_layers, old_walks = list[Pod](), list[Pod]()
    for pod in observation.pods:
        stats = observation.pod_stats.get(pod.uid)
        if stats is None:
            continue  # nothing of it runs yet, or nothing can be read; waiting would not help
        if layers and ((at := stats.layers_time) is None or at < since):
            old_layers.append(pod)
        # A pod known from the runtime alone is waited for if it has volumes that can be walked.
        if walk and ((at := stats.disk_time) is None or at < since) and (pod.spec_known or pod.volumes):
            old_walks.append(pod)
    if not old_layers and not old_walks:
        return None
    if _explains_growth(threshold, state, {pod.uid for pod in (*old_layers, *old_walks)}, layout):
        return None
    what = (_LAYERS,) * bool(old_layers) + (_WALK,) * bool(old_walks)
    pods = (*old_layers, *(pod for pod in old_walks if pod not in old_layers))
    return WaitingForMeasurement(threshold=threshold, what=what, pods=pods, since=since, until=until)


def _explains_growth(threshold: Threshold, state: State, old: AbstractSet[str], layout: Layout) -> bool:
    """Whether pods outside `old` are known to fill a disk that is soon full.

    Every one of these must have been measured once: what a pod holds that never was could be more.
    """
    seen, supply = state.last_seen.get(threshold.signal), supply_of(threshold.signal, layout)
    left, holdings = None if seen is None else time_left(seen), state.holdings.get(supply)
    if not threshold.hard or left is None or left >= MEASUREMENT_TIMEOUT or holdings is None:
        return False
    fresh = sum(each.grown for uid, each in holdings.growing.items() if uid not in old)
    growth = growth_of_pods(holdings) + max(growth_elsewhere(holdings), 0)
    return fresh > 0 and fresh * 4 >= growth * 3 and holdings.used.keys() >= old


def _since(threshold: Threshold, state: State, device: Filesystem, supply: Signal, now: int) -> int:
    """Return the time of the crossing, or of the collection for the device that followed it.

    A collection follows each victim, and victims for other supplies may end one after another without end. So a collection counts
    that began within `MEASUREMENT_TIMEOUT` after the threshold was due, the last victim for this supply, or the end of a pause.
    """
    crossed = state.thresholds_first_observed_at.get(threshold, now)
    if (collection := state.collections.get(device)) is None:
        return crossed
    own = [crossed + threshold.grace_period, *(effect.until for effect in state.effects.get(supply, ()))]
    if (pause := state.pauses.get(supply)) is not None:
        own.append(pause.until)
    return max(crossed, min(collection.begun, max(own) + MEASUREMENT_TIMEOUT))
