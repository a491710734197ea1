"""Starts and ends pods: arrivals, deletions, evictions, exits, and the successors that owners create.

A pod that is to end gets SIGTERM. Its process ends as its behaviour says, or by SIGKILL when its grace period is over. The
runtime says so `stop_overhead` later: then the pod is gone, its memory volumes are unmounted, and its owner may create a
successor with a new uid. The filesystem shows its bytes as free `release_delay` after that.
"""

import heapq
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from enum import Enum
from functools import partial
from random import Random

from evictd.core.frozen import frozen
from evictd.core.model.pod import Pod
from evictd.core.model.signal import Signal
from evictd.core.units.duration import SECOND
from evictd.world.behaviours import Exits, Stops, Unreadable, Usage
from evictd.world.kernel import OomKill
from evictd.world.model import Owner, WorldPod, pod_uid
from evictd.world.node import Shown, SimulatedNode, SimulatedPod
from evictd.world.process import Process

DEFAULT_GRACE = 30 * SECOND
_STAYS: frozenset[Usage] = frozenset({Usage.HOST_PATH, Usage.HOST_PATH_INODES})
"""The usages that a pod leaves on the node's disk."""
UNSCHEDULED_RETRY = 1 * SECOND
"""Interval of attempts to start a pod that waits for the end of the taints."""


class EndCause(Enum):
    """Why a pod is gone."""

    EVICTED = "evicted"
    EXITED = "exited"
    DELETED = "deleted"


@frozen
class CutShort:
    """The end of a pod that was killed before the end that it needed."""

    after: int
    """Nanoseconds from SIGTERM to SIGKILL."""
    needs: int
    """Nanoseconds that it needs to end."""


@frozen
class PodEnd:
    """A pod that is gone, and what it held when its process ended."""

    uid: str
    name: str
    slot: str
    cause: EndCause
    held: dict[Usage, int]
    cut_short: CutShort | None = None
    """`None` where it ended by itself, or ignores SIGTERM."""


@frozen
class PodArrival:
    """A pod that was started on the node."""

    uid: str
    name: str
    slot: str


@frozen
class Collected:
    """The result of a collection."""

    freed_bytes: int
    removed: int


@frozen
class EvictionRefused:
    """The API server has refused an eviction: a disruption budget or an outage's status."""

    uid: str
    name: str


@frozen
class RanOut:
    """Nothing is left of what a signal measures: a disk's bytes or inodes, or the PIDs."""

    signal: Signal


Event = PodEnd | PodArrival | OomKill | Collected | EvictionRefused | RanOut


@frozen
class Happened:
    """Something that happened on the node, at a time."""

    at: int
    event: Event


@dataclass(slots=True)
class Schedule:
    """The scheduled events in order of time; those of one time in the order of scheduling."""

    _due: list[tuple[int, int, Callable[[int], None]]] = field(default_factory=list)
    _count: int = 0

    def at(self, time: int, action: Callable[[int], None]) -> None:
        """Do something at a time."""
        self._count += 1
        heapq.heappush(self._due, (time, self._count, action))

    @property
    def next(self) -> int | None:
        """Time of the next event."""
        return self._due[0][0] if self._due else None

    def run(self, now: int) -> None:
        """Do all that is due."""
        while self._due and self._due[0][0] <= now:
            time, _, action = heapq.heappop(self._due)
            action(time)


class Lifecycle:
    """Starts and ends the pods of one node."""

    def __init__(self, node: SimulatedNode, schedule: Schedule) -> None:
        self.happened: list[Happened] = []
        self.gone: set[str] = set()
        """Uids of all pods that are gone."""
        self.stop_times: list[int] = []
        """Nanoseconds that the last stops took beyond their grace."""
        self._node = node
        self._schedule = schedule
        self._random = Random(node.world.seed)  # noqa: S311 - a world is repeatable
        self._owners = {owner.name: owner for owner in node.world.owners}
        self._successors: dict[str, int] = {}

    def note(self, now: int, event: Event) -> None:
        """Record what happened on the node."""
        self.happened.append(Happened(at=now, event=event))

    def begin(self) -> None:
        """Start the pods of the world when they come."""
        for spec in self._node.world.pods:
            start = partial(self._start, spec=spec, pod=spec.pod, slot=spec.pod.full_name)
            if spec.start <= 0:
                start(0)
            else:
                self._schedule.at(spec.start, start)

    def _start(self, now: int, spec: WorldPod, pod: Pod, slot: str) -> None:
        running = SimulatedPod(
            spec=spec,
            pod=pod,
            slot=slot,
            process=Process(spec.behaviours, now, self._node.standstills),
            unreadable=tuple(each for each in spec.behaviours if isinstance(each, Unreadable)),
        )
        self._node.pods[pod.uid] = running
        image = next((each for each in self._node.world.node.images if each.name == spec.image), None)
        if image is not None:
            self._node.images.setdefault(image.name, image)  # pulled again
        self._node.changed()
        if now > 0:
            self.note(now, PodArrival(uid=pod.uid, name=pod.full_name, slot=slot))
        for each in spec.behaviours:
            if isinstance(each, Exits):
                self._schedule.at(now + each.after, lambda at: self._exit(running, at))
        if spec.deleted_at is not None and slot == pod.full_name:
            self._schedule.at(max(spec.deleted_at, now), lambda at: self._delete(running, at))

    # --- ends ---------------------------------------------------------------------------------------------------------

    def stop(self, running: SimulatedPod, grace: int, cause: EndCause, now: int) -> None:
        """Ask a pod to end within `grace` nanoseconds; one that is asked already only gets less time."""
        until = now + grace
        if running.leaving_until is not None and until >= running.leaving_until:
            return
        if running.leaving_until is None:
            running.stopping_since = now
        running.leaving_until = until
        wanted = _wanted(running)
        end = until if wanted is None else min(now + wanted, until)
        self._schedule.at(end, lambda at: self._end_process(running, cause, at))

    def _delete(self, running: SimulatedPod, now: int) -> None:
        grace = running.pod.termination_grace_period_seconds
        seconds = DEFAULT_GRACE // SECOND if grace is None else grace
        self.mark_deleted(running, seconds)
        self.stop(running, seconds * SECOND, EndCause.DELETED, now)

    def mark_deleted(self, running: SimulatedPod, grace_period_seconds: int) -> None:
        """Set the pod's deletion timestamp."""
        running.pod = replace(running.pod, deletion_grace_period_seconds=grace_period_seconds)

    def _exit(self, running: SimulatedPod, now: int) -> None:
        if running.leaving_until is None:
            running.leaving_until = now
            self._end_process(running, EndCause.EXITED, now)

    def _end_process(self, running: SimulatedPod, cause: EndCause, now: int) -> None:
        if running.process.ended:
            return
        held = dict(running.process.held(now))
        running.process.end(now)
        self._node.changed()
        overhead = self._node.world.node.stop_overhead
        self._schedule.at(now + overhead, lambda at: self._remove(running, cause, held, at))

    def _remove(self, running: SimulatedPod, cause: EndCause, held: dict[Usage, int], now: int) -> None:
        node, pod = self._node, running.pod
        del node.pods[pod.uid]
        for usage in _STAYS:
            if held.get(usage):
                node.left[usage] = node.left.get(usage, 0) + held[usage]
        shown = {usage: count for usage, count in held.items() if usage not in _STAYS}
        node.shown = [each for each in node.shown if each.until > now]
        if shown:
            until = now + node.world.node.release_delay
            node.shown.append(Shown(uid=pod.uid, since=now, until=until, held=shown))
        node.changed()
        self.gone.add(pod.uid)
        self.stop_times = [*self.stop_times[-4:], node.world.node.stop_overhead]
        end = PodEnd(
            uid=pod.uid,
            name=pod.full_name,
            slot=running.slot,
            cause=cause,
            held=held,
            cut_short=_cut_short(running, cause),
        )
        self.note(now, end)
        owner = self._owners.get(pod.owner)
        if owner is not None and cause is not EndCause.DELETED:
            self._recreate(running, owner, now)

    # --- successors ---------------------------------------------------------------------------------------------------

    def _recreate(self, running: SimulatedPod, owner: Owner, now: int) -> None:
        if self._random.random() >= owner.here:
            return  # bound to another node
        number = self._successors[running.slot] = self._successors.get(running.slot, 0) + 1
        template = running.spec.pod
        name = f"{template.name}-{number}"
        successor = replace(
            template,
            uid=pod_uid(f"{template.namespace}/{name}"),
            name=name,
            deletion_grace_period_seconds=None,
        )
        self._schedule.at(now + owner.delay, lambda at: self._bind(running, successor, owner, at))

    def _bind(self, running: SimulatedPod, successor: Pod, owner: Owner, now: int) -> None:
        """Start a successor here, unless a pressure condition's taint keeps it away."""
        if not self._node.conditions or owner.tolerates:
            self._start(now, running.spec, successor, running.slot)
        elif owner.here >= 1:  # no other node for it
            self._schedule.at(now + UNSCHEDULED_RETRY, lambda at: self._bind(running, successor, owner, at))


def _wanted(running: SimulatedPod) -> int | None:
    """Return how long a pod needs to end after SIGTERM; `None` if it ignores that."""
    return next((each.after for each in running.spec.behaviours if isinstance(each, Stops)), 0)


def _cut_short(running: SimulatedPod, cause: EndCause) -> CutShort | None:
    needs, ended_at = _wanted(running), running.process.ended_at
    if cause is EndCause.EXITED or needs is None or ended_at is None:
        return None
    after = ended_at - running.stopping_since
    return CutShort(after=after, needs=needs) if after < needs else None
