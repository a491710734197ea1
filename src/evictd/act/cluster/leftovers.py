"""When do pods go that an eviction by status left behind as Failed?

Only pods whose status evictd itself wrote (the API server notes who), and only after the time to live that was configured,
counted from when this process first saw them. The pod garbage collector of the control plane waits for 12,500 of them.
"""

from collections.abc import Callable

from evictd.act.cluster.outbox import Call
from evictd.clients.kube.eviction import MINIMUM_GRACE_SECONDS, EvictionClient
from evictd.clients.kube.pods import PodSnapshot
from evictd.core.duration import MINUTE
from evictd.core.pod import Pod
from evictd.errors import ApiRefusedError


class Leftovers:
    """Deletes what was left behind; a lane of the outbox. A time to live of zero keeps everything."""

    def __init__(self, client: EvictionClient, snapshot: Callable[[], PodSnapshot], *, time_to_live: int) -> None:
        self._client = client
        self._snapshot = snapshot
        self._time_to_live = time_to_live
        self._first_seen: dict[str, int] = {}
        self._refused: set[str] = set()
        self._sending = ""

    def call(self, now: int) -> Call | None:
        """Delete one that has had its time."""
        pods = self._due(now)
        if not pods:
            return None
        pod = pods[0]
        self._sending = pod.uid
        return lambda: self._delete(pod)

    def due_at(self, now: int) -> int | None:
        """The next minute in which one may be due."""
        return now + MINUTE if self._first_seen else None

    def refused(self, _error: ApiRefusedError, _now: int, /) -> None:
        """Leave it: it may not be deleted."""
        self._refused.add(self._sending)

    def _due(self, now: int) -> list[Pod]:
        if not self._time_to_live:
            return []
        left = {entry.pod.uid: entry.pod for entry in self._snapshot().pods.values() if entry.left_by_evictd}
        self._first_seen = {uid: self._first_seen.get(uid, now) for uid in left}
        self._refused &= left.keys()
        return [
            pod
            for uid, pod in left.items()
            if now - self._first_seen[uid] >= self._time_to_live and uid not in self._refused
        ]

    def _delete(self, pod: Pod) -> None:
        self._client.delete(pod, MINIMUM_GRACE_SECONDS)
        self._refused.add(pod.uid)  # the watch will say when it is gone; it is not asked for again until then
