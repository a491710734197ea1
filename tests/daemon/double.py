"""A loop to run in tests: a script of observations, a recording actuator, and the loop's other parts for real."""

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from evictd.act.actuator import Progress
from evictd.act.node_actuation import ActuatorLog
from evictd.clock import boot_clock
from evictd.config.settings import Settings
from evictd.core.model.config import EvictionConfig
from evictd.core.model.decision import Decision, EvictPod, ReclaimNode, RecordEvent, Wait, WithdrawEviction
from evictd.core.model.finding import Finding
from evictd.core.model.observation import Observation, Outcomes, Problem
from evictd.core.model.oom import MemoryQoSDifference, OomScoreDifference
from evictd.core.model.signal import NodeCondition
from evictd.core.model.state import State
from evictd.daemon.configuration import Configuration
from evictd.daemon.effects import Effects
from evictd.daemon.host.liveness import Liveness, SdNotifier
from evictd.daemon.host.signals import WakeUp
from evictd.daemon.housekeeping import Housekeeping, Reloader
from evictd.daemon.node import Node
from evictd.daemon.oom_scores import OomScores
from evictd.daemon.store.journal import JournalFile
from evictd.daemon.store.recorder import Cycle, Recorder
from evictd.daemon.store.state_file import StateFile
from evictd.daemon.telemetry.http import StatusServer
from evictd.daemon.telemetry.log import Logger
from evictd.daemon.telemetry.metrics import Metrics
from evictd.daemon.telemetry.snapshot import LatestSnapshot
from evictd.daemon.telemetry.telemetry import Telemetry
from evictd.daemon.waiter import Waiter
from evictd.observe.cgroups.kernel_kills import KernelKill
from evictd.observe.reading.observer import ObserveRequest
from evictd.observe.reading.reading import Reading
from evictd.observe.runtime.runtime_view import RuntimeView
from evictd.observe.threshold_watch.memory_watch import MemoryWatch
from evictd.observe.threshold_watch.watch import ThresholdWatch
from evictd.worker import JobQueue
from tests.daemon.world import CONFIG, MEMORY_OF_NOTHING, WALL
from tests.settings import settings_with


class RecordingActuator:
    """A live actuator that records what it was asked for; a pod that it evicts is gone at once."""

    def __init__(self, log: ActuatorLog) -> None:
        self.done: list[str] = []
        self.gone: set[str] = set()
        self.reasons: dict[str, str] = {}
        self._log = log

    def outcomes(self, state: State) -> Outcomes:
        return Outcomes(reclaimed=(), cleaned_up=frozenset(self.gone))

    def problems(self) -> tuple[Problem, ...]:
        return ()

    def announce(self, decision: Decision) -> bool:
        self._log.decision(decision)
        return not isinstance(decision, Wait)

    def report_conditions(self, conditions: tuple[NodeCondition, ...], reading: Reading) -> None:
        self.done.append("report " + " ".join(condition.value for condition in conditions))

    def record_event(self, event: RecordEvent, reading: Reading) -> None:
        self.done.append(f"event {event.reason}")

    def begin_reclaim(self, decision: ReclaimNode, reading: Reading) -> None:
        self.done.append("reclaim")

    def begin_eviction(self, decision: EvictPod, reading: Reading) -> None:
        self.done.append(f"evict {decision.pod.name}")
        self.reasons |= reading.reasons
        self.gone.add(decision.pod.uid)

    def withdraw_eviction(self, decision: WithdrawEviction, reading: Reading) -> None:
        self.done.append(f"withdraw {decision.pod.name}")

    def advance(self, state: State, reading: Reading) -> Progress:
        self.done.append("advance")
        return Progress()

    def perform_duties(self, reading: Reading) -> None:
        self.done.append("duties")

    def suspend(self, reading: Reading) -> None: ...

    def heartbeat(self, reading: Reading) -> None:
        self.done.append("heartbeat")

    def write(self, differences: Iterable[OomScoreDifference | MemoryQoSDifference]) -> tuple[Problem, ...]:
        return ()


class ScriptedObserver:
    """Returns a list of observations one by one, then the last one again. `view` is the runtime's listing."""

    def __init__(self, observations: Iterable[Observation], view: RuntimeView | None = None) -> None:
        self.requests: list[ObserveRequest] = []
        self._observations = list(observations)
        self._view = view

    def measure(self, findings: Collection[Finding], state: State) -> None:
        """Measure nothing."""

    def kernel_kills(self, reading: Reading) -> tuple[KernelKill, ...]:
        return ()

    def observe(self, request: ObserveRequest) -> Reading:
        self.requests.append(request)
        seen = self._observations.pop(0) if len(self._observations) > 1 else self._observations[0]
        seen = replace(seen, outcomes=replace(seen.outcomes, dry_run=request.outcomes.dry_run))
        return Reading(now=request.now, wall=request.wall, observation=seen, view=self._view)


class Unconfigured:
    """A collector that takes no notice of a new configuration."""

    def reconfigure(self, config: EvictionConfig) -> None:
        """Do nothing."""


class LoopOnScript:
    """The loop over a script of observations, with a recording actuator and its other parts for real."""

    def __init__(
        self,
        folder: Path,
        observations: Iterable[Observation],
        *,
        state: State | None = None,
        dry_run: bool = False,
        notifier: SdNotifier | None = None,
        view: RuntimeView | None = None,
        oom_scores: OomScores | None = None,
        hooks: Callable[[Cycle], None] | None = None,
        read: Callable[[], Settings] | None = None,
    ) -> None:
        settings = settings_with(eviction=CONFIG, dry_run=dry_run, listen_address="")
        self.wake = WakeUp()
        self.published = LatestSnapshot()
        self.logged: list[dict[str, Any]] = []
        self.metrics = Metrics(self.published)
        self.telemetry = Telemetry(Logger(self._keep), self.metrics, self.published, lambda: WALL)
        self.live = RecordingActuator(self.telemetry)
        self.recorder = Recorder(
            JobQueue(self.telemetry),
            state_file=StateFile(folder / "state.json", "boot"),
            journal=JournalFile(folder / "journal.jsonl"),
            logs_dir=folder / "logs",
            memory=MEMORY_OF_NOTHING,
        )
        self.observer = ScriptedObserver(observations, view)
        collector: Any = Unconfigured()
        self.node = Node(
            self.observer,
            Effects(
                actuator=self.live,
                oom_scores=self.live,
                checkpoints=self.recorder,
                reactions=self.telemetry,
                hooks=hooks,
            ),
            log=self.telemetry,
            collector=collector,
            oom_scores=oom_scores or OomScores(enforce=False, cgroup=folder, proc=folder),
        )
        self.node.configure(settings)
        self.memory = MemoryWatch(clock=boot_clock, sources={})
        self.watch = ThresholdWatch(self.memory, {})
        waiter = Waiter(self.watch, self.wake, Liveness(notifier or SdNotifier(), self.published), self.telemetry)
        self.configuration = Configuration(settings, read or (lambda: settings))
        server = StatusServer("", {}, self.telemetry)
        reloader = Reloader(self.configuration, self.node, server, self.telemetry)
        self.loop = Housekeeping(self.node, self.recorder, self.telemetry, waiter, reloader, state=state or State())

    def close(self) -> None:
        self.recorder.close()
        self.wake.close()

    def _keep(self, level: str, event: str, fields: Mapping[str, Any]) -> None:
        self.logged.append({"level": level, "event": event, **fields})
