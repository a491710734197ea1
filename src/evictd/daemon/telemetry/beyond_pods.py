"""Tells that a supply lost more than all pods hold of it, before the growth of each pod is known.

What pods hold of a disk is first measured when a threshold is near: at that reading no pod has grown yet.
"""

from typing import Any

from evictd.core.eviction.next_up import NextUp
from evictd.core.model.signal import SIGNALS, Signal
from evictd.core.units.duration import SECOND
from evictd.daemon.telemetry.snapshot import Snapshot

_FRESH_PART = 4
_MOST = 2
"""Most of what was taken belongs to no pod where it is more than this many times what all pods hold."""


def taken_beyond_pods(answer: NextUp | None, stated: dict[str, Any], snapshot: Snapshot) -> dict[str, Any] | None:
    """Return what was taken in the time of the stated rate and what all pods hold, where most of it can be no pod's.

    `None` where pods may have taken it, or that is not known.
    """
    held, rate, over = None if answer is None else answer.held, stated.get("fillRate"), stated.get("overSeconds")
    if held is None or not rate or rate < 0 or not over or held.outdated or held.unmeasured.pods:
        return None
    of_pods = sum(share.held or 0 for share in (held.evictable, held.protected, held.leaving))
    taken = round(rate * over)
    if taken <= of_pods * _MOST or not is_fresh(held.signal, snapshot.at - round(over * SECOND), snapshot):
        return None
    return {"overSeconds": over, "taken": taken, "ofPods": of_pods}


def is_fresh(supply: Signal, since: int, snapshot: Snapshot) -> bool:
    """Return whether all that pods hold of a supply was read in the last quarter of the time since then: the rest is no pod's.

    What pods hold of a disk is read in turns: what a pod took after its turn seems to belong to no pod.
    """
    if SIGNALS[supply].filesystem is None:
        return True
    latest = snapshot.at - (snapshot.at - since) // _FRESH_PART
    read = [snapshot.observation.pod_stats.get(pod.uid) for pod in snapshot.observation.pods]
    return all(
        each is not None and not each.disk_at_least and min(each.disk_time or 0, each.layers_time or 0) >= latest
        for each in read
    )
