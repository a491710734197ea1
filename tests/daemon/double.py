"""A node to run the loop on: sights that a test wrote, hands that take notes, and the loop's other parts for real."""

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import structlog

from evictd.act.perform import Performer, Refusal
from evictd.act.victim import Termination
from evictd.core.config import EvictionConfig
from evictd.core.decision import EvictPod, ReclaimNode, RecordEvent
from evictd.core.observation import Observation, Outcomes, ReclaimOutcome
from evictd.core.signal import NodeCondition
from evictd.core.state import State
from evictd.daemon.housekeeping import Housekeeping, Parts
from evictd.daemon.journal_file import JournalFile
from evictd.daemon.look import Look
from evictd.daemon.metrics import Metrics
from evictd.daemon.notify import Notifier
from evictd.daemon.oom_scores import OomScores
from evictd.daemon.record import Recorder
from evictd.daemon.sight import Sight
from evictd.daemon.snapshot import Board
from evictd.daemon.state_file import StateFile
from evictd.daemon.teller import Teller
from evictd.daemon.wakeup import WakeUp
from evictd.daemon.watching import Lookout
from evictd.daemon.writer import Writer
from evictd.observe.memory_watch import MemoryWatch
from evictd.observe.runtime_view import RuntimeView
from tests.daemon.world import CONFIG, WALL


class NoteTaking:
    """Hands that write down what they were asked for; a pod they evict is gone at once."""

    def __init__(self) -> None:
        self.done: list[str] = []
        self.gone: set[str] = set()
        self.sure: list[EvictPod] = []
        self.refused: tuple[Refusal, ...] = ()

    def outcomes(self, state: State) -> Outcomes:
        return Outcomes(reclaimed=(), cleaned_up=frozenset(self.gone))

    def prepare(self, state: State, config: EvictionConfig, now: int) -> tuple[State, EvictionConfig]:
        return state, config

    def turn(self, sight: Sight) -> None:
        self.done.append("turn")

    def reclaimed(self) -> tuple[ReclaimOutcome, ...]:
        return ()

    def finished(self, before: State, after: State) -> tuple[Termination, ...]:
        return ()

    def duties(self) -> None:
        self.done.append("duties")

    def heartbeat(self) -> None:
        self.done.append("heartbeat")

    def resume(self, state: State, view: RuntimeView, now: int) -> None:
        self.done.append("resume")

    def report_conditions(self, conditions: tuple[NodeCondition, ...]) -> None:
        self.done.append("report " + " ".join(condition.value for condition in conditions))

    def record_event(self, event: RecordEvent) -> None:
        self.done.append(f"event {event.reason}")

    def begin_reclaim(self, decision: ReclaimNode) -> None:
        self.done.append("reclaim")

    def begin_eviction(self, decision: EvictPod) -> None:
        self.done.append(f"evict {decision.pod.name}")
        self.gone.add(decision.pod.uid)
        self.sure.append(decision)

    def take_evicted(self) -> tuple[EvictPod, ...]:
        sure, self.sure = tuple(self.sure), []
        return sure

    def take_refusals(self) -> tuple[Refusal, ...]:
        refused, self.refused = self.refused, ()
        return refused


class House:
    """A loop over a list of observations; the last one stays. `view` is what the runtime is said to show."""

    def __init__(
        self,
        folder: Path,
        observations: Iterable[Observation],
        *,
        state: State | None = None,
        dry_run: bool = False,
        notifier: Notifier | None = None,
        view: RuntimeView | None = None,
        oom_scores: OomScores | None = None,
        reload: Callable[[], Any] = lambda: None,
    ) -> None:
        self.folder = folder
        self.hands = NoteTaking()
        self.wake = WakeUp()
        self.board = Board()
        self.looks: list[Look] = []
        self.logged: list[dict[str, Any]] = []
        self.metrics = Metrics(self.board)
        log = structlog.wrap_logger(
            structlog.PrintLogger(),
            processors=[self._keep],
            wrapper_class=structlog.make_filtering_bound_logger(0),
        )
        self.teller = Teller(log, self.metrics, lambda: WALL)
        self.teller.dry_run = dry_run
        self.recorder = Recorder(
            Writer(self.teller.complain),
            state_file=StateFile(folder / "state.json", "boot"),
            journal=JournalFile(folder / "journal.jsonl"),
            logs_dir=folder / "logs",
            extras=lambda: {"images": {}, "evicted": [], "runningSince": 0},
        )
        self._observations = list(observations)
        self._view = view
        self.performer = Performer(self.hands, dry_run=dry_run, tell=self.teller.decision)
        self.watch = MemoryWatch(clock=lambda: self.looks[-1].now, sources={})
        parts = Parts(
            look=self._look,
            hands=self.hands,  # type: ignore[arg-type] # a double of the same shape
            oom_scores=oom_scores or OomScores(enforce=False, cgroup=folder, proc=folder, tell=self.teller.oom_score),
            performer=self.performer,
            recorder=self.recorder,
            watching=Lookout(self.watch, {}),
            wake=self.wake,
            notifier=notifier or Notifier(),
            board=self.board,
            teller=self.teller,
            reload=reload,
            heartbeat_period=1 << 62,
        )
        self.loop = Housekeeping(parts, CONFIG, state or State())

    def close(self) -> None:
        self.recorder.close()
        self.wake.close()

    def _keep(self, _logger: object, _name: str, event: Any) -> Any:
        self.logged.append(dict(event))
        raise structlog.DropEvent

    def _look(self, look: Look) -> Sight:
        self.looks.append(look)
        seen = self._observations.pop(0) if len(self._observations) > 1 else self._observations[0]
        return Sight(now=look.now, wall=look.wall, observation=seen, view=self._view)
