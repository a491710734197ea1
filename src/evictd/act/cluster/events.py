"""Telling people what happened: events, the same ones counted together, never in anybody's way.

A new event is sent at once; its repetitions only raise a count that is sent at most once a minute. The queue is bounded: when
too much happens the oldest unsent events are dropped, and how many is known. Kubelet: the event recorder of client-go.
"""

import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import count

from evictd.act.cluster.conditions import rfc3339
from evictd.act.cluster.outbox import Call
from evictd.clients.kube.events import Event, EventClient, Regarding, cut
from evictd.core.decision import RecordEvent
from evictd.core.duration import MINUTE
from evictd.core.pod import Pod
from evictd.errors import ApiRefusedError

QUEUE = 200
"""Events kept, sent ones included; beyond it the oldest go."""
COUNT_EVERY = MINUTE
FORGET = 10 * MINUTE
"""A series that was quiet for so long is over; the next one is a new event."""
_NAME_BYTES = 200

_Key = tuple[Regarding, str, str, str]


@dataclass(slots=True, kw_only=True)
class _Series:
    event: Event
    name: str
    seen: int
    last_at: int
    last_wall: int
    told: int = 0
    not_before: int = 0

    @property
    def news(self) -> bool:
        return self.told < self.seen


class EventRecorder:
    """Records events on this node and its pods; a lane of the outbox. `wall` gives nanoseconds since the epoch."""

    def __init__(
        self, client: EventClient, node_name: str, *, wall: Callable[[], int], stir: Callable[[], None]
    ) -> None:
        self._client = client
        self._node = Regarding(kind="Node", name=node_name)
        self._wall = wall
        self._stir = stir
        self._lock = threading.Lock()
        self._series: OrderedDict[_Key, _Series] = OrderedDict()
        self._sending: _Series | None = None
        self._numbers = count()
        self.dropped = 0
        """Events that were never sent because too many happened."""

    def record(
        self, event: RecordEvent, now: int, *, pod: Pod | None = None, annotations: Mapping[str, str] | None = None
    ) -> None:
        """Note an event on a pod, or on the node; returns at once."""
        about = self._node
        if pod is not None:
            about = Regarding(kind="Pod", name=pod.name, namespace=pod.namespace, uid=pod.uid)
        key = (about, event.type, event.reason, event.message)
        wall = self._wall()
        with self._lock:
            series = self._series.get(key)
            if series is None or now - series.last_at > FORGET:
                made = Event(
                    regarding=about,
                    type=event.type,
                    reason=event.reason,
                    note=event.message,
                    annotations=dict(annotations or {}),
                )
                # As client-go's: the object's name and a time; the number keeps two of the same moment apart.
                name = f"{cut(about.name, _NAME_BYTES)}.{wall:x}{next(self._numbers):x}"
                self._series[key] = _Series(event=made, name=name, seen=1, last_at=now, last_wall=wall)
            else:
                series.seen += 1
                series.last_at, series.last_wall = now, wall
            self._series.move_to_end(key)
            self._forget_some(now)
        self._stir()

    def call(self, now: int) -> Call | None:
        """Give the oldest event that has news and may be sent."""
        with self._lock:
            for series in self._series.values():
                if series.news and now >= series.not_before:
                    self._sending = series
                    return lambda: self._send(series, now)
            return None

    def due_at(self, _now: int, /) -> int | None:
        """When the next count may be sent."""
        with self._lock:
            return min((series.not_before for series in self._series.values() if series.news), default=None)

    def refused(self, _error: ApiRefusedError, _now: int, /) -> None:
        """Let this event go: a namespace may be closing, or the credential may not write events."""
        with self._lock:
            if self._sending is not None:
                self._sending.told = self._sending.seen
                self.dropped += 1

    def _send(self, series: _Series, now: int) -> None:
        seen, time = series.seen, rfc3339(series.last_wall, micro=True)
        # An event that is gone from the API (they live an hour) is made anew.
        if series.told == 0 or not self._client.count(series.event, series.name, seen, time):
            self._client.create(series.event, series.name, time)
        with self._lock:
            # What was counted before the event existed is told as a series of it.
            series.told = seen if series.told or seen == 1 else 1
            series.not_before = now + COUNT_EVERY

    def _forget_some(self, now: int) -> None:
        over = [key for key, each in self._series.items() if not each.news and now - each.last_at > FORGET]
        for key in over:
            del self._series[key]
        while len(self._series) > QUEUE:
            _, oldest = self._series.popitem(last=False)
            self.dropped += oldest.told == 0
