"""Turns what the clock, the runtime and the list of pods show into events of a pod's eviction.

The counterpart of the answers to requests, which `evictor` turns into events. Nothing here changes an eviction or waits.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Protocol

from evictd.act.cluster.eviction_stages import Containers, Event, Stage
from evictd.act.cluster.pod_eviction import REPAIRS, VERIFY, PodEviction
from evictd.clients.kube.pods import PodSnapshot
from evictd.core.frozen import frozen
from evictd.core.model.config import EvictionMethod
from evictd.core.model.pod import Pod
from evictd.core.units.duration import MILLISECOND, SECOND

POLL = 100 * MILLISECOND
"""Interval at which the runtime is asked whether a pod has stopped; it sends no notice."""
_SELDOM = SECOND
"""Poll interval of the stages whose progress wakes the thread, except after a time limit or an error."""

EVENT_OF: Mapping[EvictionMethod, Event] = {
    EvictionMethod.EVICTION_API: Event.ASK,
    EvictionMethod.DELETE: Event.DELETE,
    EvictionMethod.STATUS: Event.WRITE,
}
"""The event that names the chosen method; `Auto` is always resolved before."""


class Stopper(Protocol):
    """Stops pods through the container runtime. Its methods return at once and may be called from any thread."""

    def stop(self, pod: Pod, grace_seconds: int, *, freeze: bool = False) -> None:
        """Begin to stop everything of this pod, also once more; for one that is being stopped, shorten its grace.

        With `freeze` it is frozen first, until shortly before the end of the grace.
        """
        ...

    def stopped(self, uid: str) -> bool:
        """Whether a pod whose stop was started has no running process left."""
        ...

    def forget(self, uid: str) -> None:
        """Drop the record of a pod."""
        ...


@frozen
class ClusterNode:
    """The latest state of the node as the API server and the reporter know it; may be called from any thread."""

    pods: Callable[[], PodSnapshot]
    """Return the pods that the API server has bound to it."""
    kubelet: Callable[[], bool | None]
    """Whether a kubelet runs its pods; `None` until that is known, or known again."""
    conditions_pending: Callable[[], bool]
    """Whether the API server does not show the node's conditions yet."""


def due_events(
    eviction: PodEviction, pods: PodSnapshot, stopper: Stopper, node: ClusterNode, now: int
) -> Iterator[Event]:
    """Yield the events that are due; the eviction receives each one before the next is looked for."""
    asking = eviction.stage is Stage.ASKING
    if asking and eviction.hard and now - eviction.begun_at >= eviction.patience:
        yield Event.UNANSWERED
    if eviction.containers is Containers.DUE and (now >= eviction.clear_at or not node.conditions_pending()):
        yield Event.CLEARED
    # Received here and remembered, because the stopper's record goes when the loop no longer waits for this pod.
    if eviction.containers is Containers.STOPPING and stopper.stopped(eviction.uid):
        yield Event.STOPPED
    if eviction.stage is Stage.VERIFYING:
        yield from _verified(eviction, pods, now)
    elif (
        eviction.stage is Stage.LEAVING
        and eviction.containers is Containers.KEPT
        and nothing_runs(eviction, pods, stopper)
    ):
        yield Event.ENDED


def _verified(eviction: PodEviction, pods: PodSnapshot, now: int) -> Iterator[Event]:
    """Yield an event if the written status is gone: a kubelet may have started the pod again."""
    entry = pods.pods.get(eviction.uid)
    version = int(entry.resource_version) if entry is not None and entry.resource_version.isdigit() else 0
    if entry is not None and not entry.terminal and version > eviction.written_version:
        yield Event.REVIVED if eviction.repairs < REPAIRS else Event.RESISTED
    # After this long without an event the cached object is stale; trust our own write.
    elif entry is None or now >= eviction.verify_until + (0 if entry.terminal else VERIFY):
        yield Event.ENDED


def next_event_at(eviction: PodEviction, now: int) -> int | None:
    """Return when to call `due_events` again although no request was answered and no pod has changed; `None`: not before.

    Only the runtime is polled: on a node under pressure each wake-up costs processor time that the pods need.
    """
    if eviction.settled:
        return None
    match eviction.containers:
        case Containers.STOPPING:
            return now + POLL
        case Containers.DUE:
            return max(now, eviction.clear_at)
    match eviction.stage:
        case Stage.ASKING if eviction.hard:
            return max(now, eviction.begun_at + eviction.patience)
        case Stage.VERIFYING:
            return eviction.verify_until + (0 if now < eviction.verify_until else VERIFY)
        case Stage.CHOOSING | Stage.LEAVING:
            return now + _SELDOM
        case _:
            return None


def nothing_runs(eviction: PodEviction, pods: PodSnapshot, stopper: Stopper) -> bool:
    """Whether nothing of the pod runs: the runtime says so, or the API server has no such pod any more."""
    if eviction.stage in {Stage.REFUSED, Stage.WITHDRAWN}:
        return False
    if eviction.containers in {Containers.STOPPING, Containers.STOPPED}:
        return eviction.containers is Containers.STOPPED or stopper.stopped(eviction.uid)
    entry = pods.pods.get(eviction.uid)
    return pods.synced and not pods.problem and (entry is None or entry.terminal)
