"""Makes the part of `/statusz` that lists the pods that nearly exceed a limit of their own on local storage."""

from typing import Any

from evictd.core.eviction.local_storage import nearly_over
from evictd.core.model.decision import EvictionReason
from evictd.core.model.observation import Filesystems
from evictd.daemon.telemetry.snapshot import Snapshot

_OF = {
    EvictionReason.EMPTY_DIR_LIMIT: "emptyDir {}",
    EvictionReason.CONTAINER_LIMIT: "container {}",
    EvictionReason.POD_LIMIT: "all its containers",
}


def own_limits(snapshot: Snapshot) -> list[dict[str, Any]]:
    """Return each pod that uses nine tenths or more of its own limit and is not being evicted, what it uses, and the limit."""
    dedicated = bool((snapshot.state.filesystems or Filesystems()).dedicated_image_fs)
    goes = {each.uid for each in snapshot.state.victims}
    return [
        {
            "pod": pod.full_name,
            "of": _OF[near.reason].format(near.subject),
            "usage": near.usage.value(),
            "limit": near.limit.value(),
        }
        for pod, near in nearly_over(snapshot.observation, snapshot.config, dedicated_image_fs=dedicated)
        if pod.uid not in goes and near.usage is not None and near.limit is not None
    ]
