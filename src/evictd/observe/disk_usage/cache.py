"""Keeps the last measured disk usage of each pod, renewed by a thread in the background.

A walk may take minutes, so an observation never waits for one: it takes the last result with the time of its measurement, raised
to what a walk under way has counted so far. Only requested pods are walked, by turns (`turns`): none while no disk threshold is
near and no pod has a limit on ephemeral storage. After a crossing `renew_since` begins the walks before the next observation, and
`wake` is called once when those of the pods that write the most are made and once when all are, because a decision may wait for
either.
"""

import threading
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from functools import partial
from typing import NamedTuple

from evictd.core.model.observation import Problem
from evictd.core.units.duration import SECOND
from evictd.observe.disk_usage.pod_disk import DiskRequest, PodDisk
from evictd.observe.disk_usage.rate_limiter import RateLimiter
from evictd.observe.disk_usage.turns import Measurement, Turns
from evictd.observe.disk_usage.walk_age import ENFORCED, WalkAge
from evictd.observe.disk_usage.writers import DiskGrowth
from evictd.worker import STDERR, ErrorBackoff, ErrorReporter, start_thread

STALLED = 30 * SECOND
"""Nanoseconds without progress after which a walk is reported as hanging."""
_IDLE_SECONDS = 60.0


class _Progress(NamedTuple):
    """The pod of a walk under way, and since when the number of all walked entries is the same."""

    uid: str
    entries: int
    since: int


class DiskUsageCache:
    """The last result of each pod, and the thread that renews those of requested pods.

    `begin` and what it begins run in the thread only; an exception is reported once and the pod is skipped for a while
    (`ErrorBackoff`). `limiter` counts the entries walked. `clock` is in nanoseconds, as all times here. With `at_once` there is
    no thread and nothing to start: `set_requests` measures every pod that is due before it returns.
    """

    def __init__(
        self,
        begin: Callable[[DiskRequest], Measurement],
        *,
        clock: Callable[[], int],
        limiter: RateLimiter | None = None,
        wake: Callable[[], None] = lambda: None,
        errors: ErrorReporter = STDERR,
        at_once: bool = False,
    ) -> None:
        self.wakes = 0
        """Number of requests that have woken the thread because a pod was due."""
        self._backoff = ErrorBackoff("disk-usage", errors)
        self.limiter = limiter or RateLimiter()
        self._turns = Turns(begin, lambda: self.limiter.entries)
        self._clock = clock
        self._at_once = at_once
        self._call = wake
        self._called_for = 0
        """The time since which all pods were measured when `wake` was called last."""
        self._called_for_writers = 0
        """The time since which the pods that write the most were measured when `wake` was called last."""
        self._age = WalkAge()
        self._lock = threading.Lock()
        self._wake = threading.Event()
        self._stopped = threading.Event()
        self._requests: dict[str, DiskRequest] = {}
        self._results: dict[str, PodDisk] = {}
        self._counted: dict[str, PodDisk] = {}
        """Counts of the walks under way, and of those abandoned since the last result."""
        self._growth = DiskGrowth()
        self._walking: DiskRequest | None = None
        self._progress: _Progress | None = None
        self._thread: threading.Thread | None = None

    def set_requests(self, requests: Iterable[DiskRequest], *, active: Iterable[str], age: WalkAge) -> None:
        """Replace the pods to keep measuring, most important first; drops results of pods whose uid is not in `active`.

        `age` says how old results may become; those of a pod with a limit of its own at most `ENFORCED`.
        """
        by_uid = {request.uid: request for request in requests}
        active_uids = set(active)
        with self._lock:
            self._requests = by_uid
            self._results = {uid: result for uid, result in self._results.items() if uid in active_uids}
            self._counted = {uid: counted for uid, counted in self._counted.items() if uid in active_uids}
            self._growth.keep(active_uids)
            self._age = age
        if self._at_once:
            self._renew_all()
        elif self._walking is None and self._until_due(self._clock()) == 0:
            self.wakes += 1
            self._wake.set()

    def paused(self) -> AbstractContextManager[None]:
        """Return a context in which the thread's walks pause."""
        return nullcontext() if self._at_once else self.limiter

    def renew_since(self, since: int) -> None:
        """Measure again what was measured before this time; does nothing where that was asked for since."""
        with self._lock:
            if since <= self._age.since:
                return
            self._age = replace(self._age, since=since)
        if self._walking is None:
            self._wake.set()

    def find(self, uid: str) -> PodDisk | None:
        """Return the pod's last result, of any age (`PodDisk.time`), raised to what was counted since; `None` without any."""
        with self._lock:
            result, counted = self._results.get(uid), self._counted.get(uid)
        return counted if result is None else result if counted is None else result.raised(counted)

    def problems(self, now: int) -> tuple[Problem, ...]:
        """Return a problem if the current walk has made no progress for `STALLED`; to be called once a cycle."""
        walking = self._walking
        if walking is None:
            self._progress = None
            return ()
        last, entries = self._progress, self.limiter.entries
        if last is None or (last.uid, last.entries) != (walking.uid, entries):
            last = self._progress = _Progress(walking.uid, entries, now)
        waited = now - last.since
        if waited < STALLED:
            return ()
        return (Problem(source="disk usage", detail=f"no progress in {waited // SECOND} s at pod {walking.full_name}"),)

    def start(self) -> None:
        """Start the thread. It ends after `stop`; in a walk on a hung mount, it ends with the process (daemon thread).

        Raises `NodeError` where the node gives no thread; the daemon then ends with that message and is started again.
        """
        thread = threading.Thread(target=self._run, name="disk-usage", daemon=True)
        start_thread(thread)
        self._thread = thread

    def stop(self, timeout_seconds: float = 5.0) -> None:
        """Request the thread's end after the current turn, and wait for it at most `timeout_seconds`."""
        self._stopped.set()
        self._wake.set()
        if self._thread is not None:
            self._thread.join(timeout_seconds)

    def _renew_all(self) -> None:
        """Measure each pod that is due, until it has a result; those that fail are left out."""
        wanted = {request.uid for request in self._due(self._clock())} | self._turns.uids
        before = {uid: self._results.get(uid) for uid in wanted}
        while wanted and self.take_turn():
            wanted = {uid for uid in wanted if self._results.get(uid) is before[uid]}

    def take_turn(self) -> bool:
        """Continue measuring one pod whose result is too old, for one turn. Return False if there is none."""
        now = self._clock()
        with self._lock:
            requested = [*self._requests]
        self._turns.keep(requested)
        request = self._turns.next(self._due(now))
        if request is None:
            return False
        self._walking = request
        found = self._backoff.run(request.uid, partial(self._turns.take, request), now, otherwise=None)
        self._walking = None
        with self._lock:
            if found is None or found.time is not None:
                self._counted.pop(request.uid, None)
            elif request.uid in self._requests:
                known = self._counted.get(request.uid)
                self._counted[request.uid] = found if known is None else found.raised(known)
            if found is not None and found.time is not None:
                self._growth.update(request.uid, self._results.get(request.uid), found)
                self._results[request.uid] = found
        return True

    def _due(self, now: int) -> list[DiskRequest]:
        """Return the requests whose result is too old: without one first, then the longest due, then in order of the requests.

        Those of pods that grow fastest are marked as of pods that write the most.
        """
        under_way = self._turns.uids
        with self._lock:
            fastest = self._growth.fastest()
            due = [
                (at, place, replace(request, writes_most=True) if request.uid in fastest else request)
                for place, request in enumerate(self._requests.values())
                if (at := self._due_at(request)) <= now
                and request.uid not in under_way
                and not self._backoff.rests(request.uid, now)
            ]
        return [request for _, _, request in sorted(due, key=lambda row: row[:2])]

    def _due_at(self, request: DiskRequest) -> int:
        """Return when a pod is to be measured again, on the clock; in the past if it is due."""
        known = self._results.get(request.uid)
        if known is None or known.time is None:
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
            since = self._age.since  # a crossing that comes after this may find something due again
            if self._backoff.run("step", self.take_turn, self._clock(), otherwise=False):
                self._report_writers_measured(since)
            else:
                self._report_all_measured(since)
                until = self._until_due(self._clock())
                # At least a second: a pod whose measurement failed stays due while it rests.
                self._wake.wait(_IDLE_SECONDS if until is None else max(1.0, until / SECOND))
                self._wake.clear()  # before the next look at what may have changed, and at whether to end

    def _report_writers_measured(self, since: int) -> None:
        """Call `wake` once per crossing, when the pods that write the most were measured since."""
        if since <= self._called_for_writers:
            return
        with self._lock:
            marked = {request.uid for request in self._requests.values() if request.writes_most}
            results = [self._results.get(uid) for uid in marked | (self._growth.fastest() & self._requests.keys())]
        if results and all(each is not None and each.time is not None and each.time >= since for each in results):
            self._called_for_writers = since
            self._call()

    def _report_all_measured(self, since: int) -> None:
        """Call `wake` once per crossing, when all pods were measured since, except those in an error back-off."""
        if self._requests and since > self._called_for:
            self._called_for = self._called_for_writers = since
            self._call()
