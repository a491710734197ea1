"""The actuator of a node without an API server, on parts that record their calls."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from evictd.act.actuator import Progress
from evictd.act.conditions_file import ConditionsFile
from evictd.act.node_actuation import ActuatorLog, NodeActuation
from evictd.act.standalone import StandaloneActuator
from evictd.act.stop.stopper import PodStopper
from evictd.act.stop.termination import Termination
from evictd.act.stop.victim_cgroups import VictimCgroups
from evictd.core.eviction.accounts.ledger import victim_until
from evictd.core.gc.container_gc import ContainerState, PodLifecycles
from evictd.core.model.decision import Decision, EvictPod, ReclaimNode, RecordEvent, Wait
from evictd.core.model.observation import Problem, Reclaim
from evictd.core.model.oom import MemoryQoSDifference, OomScoreDifference
from evictd.core.model.resources import Container as CoreContainer
from evictd.core.model.signal import Filesystem, NodeCondition
from evictd.core.model.state import State, Victim
from evictd.core.units.duration import SECOND
from evictd.daemon.store.own_file import read_own
from evictd.errors import RuntimeUnavailableError
from evictd.observe.reading.reading import Reading
from evictd.observe.runtime.runtime_view import RuntimeView
from evictd.worker import STDERR
from tests.daemon.world import DISK, GI, HOG, NOW, WALL, observe, step
from tests.observe.runtime_double import container, sandbox


class Parts:
    """Terminations, collector, cleanup and cgroups in one, as far as actuators call them."""

    def __init__(self) -> None:
        self.calls: list[tuple[Any, ...]] = []
        self.terminations: dict[str, Termination] = {}
        self.cleaned: set[str] = set()
        self.alive = True
        self.running = {"c1"}
        self.unused_images = 7
        self.retried: list[tuple[int, frozenset[str]]] = []
        self.retained: frozenset[str] | None = None
        self.left = Problem(source="volumes", detail="busy")
        self.log: list[str] = []

    # the terminator, and the collector's `progress`

    def begin(self, uid: str, *_: Any, **how: Any) -> Any:
        self.calls.append(("stop", uid, how) if how else ("clean", uid))

    def progress(self, uid: str | None = None) -> Any:
        return () if uid is None else self.terminations.get(uid)

    def collecting(self) -> frozenset[Filesystem]:
        return frozenset({Filesystem.NODEFS})

    def in_flight(self) -> tuple[Termination, ...]:
        return tuple(self.terminations.values())

    def forget(self, uid: str) -> None:
        self.calls.append(("forget", uid))

    # the cleanup

    def retain(self, uids: frozenset[str]) -> None:
        self.retained = uids

    def done(self, uid: str) -> bool:
        return uid in self.cleaned

    def retry(self, now: int, running: frozenset[str]) -> None:
        self.retried.append((now, running))

    def problems(self) -> tuple[Problem, ...]:
        return (self.left,)

    # the cgroups

    def pids_current(self, path: str) -> int:
        """Count the tasks of the pod, or of one of its containers, as its cgroup does."""
        running = self.running if self.alive else set()
        return len(running) if path == "/kubepods/poduid-hog" else len(running & {path.rpartition("/")[2]})

    # the collector

    def take_events(self) -> tuple[RecordEvent, ...]:
        return (RecordEvent(type="Warning", reason="ImageGCFailed", message="no"),)

    def perform_duties(self, moment: Any) -> None:
        self.calls.append(("collect", moment.wall))

    # the log

    def decision(self, decision: Decision, *, prefix: str = "") -> None:
        self.log.append(prefix + type(decision).__name__)

    def event(self, event: RecordEvent) -> None:
        self.log.append(event.reason)

    def corrected(self, difference: OomScoreDifference | MemoryQoSDifference, *, prefix: str = "") -> None:
        assert isinstance(difference, OomScoreDifference)
        self.log.append(prefix + difference.container)


class RecordingStopper(PodStopper):
    """A stopper whose terminations are those of the parts."""

    def __init__(self, parts: Parts) -> None:
        calls: Any = parts
        reader: Any = parts
        super().__init__(calls, clock=lambda: NOW, cgroups=VictimCgroups(lambda _: (), STDERR, reader=reader))
        self._parts = parts

    def begin(self, uid: str, **how: Any) -> Any:
        self._begun[uid] = None
        self._parts.begin(uid, **how)

    def progress(self, uid: str) -> Termination | None:
        return self._parts.terminations.get(uid)

    def in_flight(self) -> tuple[Termination, ...]:
        return self._parts.in_flight()

    def drop(self, uid: str) -> None:
        self._parts.forget(uid)


def node_of(parts: Parts, log: ActuatorLog | None = None) -> NodeActuation:
    """The part that both live actuators hold, on these parts."""
    double: Any = parts
    log = log or parts
    return NodeActuation(
        stopper=RecordingStopper(parts),
        collector=double,
        cleanup=double,
        log=log,
    )


VIEW = RuntimeView(
    time=NOW,
    sandboxes=(replace(sandbox(HOG.uid), id="s1", name=HOG.name, namespace=HOG.namespace),),
    containers=(
        container("c1", "main", sandbox_id="s1"),
        container("dead", "main", state=ContainerState.EXITED, sandbox_id="s1"),
    ),
    pod_cgroups={HOG.uid: "/kubepods/poduid-hog"},
)
READING = Reading(now=NOW, wall=WALL, observation=observe(GI), view=VIEW, lifecycles=PodLifecycles(by_uid={}))
EVICTION = next(decision for decision in step(GI // 2).decisions if isinstance(decision, EvictPod))


class Scene:
    """An actuator, and what it did."""

    def __init__(self, folder: Path) -> None:
        self.parts = Parts()
        self.evicted: set[str] = set()
        self.conditions = folder / "conditions.json"
        self.actuator = StandaloneActuator(
            node_of(self.parts),
            conditions=ConditionsFile(
                self.conditions, node="n", replace_file=lambda path, text: path.write_bytes(text), read_file=read_own
            ),
            evicted=self.evicted,
        )

    def removes_leftovers(self) -> bool:
        return ("clean", HOG.uid) in self.parts.calls


@pytest.fixture
def scene(tmp_path: Path) -> Scene:
    return Scene(tmp_path)


def leaving(**fields: Any) -> State:
    release = Victim(
        uid=HOG.uid, full_name="default/hog", grace_period_seconds=10, since=NOW, until=victim_until(10, NOW)
    )
    return State(in_flight=(replace(release, **fields),))


FINISHED = Termination(uid=HOG.uid, started_at=NOW, grace_ends_at=NOW, finished_at=NOW + 1)
RUNNING = replace(FINISHED, finished_at=None)
BLIND = replace(READING, view=None, lifecycles=None)


STOP = {"containers": ("c1",), "sandboxes": ("s1",), "grace_seconds": 1, "sidecars": (), "freeze": False}


def test_a_pod_is_frozen_where_that_was_decided(scene: Scene) -> None:
    scene.actuator.begin_eviction(replace(EVICTION, freeze=True), READING)
    assert scene.parts.calls == [("stop", HOG.uid, {**STOP, "freeze": True})]


def test_an_eviction_stops_what_runs_and_remembers_the_pod(scene: Scene) -> None:
    scene.actuator.begin_eviction(EVICTION, READING)
    assert scene.parts.calls == [
        ("stop", HOG.uid, STOP),
    ]
    assert scene.evicted == {HOG.uid}
    assert scene.parts.log == ["Evicted"]
    assert scene.actuator.advance(leaving(), READING).evicted == (EVICTION,)
    assert scene.actuator.advance(leaving(), READING).evicted == ()


def test_a_grace_period_is_shortened_without_a_second_event(scene: Scene) -> None:
    scene.actuator.begin_eviction(replace(EVICTION, shortens=True), READING)
    assert [uid for name, uid, *_ in scene.parts.calls if name == "stop"] == [HOG.uid]
    assert scene.parts.log == []
    assert scene.actuator.advance(leaving(), READING).evicted == ()


def test_decisions_are_logged_and_all_but_waiting_is_news(scene: Scene) -> None:
    assert scene.actuator.announce(EVICTION)
    assert scene.parts.log == ["EvictPod"]
    assert not scene.actuator.announce(Wait(nanoseconds=1))


def test_an_evicted_pod_is_forgotten_when_the_runtime_lists_nothing_of_it(scene: Scene) -> None:
    scene.evicted.add(HOG.uid)
    scene.actuator.advance(State(), BLIND)
    assert scene.evicted == {HOG.uid}
    scene.actuator.advance(State(), replace(READING, view=replace(VIEW, sandboxes=())))
    assert scene.evicted == set()


def test_without_the_runtime_no_pod_is_stopped_and_nothing_is_collected(scene: Scene) -> None:
    with pytest.raises(RuntimeUnavailableError):
        scene.actuator.begin_eviction(EVICTION, BLIND)
    with pytest.raises(RuntimeUnavailableError):
        scene.actuator.begin_reclaim(ReclaimNode(actions=(Reclaim.IMAGES,), threshold=DISK), BLIND)
    scene.actuator.perform_duties(BLIND)
    assert scene.parts.calls == []
    assert scene.actuator.advance(State(), BLIND) == Progress()


def test_a_pod_is_cleaned_up_when_nothing_runs_and_nothing_is_left(scene: Scene) -> None:
    assert scene.actuator.outcomes(leaving()).cleaned_up == frozenset()
    scene.parts.terminations[HOG.uid] = FINISHED
    assert scene.actuator.outcomes(leaving()).cleaned_up == frozenset()
    assert scene.actuator.outcomes(leaving()).stopped == {HOG.uid}
    scene.parts.cleaned.add(HOG.uid)
    assert scene.actuator.outcomes(leaving()).cleaned_up == {HOG.uid}


def test_queries_begin_nothing(scene: Scene) -> None:
    """However often they are asked, in whatever order: leftovers are removed by `advance`."""
    scene.parts.terminations[HOG.uid] = FINISHED
    for _ in range(2):
        scene.actuator.problems()
        scene.actuator.outcomes(leaving())
    assert scene.parts.calls == []
    scene.actuator.advance(leaving(), BLIND)
    assert scene.removes_leftovers()


def test_a_victim_that_is_no_longer_waited_for_is_reported_and_forgotten(scene: Scene) -> None:
    scene.parts.terminations[HOG.uid] = FINISHED
    scene.actuator.advance(leaving(), READING)
    assert scene.parts.retained == frozenset({HOG.uid})
    assert scene.actuator.advance(State(), READING).ended == (replace(FINISHED, pod="default/hog"),)
    assert scene.parts.calls[-1:] == [("forget", HOG.uid)]
    assert scene.parts.retained == frozenset()
    assert scene.actuator.advance(State(), READING).ended == ()


def test_the_end_of_a_victim_is_reported_when_it_is_seen(scene: Scene) -> None:
    """It was reported seconds later, when what it owes was no longer waited for; a daemon that ended meanwhile said nothing."""
    scene.parts.terminations[HOG.uid] = FINISHED
    scene.actuator.advance(leaving(), READING)
    owing = State(in_flight=tuple(replace(each, gone_at=NOW) for each in leaving().in_flight))
    assert scene.actuator.advance(owing, READING).ended == (replace(FINISHED, pod="default/hog"),)
    assert scene.parts.retained == frozenset({HOG.uid})
    assert scene.actuator.advance(State(), READING).ended == ()
    assert scene.parts.calls[-1:] == [("forget", HOG.uid)]


def test_a_victim_that_never_ended_is_forgotten_too(scene: Scene) -> None:
    """No record grows with the days."""
    scene.actuator.begin_eviction(EVICTION, READING)
    scene.actuator.advance(leaving(), READING)
    assert scene.actuator.advance(State(), READING).ended == ()
    assert scene.parts.calls[-1:] == [("forget", HOG.uid)]
    assert scene.parts.retained == frozenset()


def test_leftovers_of_a_dead_pod_go_even_while_the_runtime_believes_that_it_runs(scene: Scene) -> None:
    scene.actuator.begin_eviction(EVICTION, READING)
    scene.parts.terminations[HOG.uid] = RUNNING
    scene.parts.cleaned.add(HOG.uid)
    scene.actuator.advance(leaving(), READING)
    assert not scene.removes_leftovers()
    scene.parts.alive = False
    scene.actuator.advance(leaving(), READING)
    assert scene.removes_leftovers()
    assert scene.actuator.outcomes(leaving()).cleaned_up == frozenset()


def test_volumes_stay_while_a_container_runs_that_was_started_since(scene: Scene) -> None:
    """Also where none ran when the pod was chosen: between two of its containers none does."""
    assert VIEW.containers[0].id == "c1"
    between = replace(READING, view=replace(VIEW, containers=VIEW.containers[1:]))
    scene.actuator.begin_eviction(EVICTION, between)
    scene.parts.terminations[HOG.uid] = RUNNING
    scene.actuator.advance(leaving(), between)
    assert not scene.removes_leftovers()
    later = replace(VIEW.containers[0], id="c2")
    reading = replace(READING, view=replace(VIEW, containers=(VIEW.containers[0], later)))
    scene.parts.running = {"c2"}
    scene.actuator.advance(leaving(), reading)
    assert not scene.removes_leftovers()
    scene.parts.running = set()
    scene.actuator.advance(leaving(), reading)
    assert scene.removes_leftovers()


def test_what_the_collectors_freed_and_what_they_work_on_are_outcomes(scene: Scene) -> None:
    outcomes = scene.actuator.outcomes(State())
    assert outcomes.reclaimed == ()
    assert outcomes.collecting == frozenset({Filesystem.NODEFS})


def test_duties_log_the_collectors_events_and_begin_collections(scene: Scene) -> None:
    scene.actuator.perform_duties(READING)
    assert scene.parts.log == ["ImageGCFailed"]
    assert scene.parts.calls == [("collect", WALL)]


def test_the_heartbeat_repeats_what_was_reported_last(scene: Scene) -> None:
    scene.actuator.report_conditions((NodeCondition.DISK_PRESSURE,), READING)
    scene.parts.log.clear()
    scene.actuator.heartbeat(replace(READING, wall=WALL + 60 * SECOND))
    assert scene.parts.log == []
    assert "22:14:20Z" in scene.conditions.read_text()


def test_a_reload_to_a_dry_run_takes_the_conditions_back_once(scene: Scene) -> None:
    """Else the file says for the whole dry run that the node is short."""
    scene.actuator.suspend(READING)
    assert not scene.conditions.exists()
    scene.actuator.report_conditions((NodeCondition.DISK_PRESSURE,), READING)
    scene.actuator.suspend(READING)
    assert '"True"' not in scene.conditions.read_text()
    scene.conditions.unlink()
    scene.actuator.suspend(READING)
    assert not scene.conditions.exists()


def test_victims_of_the_previous_run_are_resumed_once_with_the_first_listing(scene: Scene) -> None:
    """With what is left of their grace; their sandboxes are left to the listing that follows."""
    scene.actuator.advance(leaving(), BLIND)
    assert scene.parts.calls == []
    for _ in range(2):
        scene.actuator.advance(leaving(), replace(READING, now=NOW + 4 * SECOND))
    ((_, uid, how),) = scene.parts.calls
    assert (uid, how["grace_seconds"]) == (HOG.uid, 6)
    assert (how["containers"], how["sandboxes"]) == (("c1",), ())


def test_a_victim_of_the_previous_run_that_has_stopped_is_not_stopped_again(scene: Scene) -> None:
    scene.actuator.advance(leaving(gone_at=NOW), READING)
    assert scene.parts.calls == []


def test_sidecars_of_a_victim_of_the_previous_run_stop_last_too(scene: Scene) -> None:
    spec = replace(HOG, init_containers=(CoreContainer(name="main", sidecar=True),))
    scene.actuator.advance(leaving(), replace(READING, observation=replace(READING.observation, pods=(spec,))))
    assert [how["sidecars"] for name, _, how in scene.parts.calls if name == "stop"] == [("c1",)]


def test_a_victim_that_the_runtime_would_not_stop_is_a_problem(scene: Scene) -> None:
    assert scene.actuator.problems() == (scene.parts.left,)
    scene.parts.terminations["u"] = Termination(uid="u", started_at=NOW, grace_ends_at=NOW, errors=("first", "last"))
    assert scene.actuator.problems() == (Problem(source="stopping pod u", detail="last"), scene.parts.left)


def test_a_victim_with_a_process_that_cannot_be_killed_is_an_outcome_and_a_problem(scene: Scene) -> None:
    assert scene.actuator.outcomes(State()).unkillable == frozenset()
    scene.parts.terminations["u"] = Termination(uid="u", started_at=NOW, grace_ends_at=NOW, unkillable=(5, 6, 7, 8))
    assert scene.actuator.outcomes(State()).unkillable == {"u"}
    (problem, _) = scene.actuator.problems()
    assert problem.source == "killing pod u"
    assert problem.detail == "4 of its processes cannot be killed: in uninterruptible sleep (state D), PID 5, 6, 7"
