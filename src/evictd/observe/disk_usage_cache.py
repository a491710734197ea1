"""How old is what we know of a pod's disk usage?

Walks are slow, so one thread makes them in the background and the observation takes what there is, with its age. Only pods that
were asked for are walked: where the filesystem is calm and the pod has no limit of its own, nobody looks at all.
"""

import threading
from collections.abc import Callable, Iterable
from functools import partial

from evictd.core.duration import SECOND
from evictd.core.observation import Problem
from evictd.guard import Complain, Guard, to_stderr
from evictd.observe.pace import Pace
from evictd.observe.pod_disk import DiskRequest, PodDisk

MAX_AGE = 10 * SECOND
"""How old a wanted result may become before it is measured again."""
STALLED = 30 * SECOND
"""A walk without any progress for so long hangs, and is told of."""
_IDLE_SECONDS = 60.0


class DiskUsageCache:
    """The last result of each pod, and a thread that renews those that are wanted."""

    def __init__(
        self,
        measure: Callable[[DiskRequest], PodDisk],
        *,
        clock: Callable[[], int],
        pace: Pace | None = None,
        max_age: int = MAX_AGE,
        complain: Complain = to_stderr,
    ) -> None:
        self._guard = Guard("disk-usage", complain)
        self.pace = pace or Pace()
        """Whoever needs quiet holds it: `with cache.pace: ...`."""
        self._measure = measure
        self._clock = clock
        self._max_age = max_age
        self._lock = threading.Lock()
        self._wake = threading.Event()
        self._stopped = threading.Event()
        self._wanted: dict[str, DiskRequest] = {}
        self._results: dict[str, PodDisk] = {}
        self._walking: DiskRequest | None = None
        self._progress: tuple[str, int, int] | None = None
        self._thread: threading.Thread | None = None

    def want(self, requests: Iterable[DiskRequest], *, active: Iterable[str]) -> None:
        """Say which pods to keep measuring, in this order; results of pods that are not active any more are dropped."""
        wanted = {request.uid: request for request in requests}
        keep = set(active)
        with self._lock:
            self._wanted = wanted
            self._results = {uid: result for uid, result in self._results.items() if uid in keep}
        self._wake.set()

    def find(self, uid: str) -> PodDisk | None:
        """Give the last result, however old: its time says so."""
        return self._results.get(uid)

    def problems(self, now: int) -> tuple[Problem, ...]:
        """Say which walk makes no progress."""
        walking = self._walking
        if walking is None:
            self._progress = None
            return ()
        entries = self.pace.entries
        if self._progress is None or self._progress[:2] != (walking.uid, entries):
            self._progress = (walking.uid, entries, now)
        waited = now - self._progress[2]
        if waited < STALLED:
            return ()
        return (Problem(source="disk usage", detail=f"no progress in {waited // SECOND} s at pod {walking.full_name}"),)

    def start(self) -> None:
        """Start the thread; it ends with `stop`, or with the process if a mount hangs."""
        self._thread = threading.Thread(target=self._run, name="disk-usage", daemon=True)
        self._thread.start()

    def stop(self, timeout_seconds: float = 5.0) -> None:
        """Ask the thread to end after the walk that it is in."""
        self._stopped.set()
        self._wake.set()
        if self._thread is not None:
            self._thread.join(timeout_seconds)

    def renew_one(self) -> bool:
        """Measure the pod that needs it most; false when there is none."""
        now = self._clock()
        request = self._next(now)
        if request is None:
            return False
        self._walking = request
        result = self._guard.run(request.uid, partial(self._measure, request), now, otherwise=None)
        self._walking = None
        if result is not None:
            with self._lock:
                self._results[request.uid] = result
        return True

    def _next(self, now: int) -> DiskRequest | None:
        with self._lock:
            due = [
                (known.time if (known := self._results.get(uid)) is not None else -1, place, request)
                for place, (uid, request) in enumerate(self._wanted.items())
                if not self._guard.rests(uid, now)
            ]
        time, _, request = min(due, default=(now, 0, None), key=lambda row: row[:2])
        return request if time < 0 or now - time >= self._max_age else None

    def _run(self) -> None:
        while not self._stopped.is_set():
            self._wake.clear()
            if not self._guard.run("step", self.renew_one, self._clock(), otherwise=False):
                seconds = self._max_age / SECOND if self._wanted else _IDLE_SECONDS
                self._wake.wait(seconds)
