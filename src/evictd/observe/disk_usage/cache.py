"""Keeps the last measured disk usage of each pod, renewed by a thread in the background.

A walk may take minutes, so an observation never waits for one: it takes the last result with the time of its measurement. Only
requested pods are walked: none while no disk threshold is near and no pod has a limit on ephemeral storage.
"""

import threading
from collections.abc import Callable, Iterable
from functools import partial

from evictd.core.model.observation import Problem
from evictd.core.units.duration import SECOND
from evictd.errors import NodeError
from evictd.observe.disk_usage.pod_disk import DiskRequest, PodDisk
from evictd.observe.disk_usage.rate_limiter import RateLimiter
from evictd.observe.disk_usage.walk_age import ENFORCED, WalkAge
from evictd.worker import STDERR, ErrorBackoff, ErrorReporter

STALLED = 30 * SECOND
"""Nanoseconds without progress after which a walk is reported as hanging."""
_IDLE_SECONDS = 60.0


class DiskUsageCache:
    """The last result of each pod, and the thread that renews those of requested pods.

    `measure` runs in the thread only; an exception from it is reported once and the pod is skipped for a while
    (`ErrorBackoff`). `limiter` counts the entries walked; holding it (`with cache.limiter:`) makes walks pause. `clock` is in
    nanoseconds, as all times here.
    """

    def __init__(
        self,
        measure: Callable[[DiskRequest], PodDisk],
        *,
        clock: Callable[[], int],
        limiter: RateLimiter | None = None,
        errors: ErrorReporter = STDERR,
    ) -> None:
        self.wakes = 0
        """How often a request has woken the thread; one that makes no pod due does not."""
        self._backoff = ErrorBackoff("disk-usage", errors)
        self.limiter = limiter or RateLimiter()
        self._measure = measure
        self._clock = clock
        self._age = WalkAge()
        self._lock = threading.Lock()
        self._wake = threading.Event()
        self._stopped = threading.Event()
        self._requests: dict[str, DiskRequest] = {}
        self._results: dict[str, PodDisk] = {}
        self._walking: DiskRequest | None = None
        self._progress: tuple[str, int, int] | None = None
        self._thread: threading.Thread | None = None

    def set_requests(
        self, requests: Iterable[DiskRequest], *, active: Iterable[str], age: WalkAge | None = None
    ) -> None:
        """Replace the pods to keep measuring, most important first; drops results of pods whose uid is not in `active`.

        `age` says how old results may become; those of a pod with a limit of its own at most `ENFORCED`.
        """
        by_uid = {request.uid: request for request in requests}
        active_uids = set(active)
        with self._lock:
            self._requests = by_uid
            self._results = {uid: result for uid, result in self._results.items() if uid in active_uids}
            self._age = age or WalkAge()
        if self._walking is None and self._until_due(self._clock()) == 0:
            self.wakes += 1
            self._wake.set()

    def find(self, uid: str) -> PodDisk | None:
        """Return the pod's last result, of any age (`PodDisk.time`); `None` before the first."""
        return self._results.get(uid)

    def problems(self, now: int) -> tuple[Problem, ...]:
        """Return a problem if the current walk has made no progress for `STALLED`; to be called once a cycle."""
        walking = self._walking
        if walking is None:
            self._progress = None
            return ()
        entries = self.limiter.entries
        if self._progress is None or self._progress[:2] != (walking.uid, entries):
            self._progress = (walking.uid, entries, now)
        waited = now - self._progress[2]
        if waited < STALLED:
            return ()
        return (Problem(source="disk usage", detail=f"no progress in {waited // SECOND} s at pod {walking.full_name}"),)

    def start(self) -> None:
        """Start the thread. It ends after `stop`; in a walk on a hung mount, it ends with the process (daemon thread).

        Raises `NodeError` where the node gives no thread; the daemon then ends with that message and is started again.
        """
        thread = threading.Thread(target=self._run, name="disk-usage", daemon=True)
        try:
            thread.start()
        except RuntimeError as error:
            raise NodeError(f"disk usage: {error}") from error
        self._thread = thread

    def stop(self, timeout_seconds: float = 5.0) -> None:
        """Request the thread's end after its current walk, and wait for it at most `timeout_seconds`."""
        self._stopped.set()
        self._wake.set()
        if self._thread is not None:
            self._thread.join(timeout_seconds)

    def renew_one(self) -> bool:
        """Measure the requested pod with the oldest result; returns False if none is due."""
        now = self._clock()
        request = self._next(now)
        if request is None:
            return False
        self._walking = request
        result = self._backoff.run(request.uid, partial(self._measure, request), now, otherwise=None)
        self._walking = None
        if result is not None:
            with self._lock:
                self._results[request.uid] = result
        return True

    def _next(self, now: int) -> DiskRequest | None:
        """Return the request whose result is too old by the most, in order of the requests; those without a result first."""
        with self._lock:
            due = [
                (self._due_at(request), place, request)
                for place, request in enumerate(self._requests.values())
                if not self._backoff.rests(request.uid, now)
            ]
        at, _, request = min(due, default=(now + 1, 0, None), key=lambda row: row[:2])
        return request if at <= now else None

    def _due_at(self, request: DiskRequest) -> int:
        """Return when a pod is to be measured again, on the clock; in the past if it is due."""
        known = self._results.get(request.uid)
        if known is None:
            return -1
        longest = min(self._age.longest, ENFORCED) if request.limited else self._age.longest
        return known.time if known.time < self._age.since else known.time + longest

    def _until_due(self, now: int) -> int | None:
        """Return the nanoseconds until a result is too old; `None` without requests."""
        with self._lock:
            times = [self._due_at(request) for request in self._requests.values()]
        return max(0, min(times) - now) if times else None

    def _run(self) -> None:
        while not self._stopped.is_set():
            self._wake.clear()
            if not self._backoff.run("step", self.renew_one, self._clock(), otherwise=False):
                until = self._until_due(self._clock())
                # At least a second: a pod whose measurement failed stays due while it rests.
                self._wake.wait(_IDLE_SECONDS if until is None else max(1.0, until / SECOND))
