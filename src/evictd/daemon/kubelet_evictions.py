"""Finds the evictions of the kubelet that are new, for the comparison with evictd's own (`evictd history --compare-kubelet`)."""

from typing import Any

from evictd.codec.pods.slim_pods import SlimPod
from evictd.codec.times import parse_time, rfc3339
from evictd.core.frozen import frozen
from evictd.core.units.duration import HOUR
from evictd.errors import InvalidValueError
from evictd.observe.reading.reading import Reading

BEFORE_START = HOUR
"""At a start the evictions of this time before it are recorded, because evictd may have been restarted; older ones are not."""
_LONGEST_MESSAGE = 500
"""Characters of a message that are kept; the kubelet's are shorter, and anything may be written into a status."""


@frozen
class KubeletEviction:
    """A pod that the kubelet evicted."""

    pod: str
    """`namespace/name`."""
    uid: str
    at: str
    """RFC 3339 time: that of its condition `DisruptionTarget`, else when evictd saw it."""
    earlier: bool = False
    """Whether it was before this run of evictd began."""
    message: str = ""
    """The kubelet's: what the node was short of, or which limit the pod exceeded."""


def kubelet_eviction(entry: SlimPod, seen_at: str, *, earlier: bool) -> KubeletEviction:
    """Return the eviction of a pod that is `evicted_by_kubelet`; `seen_at` is an RFC 3339 time."""
    return KubeletEviction(
        pod=entry.pod.full_name,
        uid=entry.pod.uid,
        at=entry.disrupted_at or seen_at,
        earlier=earlier,
        message=entry.message[:_LONGEST_MESSAGE].strip(),
    )


def encode_kubelet_eviction(eviction: KubeletEviction) -> dict[str, Any]:
    """Return the plain values of the journal."""
    earlier = {"earlier": True} if eviction.earlier else {}
    return {"pod": eviction.pod, "uid": eviction.uid, "at": eviction.at, "message": eviction.message, **earlier}


class KubeletEvictions:
    """The evictions of the kubelet that were returned, by uid. Used by one thread."""

    def __init__(self) -> None:
        self._known: frozenset[str] | None = None

    def fresh(self, reading: Reading) -> tuple[KubeletEviction, ...]:
        """Return the evictions that no earlier reading had.

        Of the first reading that has the API server's pods, those of the last hour: their objects stay for long. One without the
        condition `DisruptionTarget` (a limit of the pod's own) has no time and is left out there.
        """
        entries = reading.evicted_by_kubelet
        if entries is None:
            return ()
        known, first = self._known or frozenset(), self._known is None
        self._known = frozenset(each.pod.uid for each in entries)
        seen_at = "" if first else rfc3339(reading.wall)
        found = [kubelet_eviction(each, seen_at, earlier=first) for each in entries if each.pod.uid not in known]
        return tuple(each for each in found if not first or _recent(each.at, reading.wall))


def _recent(at: str, wall: int) -> bool:
    try:
        return wall - parse_time(at) < BEFORE_START
    except InvalidValueError:
        return False
