"""Deletes the objects of evicted pods that an eviction by status left as Failed.

Only pods whose status evictd itself wrote (the API server records the writer), and only after the configured time to live,
counted from when this process first saw them. The pod garbage collector of the control plane waits for 12,500 of them.
"""

from collections.abc import Callable

from evictd.act.cluster.request_queue import Bell, Call
from evictd.clients.kube.eviction import MINIMUM_GRACE_SECONDS, EvictionClient
from evictd.clients.kube.pods import PodSnapshot
from evictd.core.model.pod import Pod
from evictd.errors import ApiRefusedError


class Leftovers:
    """Deletes them; a source of the request queue. `pods` returns the node's pods; a time to live of zero keeps everything."""

    def __init__(
        self, client: EvictionClient, pods: Callable[[], PodSnapshot], bell: Bell, *, time_to_live: int
    ) -> None:
        self._client = client
        self._pods = pods
        self._bell = bell
        self._time_to_live = time_to_live
        self._first_seen: dict[str, int] = {}
        self._due: tuple[Pod, ...] = ()
        """Replaced as a whole by the loop; read by the queue's thread, which alone uses what follows."""
        self._tried: set[str] = set()
        self._sending = ""

    def delete_due(self, now: int) -> None:
        """Request the deletion of evicted pods that are older than their time to live."""
        if not self._time_to_live:
            return
        left = {entry.pod.uid: entry.pod for entry in self._pods().pods.values() if entry.left_by_evictd}
        self._first_seen = {uid: self._first_seen.get(uid, now) for uid in left}
        due = tuple(pod for uid, pod in left.items() if now - self._first_seen[uid] >= self._time_to_live)
        if due != self._due:
            self._due = due
            self._bell.notify()

    def suspend(self) -> None:
        """Delete none, until `delete_due` is called again."""
        self._due = ()

    def call(self, _now: int, /) -> Call | None:
        """Delete one that is due, once: the watch shows later that it is gone."""
        due = self._due
        self._tried.intersection_update(pod.uid for pod in due)
        pod = next((pod for pod in due if pod.uid not in self._tried), None)
        if pod is None:
            return None
        self._sending = pod.uid
        return lambda: self._delete(pod)

    def due_at(self, _now: int, /) -> int | None:
        """Return None: the loop notifies the queue."""
        return None

    def refused(self, _error: ApiRefusedError, _now: int, /) -> None:
        """Try this pod no more: it may not be deleted."""
        self._tried.add(self._sending)

    def _delete(self, pod: Pod) -> None:
        self._client.delete(pod, MINIMUM_GRACE_SECONDS)
        self._tried.add(pod.uid)
