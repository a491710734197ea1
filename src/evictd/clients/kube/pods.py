"""Which pods does the API server bind to this node?

List once, then watch from there (`spec.nodeName`), with bookmarks, so that a broken watch resumes where it was; only a
version that the server has forgotten (410) costs another list. One thread keeps an immutable snapshot up to date; everybody
else only reads it. Kubelet `config/apiserver.go` on client-go's reflector.
"""

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from evictd.clients.kube.backoff import Backoff
from evictd.clients.kube.transport import LineStream, Transport
from evictd.codec.slim_pods import PodEvent, SlimPod, WatchType, decode_event, decode_page
from evictd.core.duration import SECOND
from evictd.errors import ApiRefusedError, ApiUnavailableError, EvictdError, InputError
from evictd.guard import Complain, Guard, to_stderr

PODS = "/api/v1/pods"
PAGE = 250
"""Pods per page: two MiB at a time instead of all in memory at once."""
WATCH_SECONDS = 300
"""The server ends a watch after this long, up to twice as long; the spread keeps nodes apart (client-go's figures)."""
_GONE = 410
_TOO_NEW = "Too large resource version"
"""What a server says whose store was restored from a backup: waiting for our version would be for ever."""
_SHORT = 1 * SECOND


@dataclass(frozen=True, slots=True, kw_only=True)
class PodSnapshot:
    """The pods of the node at one resource version; never changed once published."""

    pods: Mapping[str, SlimPod] = field(default_factory=dict)
    """By uid."""
    resource_version: str = ""
    synced: bool = False
    """False until the first list is complete: then nothing is known, which is not the same as no pods."""
    heard_at: int = 0
    """When the server last said something about pods, `clock` nanoseconds."""
    problem: str = ""
    """Why the snapshot is not being kept up to date at the moment; empty while it is."""
    unreadable: tuple[str, ...] = ()
    """Pods left out because their object cannot be read."""


class PodWatch:
    """Keeps `snapshot` up to date in a thread of its own, from `start` to `close`."""

    def __init__(
        self,
        transport: Transport,
        node_name: str,
        *,
        clock: Callable[[], int],
        random: Callable[[], float],
        changed: Callable[[], None] = lambda: None,
        page: int = PAGE,
        watch_seconds: int = WATCH_SECONDS,
        complain: Complain = to_stderr,
    ) -> None:
        self._guard = Guard("pod-watch", complain)
        self._transport = transport
        self._selector = f"spec.nodeName={node_name}"
        self._clock = clock
        self._random = random
        self._changed = changed
        self._page = page
        self._watch_seconds = watch_seconds
        self._backoff = Backoff(random)
        self._stop = threading.Event()
        self._lock = threading.Lock()
        self._stream: LineStream | None = None
        self._snapshot = PodSnapshot()
        self._relist = True
        self._thread = threading.Thread(target=self._run, name="pod-watch", daemon=True)

    @property
    def snapshot(self) -> PodSnapshot:
        """The latest state; reading it never waits."""
        return self._snapshot

    def start(self) -> None:
        """Begin to list and watch."""
        self._thread.start()

    def close(self) -> None:
        """End the watch and its thread."""
        self._stop.set()
        with self._lock:
            if self._stream is not None:
                self._stream.abort()
        if self._thread.is_alive():
            self._thread.join()

    def _run(self) -> None:
        while not self._stop.is_set():
            now = self._clock()
            if not self._guard.run("follow", self._follow, now, otherwise=False):
                # What the snapshot missed is unknown: begin again with a list.
                self._relist = True
                self._snapshot = replace(self._snapshot, problem="the watch failed in a way that nobody foresaw")
                self._wait(self._guard.wait(now) or _SHORT)

    def _follow(self) -> bool:
        """List if need be, and watch once; an error that was foreseen is waited out."""
        try:
            if self._relist:
                self._list()
            began = self._clock()
            self._watch()
        except EvictdError as error:
            self._failed(error)
            return True
        # A server that ends watches at once is not asked again at once.
        if self._clock() - began < _SHORT:
            self._wait(self._backoff.next())
        else:
            self._backoff.reset()
        return True

    def _failed(self, error: EvictdError) -> None:
        if self._stop.is_set():
            return
        if (isinstance(error, ApiRefusedError) and error.status == _GONE) or _TOO_NEW in str(error):
            self._relist = True
        self._publish(replace(self._snapshot, problem=str(error)))
        after = error.retry_after_seconds if isinstance(error, ApiUnavailableError) else None
        self._wait(self._backoff.next(after))

    def _list(self) -> None:
        """Read all pages, then publish them at once."""
        pods: dict[str, SlimPod] = {}
        unreadable: list[str] = []
        query = {"fieldSelector": self._selector, "limit": str(self._page)}
        while True:
            page = decode_page(self._transport.request("GET", PODS, query=query).data)
            pods.update((entry.pod.uid, entry) for entry in page.pods)
            unreadable += page.unreadable
            if not page.continue_token:
                break
            query["continue"] = page.continue_token
        self._relist = False
        self._publish(
            PodSnapshot(
                pods=pods,
                resource_version=page.resource_version,
                synced=True,
                heard_at=self._clock(),
                unreadable=tuple(unreadable),
            )
        )

    def _watch(self) -> None:
        """Follow the changes until the server ends the watch."""
        seconds = int(self._watch_seconds * (1 + self._random()))
        stream = self._transport.stream(
            PODS,
            query={
                "watch": "1",
                "fieldSelector": self._selector,
                "resourceVersion": self._snapshot.resource_version,
                "allowWatchBookmarks": "true",
                "timeoutSeconds": str(seconds),
            },
            idle_seconds=seconds + 30,
        )
        with self._lock:
            self._stream = stream
            if self._stop.is_set():
                stream.abort()
        try:
            self._publish(replace(self._snapshot, problem="", heard_at=self._clock()))
            for line in stream:
                self._take(line)
        finally:
            with self._lock:
                self._stream = None
            stream.close()

    def _take(self, line: bytes) -> None:
        try:
            event = decode_event(line)
        except InputError as error:
            # The one pod is unknown; a list names it among the unreadable and goes on with the others.
            self._relist = True
            raise ApiUnavailableError(str(error)) from error
        if event.type is WatchType.ERROR:
            if event.status == _GONE:
                self._relist = True
            raise ApiUnavailableError(f"watch: {event.status} {event.message}")
        self._backoff.reset()
        self._publish(applied(self._snapshot, event, self._clock()))

    def _publish(self, snapshot: PodSnapshot) -> None:
        news = snapshot.pods is not self._snapshot.pods or snapshot.synced is not self._snapshot.synced
        self._snapshot = snapshot
        if news:
            self._changed()

    def _wait(self, nanoseconds: int) -> None:
        self._stop.wait(nanoseconds / SECOND)


def applied(snapshot: PodSnapshot, event: PodEvent, now: int) -> PodSnapshot:
    """Give the snapshot after one event; a bookmark moves only the version."""
    version = event.resource_version or snapshot.resource_version
    if event.pod is None:
        return replace(snapshot, resource_version=version, heard_at=now, problem="")
    pods = dict(snapshot.pods)
    if event.type is WatchType.DELETED:
        pods.pop(event.pod.pod.uid, None)
    else:
        pods[event.pod.pod.uid] = event.pod
    return replace(snapshot, pods=pods, resource_version=version, heard_at=now, problem="")
