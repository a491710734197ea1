"""When collectors run, beside the loop and never in its way.

One thread does all collecting, in the order in which it was asked for: `begin` for what an eviction wants freed, `progress`
for what became of it, `perform_duties` for the kubelet's periodic collections. The loop only hands over values and takes
values back; the thread is the only one that talks to the runtime here, and it ends with the process.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from queue import SimpleQueue
from threading import Lock, Thread

from evictd.act.collect_containers import ContainerCollector
from evictd.act.collect_images import ImageCollector
from evictd.core import container_gc, image_gc
from evictd.core.config import EvictionConfig, ImageReclaim
from evictd.core.container_gc import PodFates
from evictd.core.decision import ReclaimNode, RecordEvent
from evictd.core.image_gc import ImageRecord
from evictd.core.observation import Reclaim, ReclaimOutcome
from evictd.guard import Complain, describe, to_stderr


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeMoment:
    """What collectors must know of the cycle that sends them: `now`, the time since the epoch, and the pods' fates."""

    now: int
    wall: int
    fates: PodFates


class Collector:
    """Both collectors and the thread that they run on.

    `wake` is called when what `begin` asked for is done, `complain` with what nobody foresaw.
    """

    def __init__(
        self,
        containers: ContainerCollector,
        images: ImageCollector,
        config: EvictionConfig,
        *,
        wake: Callable[[], None] = lambda: None,
        complain: Complain = to_stderr,
    ) -> None:
        self._wake = wake
        self._complain = complain
        self._containers = containers
        self._images = images
        self._config = config
        self._jobs: SimpleQueue[Callable[[], None] | None] = SimpleQueue()
        self._lock = Lock()
        self._outcomes: tuple[ReclaimOutcome, ...] | None = None
        self._request = 0
        self._events: list[RecordEvent] = []
        self._image_failures = 0
        self._duties_due = {Reclaim.CONTAINERS: 0, Reclaim.IMAGES: 0}
        self._busy_with_duties = False
        self._thread: Thread | None = None

    @property
    def image_records(self) -> Mapping[str, ImageRecord]:
        """What is remembered of the images, for the state file."""
        return self._images.records

    def reconfigure(self, config: EvictionConfig) -> None:
        """Obey another configuration from the next request on."""
        self._config = config
        self._containers.policy = config.container_gc
        self._images.policy = config.image_gc
        self._images.decision_policy = config.policy

    def begin(self, decision: ReclaimNode, moment: NodeMoment) -> None:
        """Start to free what the decision asks for; `progress` is `None` until it is done."""
        with self._lock:
            self._outcomes = None
            self._request += 1
            request = self._request
        problem = self._submit(lambda: self._reclaim(decision, moment, request))
        if problem:
            with self._lock:
                self._outcomes = tuple(ReclaimOutcome(action=action, error=problem) for action in decision.actions)
            self._wake()

    def progress(self) -> tuple[ReclaimOutcome, ...] | None:
        """Give what became of the last `begin`, one outcome for each action; `None` while it is under way."""
        with self._lock:
            return self._outcomes

    def perform_duties(self, moment: NodeMoment) -> None:
        """Start the periodic collections that are due; call once a cycle. They never queue up behind each other."""
        with self._lock:
            due = [action for action, at in self._duties_due.items() if moment.now >= at]
            if not due or self._busy_with_duties:
                return
            self._busy_with_duties = True
            self._duties_due.update({action: moment.now + _PERIODS[action] for action in due})
        problem = self._submit(lambda: self._run_duties(due, moment))
        if problem:
            with self._lock:
                self._busy_with_duties = False  # tried again when they are due again
            self._complain("collect", problem)

    def take_events(self) -> tuple[RecordEvent, ...]:
        """Give the events of collections since the last call."""
        with self._lock:
            events, self._events = tuple(self._events), []
        return events

    def close(self, timeout_seconds: float = 5.0) -> None:
        """Let the thread finish what it is at, for so long at the most."""
        thread = self._thread
        if thread is not None:
            self._jobs.put(None)
            thread.join(timeout_seconds)

    def _submit(self, job: Callable[[], None]) -> str:
        """Hand a job over; why it could not be, on a node that has no thread to give to the first one."""
        if self._thread is None:
            # A daemon thread: a runtime that hangs must not keep the process from ending.
            thread = Thread(target=self._work, name="collect", daemon=True)
            try:
                thread.start()
            except RuntimeError as error:
                return f"no thread to collect with: {error}"
            self._thread = thread
        self._jobs.put(job)
        return ""

    def _work(self) -> None:
        while (job := self._jobs.get()) is not None:
            try:
                job()
            except Exception as error:  # whatever it is: the next collection may do better
                self._complain("collect", describe(error))

    def _reclaim(self, decision: ReclaimNode, moment: NodeMoment, request: int) -> None:
        outcomes = tuple(self._perform(action, decision, moment) for action in decision.actions)
        with self._lock:
            # A request that was overtaken by another has no say.
            if request == self._request:
                self._outcomes = outcomes
        self._wake()

    def _perform(self, action: Reclaim, decision: ReclaimNode, moment: NodeMoment) -> ReclaimOutcome:
        try:
            if action is Reclaim.CONTAINERS:
                return self._containers.collect(moment.fates, evict_terminated=True, wall=moment.wall)
            return self._images.delete_unused(moment.now, decision.wanted_bytes)
        except Exception as error:  # whatever it is: the eviction waits for an outcome
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
        outcome = self._containers.collect(moment.fates, evict_terminated=False, wall=moment.wall)
        if not outcome.error:
            return ()
        return (RecordEvent(type="Warning", reason="ContainerGCFailed", message=outcome.error),)

    def _image_duty(self, moment: NodeMoment) -> tuple[RecordEvent, ...]:
        """Look at the images, and collect them if that is wanted; the first failure in a row is not told."""
        if self._config.reclaim_images is ImageReclaim.OFF or not image_gc.periodic_gc_enabled(self._config.image_gc):
            self._images.remember(moment.now)
            return ()
        outcome, events = self._images.collect_garbage(moment.now)
        self._image_failures = self._image_failures + 1 if outcome.error else 0
        if self._image_failures < 2:
            return events
        return (*events, RecordEvent(type="Warning", reason="ImageGCFailed", message=outcome.error))


_PERIODS = {Reclaim.CONTAINERS: container_gc.GC_PERIOD, Reclaim.IMAGES: image_gc.GC_PERIOD}
