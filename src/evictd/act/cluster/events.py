"""Records events in the API server; repetitions of an event are counted, and no call waits for the server.

A new event is sent at once; its repetitions only raise a count that is sent at most once a minute. `eventRecordQPS` and
`eventBurst` bound all requests about events by a token bucket, as in the kubelet's event client. The queue is bounded: when
too much happens the oldest unsent events are dropped and counted. Kubelet: the event recorder of client-go.
"""

import hashlib
import threading
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import count

from evictd.act.cluster.request_queue import Bell, Call, Clocks
from evictd.clients.kube.events import NOTE_BYTES, EventClient, KubeEvent, Regarding, cut
from evictd.codec.times import rfc3339
from evictd.core.eviction.choice.evict import EVICTED
from evictd.core.eviction.draft import WARNING
from evictd.core.model.decision import RecordEvent
from evictd.core.model.pod import Pod
from evictd.core.model.state import Victim
from evictd.core.units.duration import MINUTE, SECOND
from evictd.errors import ApiRefusedError

QUEUE = 200
"""Events kept, sent ones included; beyond it the oldest go."""
COUNT_EVERY = MINUTE
FORGET = 10 * MINUTE
"""Nanoseconds; a series without a new occurrence for this time has ended, and the next occurrence is a new event."""
_NAME_BYTES = 200

_OWNERS = {"ReplicaSet": "apps/v1", "StatefulSet": "apps/v1", "DaemonSet": "apps/v1", "Job": "batch/v1"}
"""The kinds of owners on which evictd may write events (`deploy/base/admission-policy.yaml`)."""

_Key = tuple[Regarding, str, str, str]


@dataclass(slots=True, kw_only=True)
class _Series:
    event: KubeEvent
    name: str
    seen: int
    last_at: int
    last_wall: int
    reported: int = 0
    not_before: int = 0

    @property
    def news(self) -> bool:
        return self.reported < self.seen


class EventRate:
    """A token bucket: `burst` requests at once, refilled by `qps` per second; `qps` 0 is no limit."""

    def __init__(self, *, qps: int = 0, burst: int = 1) -> None:
        self._interval = SECOND // qps if qps > 0 else 0
        self._slack = max(burst - 1, 0) * self._interval
        self._full_at = 0
        """Time at which the bucket is full again; each request moves it one interval ahead (generic cell rate algorithm)."""

    def open_at(self) -> int:
        """Return the earliest time of the next request, in nanoseconds."""
        return self._full_at - self._slack

    def spend(self, now: int) -> None:
        """Count a request that is sent at `now`."""
        self._full_at = max(self._full_at, now) + self._interval


def pod_reference(pod: Pod) -> Regarding:
    """Return a pod as the object of an event."""
    return Regarding(kind="Pod", name=pod.name, namespace=pod.namespace, uid=pod.uid)


def owner_reference(pod: Pod) -> Regarding | None:
    """Return the owner as the object of an event; `None` for a kind that evictd writes no events on, or without a uid."""
    kind, _, name = pod.owner.partition("/")
    version = _OWNERS.get(kind)
    if version is None or not pod.owner_uid:
        return None
    return Regarding(kind=kind, name=name, namespace=pod.namespace, uid=pod.owner_uid, api_version=version)


def eviction_identity(uid: str, chosen_at: int) -> str:
    """Return the identity of an eviction, the same in each run: the pod's uid and `now` of the decision."""
    return f"{uid} {chosen_at}"


def _digest(text: str) -> str:
    """Return 16 hexadecimal digits that stand for a text."""
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def note_with(message: str, why: str) -> str:
    """Return the note of an eviction: the kubelet's message, then why it was this pod; cut at the end of the message."""
    return cut(message, max(NOTE_BYTES - len(why.encode()), 0)) + why


class EventRecorder:
    """Records events on this node, its pods and their owners; a source of the request queue."""

    def __init__(
        self, client: EventClient, node_name: str, clocks: Clocks, bell: Bell, *, rate: EventRate | None = None
    ) -> None:
        self._client = client
        self._rate = rate or EventRate()
        self.node_name = node_name
        self._node = Regarding(kind="Node", name=node_name)
        self._clocks = clocks
        self._bell = bell
        self._lock = threading.Lock()
        self._series: OrderedDict[_Key, _Series] = OrderedDict()
        self._sending: _Series | None = None
        self._numbers = count()
        self.dropped = 0
        """Events that were never sent because too many happened."""

    def record(
        self,
        event: RecordEvent,
        now: int,
        *,
        about: Regarding | None = None,
        annotations: Mapping[str, str] | None = None,
        identity: str = "",
    ) -> None:
        """Note an event on an object, by default the node; returns at once.

        What has an `identity` has one event with it, whichever run of evictd writes it first.
        """
        about = about or self._node
        key = (about, event.type, event.reason, event.message)
        wall = self._clocks.wall()
        with self._lock:
            series = self._series.get(key)
            if series is None or now - series.last_at > FORGET:
                made = KubeEvent(
                    regarding=about,
                    type=event.type,
                    reason=event.reason,
                    note=event.message,
                    annotations=dict(annotations or {}),
                )
                # As client-go's: the object's name and a time; the number keeps two of the same moment apart.
                ending = _digest(f"{event.reason} {identity}") if identity else f"{wall:x}{next(self._numbers):x}"
                name = f"{cut(about.name, _NAME_BYTES).rstrip('-.')}.{ending}"
                self._series[key] = _Series(event=made, name=name, seen=1, last_at=now, last_wall=wall)
            else:
                series.seen += 1
                series.last_at, series.last_wall = now, wall
            self._series.move_to_end(key)
            self._forget_some(now)
        self._bell.notify()

    def record_again(self, victim: Victim, now: int) -> None:
        """Note the event of a victim of the previous run, which may have been killed before it was sent.

        One that was sent stays as it is. The message is the kubelet's alone. A victim of long ago has none: its event may have
        expired. Nor has one without a message: another component deleted that pod, and evictd shortened its grace.
        """
        if victim.message and now - victim.chosen_at <= FORGET:
            namespace, _, name = victim.full_name.rpartition("/")
            event = RecordEvent(type=WARNING, reason=EVICTED, message=victim.message)
            about = Regarding(kind="Pod", name=name, namespace=namespace, uid=victim.uid)
            self.record(event, now, about=about, identity=eviction_identity(victim.uid, victim.chosen_at))

    def call(self, now: int) -> Call | None:
        """Return the oldest event that has news and may be sent."""
        if now < self._rate.open_at():
            return None
        with self._lock:
            for series in self._series.values():
                if series.news and now >= series.not_before:
                    self._rate.spend(now)
                    self._sending = series
                    return lambda: self._send(series, now)
            return None

    def due_at(self, _now: int, /) -> int | None:
        """Time from which the next count may be sent."""
        with self._lock:
            due = min((series.not_before for series in self._series.values() if series.news), default=None)
        return None if due is None else max(due, self._rate.open_at())

    def refused(self, _error: ApiRefusedError, _now: int, /) -> None:
        """Drop this event: its namespace may be terminating, or the credential may not write events."""
        with self._lock:
            if self._sending is not None:
                self._sending.reported = self._sending.seen
                self.dropped += 1

    def _send(self, series: _Series, now: int) -> None:
        seen, time = series.seen, rfc3339(series.last_wall, micro=True)
        # An event that is gone from the API (they live an hour) is made anew.
        if series.reported == 0 or not self._client.count(series.event, series.name, seen, time):
            self._client.create(series.event, series.name, time)
        with self._lock:
            # What was counted before the event existed is reported as a series of it.
            series.reported = seen if series.reported or seen == 1 else 1
            series.not_before = now + COUNT_EVERY

    def _forget_some(self, now: int) -> None:
        over = [key for key, each in self._series.items() if not each.news and now - each.last_at > FORGET]
        for key in over:
            del self._series[key]
        while len(self._series) > QUEUE:
            _, oldest = self._series.popitem(last=False)
            self.dropped += oldest.reported == 0
