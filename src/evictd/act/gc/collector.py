"""Runs the garbage collectors on one thread, so that they never block the main loop.

The thread performs collections in the order of the requests: `begin` starts node-level reclaim for an eviction, `progress`
returns its outcomes, `perform_duties` starts the kubelet's periodic collections. The loop only exchanges values with the thread.
The thread is a daemon thread: it ends with the process.
"""

from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import replace
from queue import SimpleQueue
from threading import Lock, Thread

from evictd.act.gc.containers import ContainerCollector
from evictd.act.gc.images import ImageCollector
from evictd.core.frozen import frozen
from evictd.core.gc import container_gc, image_gc
from evictd.core.gc.container_gc import PodLifecycles
from evictd.core.gc.image_gc import ImageRecord
from evictd.core.model.config import EvictionConfig, ImageReclaim
from evictd.core.model.decision import ReclaimNode, RecordEvent
from evictd.core.model.observation import Reclaim, ReclaimOutcome
from evictd.core.model.signal import Filesystem
from evictd.worker import STDERR, ErrorReporter, describe

_KEPT_TIMES = 8
"""The number of collections whose times are remembered: a slow one counts until as many others were faster."""
_PERIODS = {Reclaim.CONTAINERS: container_gc.GC_PERIOD, Reclaim.IMAGES: image_gc.GC_PERIOD}


@frozen
class NodeMoment:
    """What a collection needs from its cycle: boot-time `now` and `wall` since 1970, in nanoseconds, and pod lifecycles."""

    now: int
    wall: int
    lifecycles: PodLifecycles


class Collector:
    """Both collectors and their thread.

    `clock` returns nanoseconds. `wake` is called when a request of `begin` is done; `errors` gets unforeseen exceptions.
    """

    def __init__(
        self,
        containers: ContainerCollector,
        images: ImageCollector,
        config: EvictionConfig,
        *,
        clock: Callable[[], int] = lambda: 0,
        wake: Callable[[], None] = lambda: None,
        errors: ErrorReporter = STDERR,
    ) -> None:
        self._clock = clock
        self._wake = wake
        self._errors = errors
        self._containers = containers
        self._images = images
        self._config = config
        self._jobs: SimpleQueue[Callable[[], None] | None] = SimpleQueue()
        self._lock = Lock()
        self._outcomes: dict[Filesystem | None, tuple[ReclaimOutcome, ...]] = {}
        self._requests: dict[Filesystem | None, int] = {}
        self._times: deque[int] = deque(maxlen=_KEPT_TIMES)
        self._events: list[RecordEvent] = []
        self._image_failures = 0
        self._duties_due = {Reclaim.CONTAINERS: 0, Reclaim.IMAGES: 0}
        self._busy_with_duties = False
        self._thread: Thread | None = None

    @property
    def image_records(self) -> Mapping[str, ImageRecord]:
        """The image records, for the state file."""
        return self._images.records

    @property
    def unused_images(self) -> int | None:
        """The bytes of the images that may be removed, as last listed; `None` before the first list. No call of the runtime."""
        return self._images.unused_bytes

    def reconfigure(self, config: EvictionConfig) -> None:
        """Use another configuration from the next request on."""
        self._config = config
        self._containers.policy = config.container_gc
        self._images.policy = config.image_gc
        self._images.decision_policy = config.policy

    def begin(self, decision: ReclaimNode, moment: NodeMoment) -> None:
        """Start the reclaim of the decision; `progress` returns `None` until it is done."""
        with self._lock:
            self._outcomes.pop(decision.device, None)
            request = self._requests[decision.device] = self._requests.get(decision.device, 0) + 1
        problem = self._submit(lambda: self._reclaim(decision, moment, request))
        if problem:
            failed = (ReclaimOutcome(action=a, error=problem, device=decision.device) for a in decision.actions)
            with self._lock:
                self._outcomes[decision.device] = tuple(failed)
            self._wake()

    def progress(self) -> tuple[ReclaimOutcome, ...] | None:
        """Return the outcomes of the last `begin` of each device, one for each action; `None` while none has ended."""
        with self._lock:
            return tuple(outcome for each in self._outcomes.values() for outcome in each) if self._outcomes else None

    @property
    def longest_collection(self) -> int | None:
        """The nanoseconds of the longest of the last collections for an eviction; `None` before the first."""
        return max((*self._times,), default=None)

    def collecting(self) -> frozenset[Filesystem]:
        """Return the devices for which a request of `begin` is running."""
        with self._lock:
            return frozenset(d for d in self._requests if d is not None and d not in self._outcomes)

    def perform_duties(self, moment: NodeMoment) -> None:
        """Start the periodic collections that are due, unless earlier ones still run; call once a cycle."""
        with self._lock:
            due = [action for action, at in self._duties_due.items() if moment.now >= at]
            if not due or self._busy_with_duties:
                return
            self._busy_with_duties = True
            self._duties_due.update({action: moment.now + _PERIODS[action] for action in due})
        problem = self._submit(lambda: self._run_duties(due, moment))
        if problem:
            with self._lock:
                self._busy_with_duties = False  # retried when they are due again
            self._errors.report_error("collect", problem)

    def take_events(self) -> tuple[RecordEvent, ...]:
        """Return the events of collections since the last call."""
        with self._lock:
            events, self._events = tuple(self._events), []
        return events

    def close(self, timeout_seconds: float = 5.0) -> None:
        """End the thread after its current collection, waiting for at most `timeout_seconds`."""
        thread = self._thread
        if thread is not None:
            self._jobs.put(None)
            thread.join(timeout_seconds)

    def _submit(self, job: Callable[[], None]) -> str:
        """Queue a job; returns an error text if the thread cannot be started, as on a node without free PIDs."""
        if self._thread is None:
            # A daemon thread, so that a runtime that hangs does not keep the process from ending.
            thread = Thread(target=self._work, name="collect", daemon=True)
            try:
                thread.start()
            except RuntimeError as error:
                return f"cannot start the collector's thread: {error}"
            self._thread = thread
        self._jobs.put(job)
        return ""

    def _work(self) -> None:
        while (job := self._jobs.get()) is not None:
            try:
                job()
            except Exception as error:  # unforeseen: reported, and the next collection is tried
                self._errors.report_error("collect", describe(error))

    def _reclaim(self, decision: ReclaimNode, moment: NodeMoment, request: int) -> None:
        device, begun = decision.device, self._clock()
        actions = (*decision.actions, *decision.measured)
        outcomes = tuple(replace(self._perform(action, decision, moment), device=device) for action in actions)
        self._times.append(self._clock() - begun)
        with self._lock:
            # The outcome of a request that a later one for the same device replaced is dropped.
            if request == self._requests[device]:
                self._outcomes[device] = outcomes
        self._wake()

    def _perform(self, action: Reclaim, decision: ReclaimNode, moment: NodeMoment) -> ReclaimOutcome:
        try:
            if action is Reclaim.CONTAINERS:
                return self._containers.collect(moment.lifecycles, evict_terminated=True, wall=moment.wall)
            if action is Reclaim.ROTATED_LOGS:
                return self._containers.collect_rotated_logs(moment.wall, remove=action in decision.actions)
            return self._images.delete_unused(moment.now, decision.wanted_bytes)
        except Exception as error:  # unforeseen: the eviction needs an outcome
            return ReclaimOutcome(action=action, error=describe(error))

    def _run_duties(self, due: list[Reclaim], moment: NodeMoment) -> None:
        events: list[RecordEvent] = []
        try:
            if Reclaim.CONTAINERS in due and self._config.reclaim_containers:
                events += self._container_duty(moment)
            if Reclaim.IMAGES in due:
                events += self._image_duty(moment)
        finally:
            with self._lock:
                self._events += events
                self._busy_with_duties = False

    def _container_duty(self, moment: NodeMoment) -> tuple[RecordEvent, ...]:
        outcome = self._containers.collect(moment.lifecycles, evict_terminated=False, wall=moment.wall)
        if not outcome.error:
            return ()
        return (RecordEvent(type="Warning", reason="ContainerGCFailed", message=outcome.error),)

    def _image_duty(self, moment: NodeMoment) -> tuple[RecordEvent, ...]:
        """Update the image records and collect images if configured; the first failure in a row is not reported."""
        if self._config.reclaim_images is ImageReclaim.OFF or not image_gc.periodic_gc_enabled(self._config.image_gc):
            self._images.remember(moment.now)
            return ()
        outcome, events = self._images.collect_garbage(moment.now)
        self._image_failures = self._image_failures + 1 if outcome.error else 0
        if self._image_failures < 2:
            return events
        return (*events, RecordEvent(type="Warning", reason="ImageGCFailed", message=outcome.error))
