"""Runs the real loop on a node double, lets a fault begin at a point of the cycle, and checks what came of it.

The loop is assembled by `daemon.assemble` with the parts that the daemon has; its cycles are made one by one, so no test depends
on a length of time. A fault lasts for `CYCLES_OF_FAULT` cycles, and the eviction must be done `MOST_CYCLES` cycles later.
"""

import json
import re
import select
import time
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import Any, Self

from evictd.clock import boot_clock
from evictd.codec.records.journal import decode_entry
from evictd.config.file import load
from evictd.daemon.assemble import Assembly
from evictd.daemon.configuration import Configuration
from evictd.daemon.host.liveness import Liveness, SdNotifier
from evictd.daemon.housekeeping import Housekeeping, Reloader
from evictd.daemon.store.lock import lock_directory
from evictd.daemon.telemetry.http import StatusServer
from evictd.daemon.telemetry.log import Logger
from evictd.daemon.telemetry.metrics import Metrics
from evictd.daemon.telemetry.pages import Pages
from evictd.daemon.telemetry.snapshot import LatestSnapshot
from evictd.daemon.telemetry.telemetry import Telemetry
from evictd.daemon.waiter import Waiter, WaitResult
from evictd.errors import EvictdError
from evictd.observe.reading.roots import Roots
from tests.faults.node_double import FakeNode
from tests.kube import objects
from tests.kube.api_server import ApiServer
from tests.kube.waiting import eventually

CYCLES_OF_FAULT = 2
MOST_CYCLES = 60
"""Cycles after the end of a fault within which the victim is gone and everything is recorded."""
PATIENCE_SECONDS = 120.0
"""Below this more cycles are run: on a loaded machine the threads beside the loop may not get a turn for seconds."""
WAKE_SECONDS = 0.025
"""The longest wait between two cycles for what works in the background; its end only makes a cycle come early."""
CUT_REQUEST = re.compile("apiserver/.*(Connection (aborted|broken|reset)|EOF occurred)")
"""The log line where the begin of an API server's fault met a request under way: a source's later errors are not logged again."""


class Point(Enum):
    """Where in the cycle a fault begins."""

    OBSERVE = "observe"
    DECIDE = "decide"
    PERFORM = "perform"
    RECORD = "record"
    WAIT = "wait"
    RESTART = "restart"


class Run:
    """One daemon after another on one node and one state directory."""

    def __init__(
        self,
        node: FakeNode,
        endpoint: str,
        api: ApiServer | None = None,
        *,
        kubelet: Mapping[str, Any] | None = None,
        health: str = "",
    ) -> None:
        """`kubelet`: as that of a `Fault`; `health`: the address of the health pages, empty for none."""
        self.node = node
        self.api = api
        self._health = health
        self.logged: list[dict[str, Any]] = []
        self.cycles = self.starts = 0
        self.reloads = False
        """Whether a SIGHUP comes before each cycle."""
        self.running = False
        self._hooks: dict[Point, Callable[[], None]] = {}
        self._configured(endpoint, kubelet or {})
        self._stack = ExitStack()
        self.restore = ExitStack()
        """What a fault leaves to be undone at the end of the test."""
        self._start()

    @property
    def state(self) -> Path:
        return self.node.folder / "state"

    def _configured(self, endpoint: str, more: Mapping[str, Any]) -> None:
        folder = self.node.folder
        own = more.get("evictd", {})
        kubelet = {
            **{name: value for name, value in more.items() if name != "evictd"},
            "apiVersion": "kubelet.config.k8s.io/v1beta1",
            "kind": "KubeletConfiguration",
            "containerRuntimeEndpoint": endpoint,
            "podLogsDir": str(folder / "logs"),
            "evictionHard": {"memory.available": "1Gi", "pid.available": "1%"},
            "imageGCHighThresholdPercent": 100,
        }
        evictd = {
            "apiVersion": "evictd.io/v1alpha1",
            "kind": "EvictdConfiguration",
            "stateDirectory": str(self.state),
            "rootDir": str(folder / "kubelet"),
            "listenAddress": "",
            "memory": {"watch": False},  # the files of the double are no triggers
            **own,
        }
        if self.api is not None:
            evictd["cluster"] = {"kubeconfig": str(self.api.kubeconfig()), "nodeName": "n1", "podTermination": "Status"}
        self.config = folder / "config.yaml"
        self.config.write_text(f"{json.dumps(kubelet)}\n---\n{json.dumps(evictd)}")

    def _start(self) -> None:
        configuration = Configuration(load(self.config), lambda: load(self.config))
        settings, folder, stack = configuration.settings, self.node.folder, self._stack
        published = LatestSnapshot()
        metrics = Metrics(published)
        telemetry = Telemetry(Logger(self._keep), metrics, published, lambda: 0)
        lock_directory(settings.evictd.state_directory, folder / "run", stack, telemetry)
        roots = Roots(
            proc=folder / "proc",
            cgroup=folder / "cgroup",
            kubelet_dir=settings.evictd.root_dir,
            pod_logs_dir=settings.kubelet.logs_dir,
        )
        liveness = Liveness(SdNotifier(), published)
        parts = Assembly(settings, roots, telemetry, stack, liveness)
        self.wake = parts.wake
        parts.watch.memory._others = parts.watch.memory._others[2:]  # where memory is watched: without PSI triggers
        server = StatusServer(self._health, Pages(published, metrics, configuration, boot_clock).health(), telemetry)
        stack.callback(server.close)
        server.listen()
        reloader = Reloader(configuration, parts.node, server, telemetry)
        waiter = Waiter(parts.watch, parts.wake, liveness, telemetry)
        self.loop = Housekeeping(parts.node, parts.recorder, telemetry, waiter, reloader, state=parts.checkpoint.state)
        self._recorder = parts.recorder
        self.running, self.starts = True, self.starts + 1
        self._hook("_observe", Point.OBSERVE, before=True)
        self._hook("_synchronize", Point.DECIDE, before=True)
        self._hook("_synchronize", Point.PERFORM, before=False)
        self._hook("_record", Point.RECORD, before=True)

    def _hook(self, method: str, point: Point, *, before: bool) -> None:
        """Call the hook of a point around one of the loop's own steps."""
        original = getattr(self.loop, method)

        def step(*arguments: Any, **named: Any) -> Any:
            if before:
                self._pass(point)
            done = original(*arguments, **named)
            if not before:
                self._pass(point)
            return done

        setattr(self.loop, method, step)

    def _pass(self, point: Point) -> None:
        hook = self._hooks.pop(point, None)
        if hook is not None:
            hook()

    def at(self, point: Point, hook: Callable[[], None]) -> None:
        """Call `hook` once when a cycle passes the point."""
        self._hooks[point] = hook

    def cycle(self) -> None:
        """Run one cycle, and wait until something in the background calls or for a bound."""
        self.cycles += 1
        self.node.refresh()
        if self.reloads:
            self.loop._reload()
        self.loop._try_cycle(WaitResult())
        self._pass(Point.WAIT)
        select.select([self.wake.fd], [], [], WAKE_SECONDS)
        self.wake.take()

    def cycle_until(self, condition: Callable[[], object]) -> None:
        """Make cycles until the condition holds."""

        def holds() -> bool:
            self.cycle()
            return bool(condition())

        eventually(holds, PATIENCE_SECONDS)

    def stop(self) -> None:
        """End the daemon as SIGTERM does."""
        self._recorder.save(self.loop.state, always=True)
        self.crash()

    def crash(self) -> None:
        """End it without its last checkpoint, as SIGKILL does."""
        self.running = False
        self._stack.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()
        self.restore.close()

    def recovered(self, *, may_spare: bool, written: bool = False) -> bool:
        """Whether the pressure is over, each victim is gone and, unless `written` says so already, its status was written."""
        written = written or self.api is None or not self.node.stopped or self._phase(self.node.stopped[0]) == "Failed"
        gone = written and all(victim.gone_at is not None for victim in self.loop.state.in_flight)
        stopped = all(not self.node.pods[name].running for name in self.node.stopped if name in self.node.pods)
        return not self.node.pressed and gone and stopped and (may_spare or bool(self.node.stopped))

    def _phase(self, name: str) -> str:
        """Return a pod's phase on the API server."""
        found = self.api.store.get(("pods", "ns", name)) if self.api is not None else None
        return "" if found is None else str(found["status"]["phase"])

    def describe(self) -> str:
        """What a failed test shows."""
        return f"stopped {self.node.stopped}, in flight {self.loop.state.in_flight}, log {self.warnings()}"

    def evictions(self) -> list[Any]:
        """The evictions of the journal that began, not those that were shortened."""
        found = [each for entry in self.journal() for each in entry.decisions if each["kind"] == "EvictPod"]
        return [each for each in found if not each.get("shortens")]

    def start(self) -> None:
        self._stack = ExitStack()
        try:
            self._start()
        except EvictdError:
            self._stack.close()  # the process ends, and its locks with it
            raise

    def _keep(self, level: str, event: str, fields: Mapping[str, Any]) -> None:
        self.logged.append({"level": level, "event": event, **fields})

    def journal(self) -> list[Any]:
        """Every record of the journal; raises for a line that is none."""
        path = self.state / "journal.jsonl"
        lines = path.read_bytes().strip(b" \0\n").splitlines() if path.is_file() else []
        return [decode_entry(line + b"\n") for line in lines if line.strip(b" \0")]

    def warnings(self) -> list[str]:
        """What was logged as a warning or an error, in one text each."""
        return [json.dumps(line, default=str) for line in self.logged if line["level"] in {"warning", "error"}]


class BrokenLawError(AssertionError):
    """What evictd did after a fault, and must not."""


@dataclass(frozen=True)
class Fault:
    """A row of the table. `context` makes the fault and ends it."""

    name: str
    area: str
    context: Callable[[Run], AbstractContextManager[None]]
    finding: str = ""
    """A regular expression for the log line that names the fault."""
    noticed: frozenset[Point] = frozenset(Point)
    """The points at which the line is required; elsewhere the fault may be over before it matters."""
    victims: frozenset[str] = frozenset({"hog"})
    may_spare: bool = False
    """Whether the pressure may end without an eviction."""
    deletes_journal: bool = False
    """Whether the fault itself deletes what was recorded before it."""
    harmless: str = ""
    """Instead of `finding`: why the fault costs nothing, so that no line is required."""
    refused_for_good: bool = False
    """Whether evictd may leave a pod's status unwritten: it does not repeat a request that the API server forbids."""
    cluster: bool = False
    """Whether the node belongs to an API server."""
    points: tuple[Point, ...] = tuple(Point)
    kubelet: Mapping[str, Any] = field(default_factory=dict)
    """More fields of the KubeletConfiguration, such as a shorter `runtimeRequestTimeout`; below `evictd` evictd's own."""


def joined(node: FakeNode, folder: Path, stack: ExitStack) -> ApiServer:
    """Start an API server that has bound the node's pods to it."""
    api = stack.enter_context(ApiServer(folder))
    api.store.create("nodes", objects.node("n1", kubelet=False))
    for each in node.pods.values():
        api.store.create("pods", objects.pod(each.name, namespace="ns", uid=each.uid))
    return api


@dataclass(frozen=True)
class Result:
    """What came of one cell: the pod that was stopped, and the log line that names the fault; each may be empty."""

    stopped: str
    line: str


def run_cell(fault: Fault, point: Point, node: FakeNode, endpoint: str) -> Result:
    """Run one cell of the table; raises `BrokenLawError`."""
    with ExitStack() as stack:
        api = joined(node, node.folder, stack) if fault.cluster else None
        run, active = (
            stack.enter_context(Run(node, endpoint, api, kubelet=fault.kubelet)),
            stack.enter_context(ExitStack()),
        )
        run.cycle()
        while api is not None and not (api.requests("watch pods") and api.requests("patch nodes/status")):
            run.cycle()
        begin_at(fault, point, run, active)
        lasted, until = 0, time.monotonic() + PATIENCE_SECONDS
        while run.running and (lasted < CYCLES_OF_FAULT or (unnamed(fault, point, run) and time.monotonic() < until)):
            run.cycle()
            lasted += 1
        active.close()
        if not run.running:
            run.start()
        cycles, patience = 0, time.monotonic() + PATIENCE_SECONDS
        while not run.recovered(may_spare=fault.may_spare, written=fault.refused_for_good):
            if cycles >= MOST_CYCLES and time.monotonic() > patience:
                raise BrokenLawError(f"not recovered after {cycles} cycles: {run.describe()}")
            run.cycle()
            cycles += 1
        run.cycle()
        run.stop()
        result = check(fault, point, run)
        if point not in {Point.OBSERVE, Point.RECORD}:
            return result  # one more restart after a fault early in the cycle and after one late in it
        before = list(node.stopped)
        run.start()
        run.cycle()
        run.stop()
        if node.stopped != before:
            raise BrokenLawError(f"a restart evicted again: {node.stopped}")
        return result


def unnamed(fault: Fault, point: Point, run: Run) -> bool:
    """Whether a fault of a server still has to be met: clients pause between two requests, by the clock and not by cycles."""
    awaited = fault.cluster and fault.finding and point in fault.noticed
    return bool(awaited) and not naming(fault, run)


def naming(fault: Fault, run: Run) -> list[str]:
    """Return the log lines that name the fault."""
    warnings = run.warnings()
    named = [line for line in warnings if fault.finding and re.search(fault.finding, line)]
    return named or [line for line in warnings if fault.finding and fault.cluster and CUT_REQUEST.search(line)]


def begin_at(fault: Fault, point: Point, run: Run, active: ExitStack) -> None:
    """Put the node under pressure and let the fault begin at this point."""

    def begin() -> None:
        active.enter_context(fault.context(run))

    run.node.press()
    if point is not Point.RESTART:
        run.at(point, begin)
        run.cycle()
        return
    run.cycle()
    run.crash()
    begin()
    try:
        run.start()
    except EvictdError as error:  # evictd ends with a message and is started again
        run.logged.append({"level": "error", "event": str(error)})


def check(fault: Fault, point: Point, run: Run) -> Result:
    """The laws: the right victim or none, nothing lost, one clear finding."""
    stopped = run.node.stopped
    if len(stopped) > 1 or not set(stopped) <= fault.victims:
        said = [each["message"] for each in run.evictions()]
        raise BrokenLawError(f"stopped {stopped}, expected one of {sorted(fault.victims)}: {said}")
    evicted = {each["pod"]["name"] for each in run.evictions()}
    deleted = fault.deletes_journal and point in {Point.WAIT, Point.RESTART}
    if not set(stopped) <= evicted and not deleted:
        raise BrokenLawError(f"stopped {stopped}, but the journal has {sorted(evicted)}")
    json.loads((run.state / "state.json").read_text())
    lines = naming(fault, run)
    if fault.finding and not lines and point in fault.noticed:
        raise BrokenLawError(f"no log line says {fault.finding!r}: {run.warnings()}")
    if len(set(lines)) < len(lines) - run.starts + 1:
        raise BrokenLawError(f"repeated: {lines}")
    return Result("".join(stopped), _shown(json.loads(lines[0])) if lines else "")


def _shown(line: dict[str, str]) -> str:
    """Return a log line as it is read: its source and detail, or its event."""
    return f"{line['source']}: {line['detail']}" if "detail" in line else line["event"]
