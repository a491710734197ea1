"""The hands of a node without an API server, on collaborators that take notes."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from evictd.act.report import ConditionsFile
from evictd.act.victim import Termination
from evictd.clients.cri.values import Container, ContainerState, Sandbox, SandboxState
from evictd.core.container_gc import PodFates
from evictd.core.decision import EvictPod, ReclaimNode, RecordEvent
from evictd.core.duration import SECOND
from evictd.core.observation import Outcomes, Problem, Reclaim
from evictd.core.release import victim_until
from evictd.core.signal import NodeCondition
from evictd.core.state import Reclaiming, Release, State
from evictd.daemon.hands import NodeHands, NodeParts, grace_left
from evictd.daemon.sight import Sight
from evictd.errors import RuntimeUnavailableError
from evictd.observe.runtime_view import RuntimeView
from tests.daemon.world import DISK, GI, HOG, NOW, WALL, observe, step


class Collaborators:
    """Terminator, collector and cleanup in one, as far as hands ask them."""

    def __init__(self) -> None:
        self.calls: list[tuple[Any, ...]] = []
        self.terminations: dict[str, Termination] = {}
        self.cleaned: set[str] = set()
        self.alive = True
        self.running = {"c1"}

    def begin(self, *what: Any, **how: Any) -> Any:
        self.calls.append(("begin", *what, how))

    def progress(self, uid: str | None = None) -> Any:
        return () if uid is None else self.terminations.get(uid)

    def in_flight(self) -> tuple[Termination, ...]:
        return tuple(self.terminations.values())

    def forget(self, uid: str) -> None:
        self.calls.append(("forget", uid))

    def done(self, uid: str) -> bool:
        self.calls.append(("done", uid))
        return uid in self.cleaned

    def take_events(self) -> tuple[RecordEvent, ...]:
        return (RecordEvent(type="Warning", reason="ImageGCFailed", message="no"),)

    def perform_duties(self, moment: Any) -> None:
        self.calls.append(("duties", moment.wall))


VIEW = RuntimeView(
    time=NOW,
    sandboxes=(
        Sandbox(
            id="s1",
            name=HOG.name,
            namespace=HOG.namespace,
            uid=HOG.uid,
            attempt=0,
            state=SandboxState.READY,
            created_at=1,
            labels={},
            annotations={},
        ),
    ),
    containers=(
        Container(
            id="c1",
            sandbox_id="s1",
            name="main",
            attempt=0,
            image="",
            image_ref="",
            image_id="",
            state=ContainerState.RUNNING,
            created_at=1,
            labels={},
            annotations={},
        ),
        Container(
            id="dead",
            sandbox_id="s1",
            name="main",
            attempt=0,
            image="",
            image_ref="",
            image_id="",
            state=ContainerState.EXITED,
            created_at=1,
            labels={},
            annotations={},
        ),
    ),
    pod_cgroups={HOG.uid: "/kubepods/poduid-hog"},
)
SIGHT = Sight(now=NOW, wall=WALL, observation=observe(GI), view=VIEW, fates=PodFates(by_uid={}))
EVICTION = next(decision for decision in step(GI // 2).decisions if isinstance(decision, EvictPod))


class Scene:
    """Hands, and what they did."""

    def __init__(self, folder: Path) -> None:
        self.others = Collaborators()
        self.evicted: set[str] = set()
        self.events: list[str] = []
        self.conditions = folder / "conditions.json"
        others: Any = self.others
        parts = NodeParts(
            terminator=others,
            collector=others,
            cleanup=others,
            conditions=ConditionsFile(
                self.conditions, node="n", replace_file=lambda path, text: path.write_bytes(text)
            ),
            tell_event=lambda event: self.events.append(event.reason),
            any_alive=lambda cgroup, ids: self.others.alive and bool(cgroup and self.others.running & set(ids)),
            evicted=self.evicted,
        )
        self.hands = NodeHands(parts)
        self.hands.turn(SIGHT)


@pytest.fixture
def scene(tmp_path: Path) -> Scene:
    return Scene(tmp_path)


def leaving(**fields: Any) -> State:
    release = Release(uid=HOG.uid, full_name="default/hog", grace_period_seconds=10, until=victim_until(10, NOW))
    return State(releases=(replace(release, **fields),))


def test_an_eviction_stops_what_runs_and_remembers_the_pod(scene: Scene) -> None:
    scene.hands.begin_eviction(EVICTION)
    assert scene.others.calls == [
        ("begin", HOG.uid, {"containers": ("c1",), "sandboxes": ("s1",), "grace_seconds": 1}),
    ]
    assert scene.evicted == {HOG.uid}
    assert scene.events == ["Evicted"]
    assert scene.hands.take_evicted() == (EVICTION,)
    assert scene.hands.take_evicted() == ()


def test_an_evicted_pod_is_forgotten_with_the_last_the_runtime_knows_of_it(scene: Scene) -> None:
    scene.evicted.add(HOG.uid)
    scene.hands.turn(replace(SIGHT, view=None))
    assert scene.evicted == {HOG.uid}
    scene.hands.turn(replace(SIGHT, view=replace(VIEW, sandboxes=())))
    assert scene.evicted == set()


def test_without_the_runtime_nobody_can_be_stopped_or_collected(scene: Scene) -> None:
    scene.hands.turn(replace(SIGHT, view=None, fates=None))
    with pytest.raises(RuntimeUnavailableError):
        scene.hands.begin_eviction(EVICTION)
    with pytest.raises(RuntimeUnavailableError):
        scene.hands.begin_reclaim(ReclaimNode(actions=(Reclaim.IMAGES,), threshold=DISK))
    assert scene.others.calls == []
    assert scene.hands.take_evicted() == ()
    assert scene.hands.take_refusals() == ()


def test_a_pod_is_cleaned_up_when_nothing_runs_and_nothing_is_left(scene: Scene) -> None:
    assert scene.hands.outcomes(leaving()) == Outcomes()
    finished = Termination(uid=HOG.uid, started_at=NOW, grace_ends_at=NOW, finished_at=NOW + 1)
    scene.others.terminations[HOG.uid] = finished
    assert scene.hands.outcomes(leaving()).cleaned_up == frozenset()
    scene.others.cleaned.add(HOG.uid)
    assert scene.hands.outcomes(leaving()).cleaned_up == {HOG.uid}
    assert scene.hands.finished(leaving(), State()) == (finished,)
    assert ("forget", HOG.uid) in scene.others.calls


def test_what_a_dead_pod_left_goes_even_while_the_runtime_believes_that_it_lives(scene: Scene) -> None:
    scene.hands.begin_eviction(EVICTION)
    scene.others.terminations[HOG.uid] = Termination(uid=HOG.uid, started_at=NOW, grace_ends_at=NOW)
    scene.others.cleaned.add(HOG.uid)
    scene.hands.outcomes(leaving())
    assert ("done", HOG.uid) not in scene.others.calls
    scene.others.alive = False
    assert scene.hands.outcomes(leaving()).cleaned_up == frozenset()
    assert ("done", HOG.uid) in scene.others.calls


def test_volumes_stay_while_a_container_runs_that_was_started_since(scene: Scene) -> None:
    """Also where none ran when the pod was chosen: between two of its containers none does."""
    assert VIEW.containers[0].id == "c1"
    between = replace(VIEW, containers=VIEW.containers[1:])
    scene.hands.turn(replace(SIGHT, view=between))
    scene.hands.begin_eviction(EVICTION)
    scene.others.terminations[HOG.uid] = Termination(uid=HOG.uid, started_at=NOW, grace_ends_at=NOW)
    scene.hands.outcomes(leaving())
    assert ("done", HOG.uid) not in scene.others.calls
    later = replace(VIEW.containers[0], id="c2")
    scene.hands.turn(replace(SIGHT, view=replace(VIEW, containers=(VIEW.containers[0], later))))
    scene.others.running = {"c2"}
    scene.hands.outcomes(leaving())
    assert ("done", HOG.uid) not in scene.others.calls
    scene.others.running = set()
    scene.hands.outcomes(leaving())
    assert ("done", HOG.uid) in scene.others.calls


def test_whoever_is_not_waited_for_any_more_is_forgotten_also_without_an_end(scene: Scene) -> None:
    """Nothing of it grows with the days."""
    scene.hands.begin_eviction(EVICTION)
    assert scene.hands.finished(leaving(), State()) == ()
    assert scene.others.calls[-2:] == [("forget", HOG.uid), ("forget", HOG.uid)]
    assert scene.hands._dying == {}


def test_collectors_are_asked_only_while_somebody_waits_for_them(scene: Scene) -> None:
    reclaiming = State(phase=Reclaiming(threshold=DISK, due=(DISK,), before=observe(GI), until=NOW))
    assert scene.hands.outcomes(reclaiming).reclaimed == ()
    assert scene.hands.outcomes(State()).reclaimed is None


def test_duties_tell_the_collectors_events_and_send_them_again(scene: Scene) -> None:
    scene.hands.duties()
    assert scene.events == ["ImageGCFailed"]
    assert scene.others.calls == [("duties", WALL)]


def test_the_heartbeat_repeats_what_was_reported_last(scene: Scene) -> None:
    scene.hands.report_conditions((NodeCondition.DISK_PRESSURE,))
    scene.events.clear()
    scene.hands.turn(replace(SIGHT, wall=WALL + 60 * SECOND))
    scene.hands.heartbeat()
    assert scene.events == []
    assert "22:14:20Z" in scene.conditions.read_text()


def test_victims_of_an_earlier_life_get_what_is_left_of_their_grace(scene: Scene) -> None:
    scene.hands.resume(leaving(), VIEW, NOW + 4 * SECOND)
    ((_, uid, how),) = scene.others.calls
    assert (uid, how["grace_seconds"]) == (HOG.uid, 6)
    assert (how["containers"], how["sandboxes"]) == (("c1",), ())
    scene.others.calls.clear()
    scene.hands.resume(leaving(gone_at=NOW), VIEW, NOW)
    assert scene.others.calls == []


@pytest.mark.parametrize(("grace", "elapsed", "left"), [(10, 4, 6), (10, 11, 0), (60, 1, 59), (1, 0, 1)])
def test_the_grace_left_follows_from_when_waiting_ends(grace: int, elapsed: int, left: int) -> None:
    release = Release(uid="u", grace_period_seconds=grace, until=victim_until(grace, NOW))
    assert grace_left(release, NOW + elapsed * SECOND) == left


def test_a_victim_that_the_runtime_would_not_stop_is_told(scene: Scene) -> None:
    assert scene.hands.problems() == ()
    refused = Termination(uid="u", started_at=NOW, grace_ends_at=NOW, errors=("first", "last"))
    scene.others.terminations["u"] = refused
    assert scene.hands.problems() == (Problem(source="stopping pod u", detail="last"),)
