"""States for `/statusz` how much memory is left where no threshold is set for it, and when nothing is at the present rate."""

from typing import Any

from evictd.core.eviction.next_up import first_to_go
from evictd.core.model.attribution import growth_text
from evictd.core.model.observation import signal_observations
from evictd.core.model.signal import MEMORY_SIGNALS, Signal
from evictd.core.units.duration import SECOND
from evictd.daemon.telemetry.memory_holdings import memory_attribution, proposed_threshold
from evictd.daemon.telemetry.snapshot import Snapshot
from evictd.daemon.telemetry.trends import Trend


def unguarded_memory(snapshot: Snapshot, now: int) -> dict[str, Any] | None:
    """Return what is left of memory, in bytes; `None` where a threshold guards it, and where it was not read.

    `secondsToZero` is `None` where no fall goes on, `largest` where no pod was measured, `growth` where who takes memory is not
    known. `firstToGo` is the pod that the threshold would evict first which the advice proposes.
    """
    node = snapshot.observation.node
    guarded = any(each.signal in MEMORY_SIGNALS for each in snapshot.config.thresholds)
    seen = None if node is None else signal_observations(node).get(Signal.MEMORY_AVAILABLE)
    if guarded or seen is None:
        return None
    trend, left = snapshot.trends.signals.get(Signal.MEMORY_AVAILABLE, Trend()), seen.available.value()
    rate = trend.present_rate if trend.goes_on else None
    return {
        "available": left,
        "capacity": seen.capacity.value(),
        "secondsToZero": round(max(left / rate - (now - snapshot.at) / SECOND, 0.0), 1) if rate else None,
        "growth": _growth(snapshot, rate) if rate else None,
        "largest": _largest(snapshot),
        "firstToGo": _first_to_go(snapshot),
    }


def _growth(snapshot: Snapshot, rate: float) -> dict[str, Any] | None:
    """Return who took memory within about the last minute; `None` unless that is known of half of what was taken or more.

    `pod` took most of all of it, and `elsewhere` says whether most of it belongs to no pod.
    """
    held = memory_attribution(snapshot.trends.memory, snapshot.state, snapshot.observation, snapshot.config)
    if held is None or held.over is None or not held.filled or held.filled * 2 < rate * held.over / SECOND:
        return None
    all_measured = not (held.outdated or held.unmeasured.pods)
    return {
        "text": growth_text(held),
        "pod": held.grower if held.grower_grown * 2 > held.filled else "",
        "elsewhere": all_measured and held.grown_elsewhere * 2 > held.filled,
    }


def _first_to_go(snapshot: Snapshot) -> str:
    """Return the pod that the proposed threshold would evict first, `namespace/name`; empty where none would go."""
    if (threshold := proposed_threshold()) is None:
        return ""
    row = first_to_go(threshold, snapshot.state, snapshot.observation, snapshot.config, snapshot.at)
    return "" if row is None else row.pod.full_name


def _largest(snapshot: Snapshot) -> dict[str, Any] | None:
    """Return the pod that uses the most memory."""
    stats = snapshot.observation.pod_stats
    used = [
        (found.memory.working_set_bytes, pod.full_name)
        for pod in snapshot.observation.pods
        if (found := stats.get(pod.uid)) is not None
        and found.memory is not None
        and found.memory.working_set_bytes is not None
    ]
    if not used:
        return None
    usage, pod = max(used)
    return {"pod": pod, "usage": usage}
