"""Watches the pods that the API server has bound to this node.

Lists once (`spec.nodeName`), then watches from that resource version with bookmarks, so that a broken watch resumes at its
version; another list is needed only when the server no longer has that version (410). A list may be answered from the server's
cache, which has an index of nodes; a list of the latest version makes some servers read all pods of the cluster from etcd, and is
sent only when the cache's version was of no use, or the cache's list, which has no pages, too large: a pod's author can make the
object nine MiB long. One thread keeps an immutable snapshot up to date, which other threads read. The kubelet does the same in
`config/apiserver.go` with client-go's reflector.
"""

import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import field, replace

from evictd.clients.kube.backoff import RetryBackoff
from evictd.clients.kube.transport import LineStream, Transport
from evictd.codec.pods.slim_pods import PodEvent, SlimPod, WatchType, decode_event, decode_page
from evictd.core.frozen import frozen
from evictd.core.model.problem import shown
from evictd.core.units.duration import SECOND
from evictd.errors import ApiRefusedError, ApiResponseTooLargeError, ApiUnavailableError, EvictdError, InputError
from evictd.worker import STDERR, ErrorBackoff, ErrorReporter, start_thread

PODS = "/api/v1/pods"
PAGE = 250
"""Pods per page of a list: about two MiB in memory at a time instead of all pods."""
_SMALLER = 8
"""By how much a page becomes smaller that was too large."""
WATCH_SECONDS = 300
"""Least seconds after which the server ends a watch; up to twice as many, at random, to spread nodes (as in client-go)."""
MOST_EVICTED = 100
"""Evictions of the kubelet that are remembered; they are read once a cycle."""
_GONE = 410
_TOO_NEW = "Too large resource version"
"""Message of a server whose store was restored from a backup: it would reach the requested version only much later."""
_SHORT = 1 * SECOND
_CLOSE_SECONDS = 1.0
_ANY_VERSION, _LATEST = "0", ""
"""Versions of a list: whatever the server's cache has, and what etcd has (as client-go's reflector asks)."""


@frozen
class PodSnapshot:
    """The pods of the node at one resource version; immutable."""

    pods: Mapping[str, SlimPod] = field(default_factory=dict)
    """By uid."""
    resource_version: str = ""
    synced: bool = False
    """False until the first list is complete: the pods are unknown, which differs from there being none."""
    problem: str = ""
    """Why the snapshot is not up to date at the moment; empty while it is."""
    unreadable: tuple[str, ...] = ()
    """The pods left out because their objects cannot be decoded."""
    evicted_by_kubelet: tuple[SlimPod, ...] = ()
    """The last pods that a kubelet evicted, oldest first, at most `MOST_EVICTED`; an owner may have deleted them since."""

    @property
    def unread_parts(self) -> tuple[str, ...]:
        """One line for each pod of which some fields could not be decoded."""
        entries = sorted((each for each in self.pods.values() if each.unread), key=lambda each: each.pod.full_name)
        return tuple(f"{each.pod.full_name}: cannot be read: {', '.join(each.unread[:5])}" for each in entries)


class PodWatch:
    """Keeps `snapshot` up to date in one thread, from `start` to `close`.

    `clock` is in nanoseconds, `random() -> [0, 1)`. `changed` is called from the thread after pods or `synced` have changed, but
    not after an event that changed nothing of its pod but the version: a kubelet writes readiness and restarts all the time.
    """

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
        errors: ErrorReporter = STDERR,
    ) -> None:
        self._failures = ErrorBackoff("pod-watch", errors)
        self._transport = transport
        self._node_name = node_name
        self._clock = clock
        self._random = random
        self._changed = changed
        self._page = page
        self._watch_seconds = watch_seconds
        self._backoff = RetryBackoff(random)
        self._stop = threading.Event()
        self._lock = threading.Lock()
        self._stream: LineStream | None = None
        self._snapshot = PodSnapshot()
        self._list_from: str | None = _ANY_VERSION
        """The version that the next list must not be older than, `_LATEST` for a consistent one; `None`: no list is needed."""
        self._thread = threading.Thread(target=self._run, name="pod-watch", daemon=True)

    @property
    def snapshot(self) -> PodSnapshot:
        """The latest snapshot; reading it never blocks."""
        return self._snapshot

    def start(self) -> None:
        """Start the thread, which lists and watches."""
        start_thread(self._thread)

    def close(self) -> None:
        """End the watch and its thread; one whose request has no answer yet ends with the process."""
        self._stop.set()
        with self._lock:
            if self._stream is not None:
                self._stream.abort()
        if self._thread.is_alive():
            self._thread.join(_CLOSE_SECONDS)

    def _run(self) -> None:
        while not self._stop.is_set():
            now = self._clock()
            if not self._failures.run("follow", self._follow, now, otherwise=False):
                # Events may have been lost, so the next step is a list.
                self._list_from = self._known_version
                self._snapshot = replace(self._snapshot, problem="the watch failed with an unexpected error")
                self._wait(self._failures.wait(now) or _SHORT)

    def _follow(self) -> bool:
        """List if needed, and watch once; after an expected error (`EvictdError`) wait for the back-off."""
        listed = self._list_from is not None
        try:
            if self._list_from is not None:
                self._list(self._list_from)
            began = self._clock()
            self._watch()
        except EvictdError as error:
            self._failed(error, listed=listed)
            return True
        # Back off also if the server ends watches immediately without an error.
        if self._clock() - began < _SHORT:
            self._wait(self._backoff.next())
        else:
            self._backoff.reset()
        return True

    def _failed(self, error: EvictdError, *, listed: bool) -> None:
        if self._stop.is_set():
            return
        if isinstance(error, ApiResponseTooLargeError):
            self._ask_for_less()
        elif _TOO_NEW in str(error):
            self._list_from = _LATEST
        elif isinstance(error, ApiRefusedError) and error.status == _GONE:
            self._list_from = _LATEST if listed else self._known_version
        if self._list_from is not None and not listed:
            self._backoff.reset()  # the server answers again; only a version that it has just given must not be lost at once
        self._publish(replace(self._snapshot, problem=str(error)))
        after = error.retry_after_seconds if isinstance(error, ApiUnavailableError) else None
        self._wait(self._backoff.next(after))

    def _ask_for_less(self) -> None:
        """List in pages, and then in smaller ones; after a watch event that is too long list as usual."""
        if self._list_from == _LATEST:
            self._page = max(self._page // _SMALLER, 1)
        self._list_from = self._known_version if self._list_from is None else _LATEST

    def _list(self, version: str) -> None:
        """Read all pages, then publish them as one snapshot."""
        pods: dict[str, SlimPod] = {}
        unreadable: list[str] = []
        query = {"fieldSelector": f"spec.nodeName={self._node_name}"}
        if version == _LATEST:
            query["limit"] = str(self._page)
        else:  # a limit would have the server read from etcd all the same
            query |= {"resourceVersion": version, "resourceVersionMatch": "NotOlderThan"}
        while True:
            page = decode_page(self._transport.request("GET", PODS, query=query).data)
            unreadable += page.unreadable
            for entry in page.pods:
                if self._is_ours(entry):
                    pods[entry.pod.uid] = entry
                else:
                    unreadable.append(_elsewhere(entry))
            if not page.continue_token:
                break
            query["continue"] = page.continue_token
        self._list_from = None
        self._publish(
            PodSnapshot(
                pods=pods,
                resource_version=page.resource_version,
                synced=True,
                unreadable=tuple(unreadable),
                evicted_by_kubelet=_with_evicted(self._snapshot, pods.values()),
            )
        )

    def _is_ours(self, entry: SlimPod) -> bool:
        """Whether the pod is of this node, which the field selector asks for and not every proxy passes on."""
        return entry.node_name in ("", self._node_name)

    @property
    def _known_version(self) -> str:
        return self._snapshot.resource_version or _ANY_VERSION

    def _watch(self) -> None:
        """Apply the changes until the server ends the watch."""
        seconds = int(self._watch_seconds * (1 + self._random()))
        stream = self._transport.stream(
            PODS,
            query={
                "watch": "1",
                "fieldSelector": f"spec.nodeName={self._node_name}",
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
        spoke = False
        try:
            self._publish(replace(self._snapshot, problem=""))
            for line in stream:
                self._apply(line)
                spoke = True
        finally:
            with self._lock:
                self._stream = None
            stream.close()
        if not spoke:
            # Either nothing has happened, or this was not a watch: events would be missing for ever (client-go: "very short
            # watch"). A list from the server's cache tells, at most one in `WATCH_SECONDS`.
            self._list_from = self._known_version

    def _apply(self, line: bytes) -> None:
        try:
            event = decode_event(line)
        except InputError as error:
            # The event's pod is unknown; a list puts it among the unreadable ones and continues with the others.
            self._list_from = self._known_version
            raise ApiUnavailableError(str(error)) from error
        if event.type is WatchType.ERROR:
            text = f"watch: {event.status} {event.message}"
            raise ApiRefusedError(text, status=_GONE) if event.status == _GONE else ApiUnavailableError(text)
        if event.pod is not None and not self._is_ours(event.pod):
            raise ApiUnavailableError(f"watch: {_elsewhere(event.pod)}")
        self._backoff.reset()
        known = self._snapshot.pods
        self._publish(applied(self._snapshot, event), unchanged=_only_version_differs(known, event))

    def _publish(self, snapshot: PodSnapshot, *, unchanged: bool = False) -> None:
        changed = snapshot.pods is not self._snapshot.pods or snapshot.synced is not self._snapshot.synced
        self._snapshot = snapshot
        if changed and not unchanged:
            self._changed()

    def _wait(self, nanoseconds: int) -> None:
        self._stop.wait(nanoseconds / SECOND)


def applied(snapshot: PodSnapshot, event: PodEvent) -> PodSnapshot:
    """Return the snapshot after one event; a bookmark changes only the version."""
    version = event.resource_version or snapshot.resource_version
    if event.pod is None:
        return replace(snapshot, resource_version=version, problem="")
    pods = dict(snapshot.pods)
    if event.type is WatchType.DELETED:
        pods.pop(event.pod.pod.uid, None)
    else:
        pods[event.pod.pod.uid] = event.pod
    evicted = _with_evicted(snapshot, (event.pod,))
    return replace(snapshot, pods=pods, resource_version=version, problem="", evicted_by_kubelet=evicted)


def _with_evicted(snapshot: PodSnapshot, seen: Iterable[SlimPod]) -> tuple[SlimPod, ...]:
    """Return the remembered evictions of the kubelet with those among the pods seen that are new.

    One that is remembered no more is not new: its object may stay for weeks, and each list has it again.
    """
    known = {each.pod.uid for each in snapshot.evicted_by_kubelet}
    fresh = [each for each in seen if each.evicted_by_kubelet and each.pod.uid not in known]
    fresh = [each for each in fresh if not _was_evicted(snapshot.pods.get(each.pod.uid))]
    fresh.sort(key=lambda each: (each.disrupted_at, each.pod.full_name))
    return (*snapshot.evicted_by_kubelet, *fresh)[-MOST_EVICTED:] if fresh else snapshot.evicted_by_kubelet


def _was_evicted(before: SlimPod | None) -> bool:
    return before is not None and before.evicted_by_kubelet


def _only_version_differs(known: Mapping[str, SlimPod], event: PodEvent) -> bool:
    """Whether an event changes nothing that is kept of the pod but its resourceVersion."""
    pod = event.pod
    before = None if pod is None or event.type is WatchType.DELETED else known.get(pod.pod.uid)
    return before is not None and pod == replace(before, resource_version=event.resource_version)


def _elsewhere(entry: SlimPod) -> str:
    return f"pod {shown(entry.pod.full_name)}: it is bound to another node, {shown(entry.node_name)}"
