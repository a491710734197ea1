"""A dry run carries nothing out, and logs each thing that it would do once."""

from dataclasses import replace
from typing import Any

from evictd.act.actuator import Progress, perform
from evictd.act.dry_run import UNLESS, WOULD, DryRunActuator
from evictd.core.model.decision import Decision, EvictPod, ReclaimNode, RecordEvent, ReportConditions
from evictd.core.model.observation import Outcomes, Reclaim
from evictd.core.model.oom import MemoryQoSDifference, OomScoreDifference
from evictd.core.model.signal import NodeCondition
from evictd.core.model.state import State, Step
from evictd.observe.reading.reading import Reading
from tests.daemon.world import GI, HOG, NOW, WALL, observe, step

READING = Reading(now=NOW, wall=WALL, observation=observe(GI))
PRESSED = step(GI // 2)
CALM = step(4 * GI)


class Logged:
    """An `ActuatorLog` that keeps what it is given."""

    def __init__(self) -> None:
        self.decisions: list[Decision] = []
        self.prefixes: list[str] = []
        self.oom_scores: list[str] = []

    def decision(self, decision: Decision, *, prefix: str = "") -> None:
        assert prefix in {WOULD, UNLESS}
        self.decisions.append(decision)
        self.prefixes.append(prefix)

    def event(self, event: RecordEvent) -> None:
        raise AssertionError(event)

    def corrected(self, difference: OomScoreDifference | MemoryQoSDifference, *, prefix: str = "") -> None:
        assert prefix == WOULD
        assert isinstance(difference, OomScoreDifference)
        self.oom_scores.append(difference.container)


class Begun:
    """A live actuator that may only finish what was begun: any other call is an `AttributeError`."""

    def __init__(self) -> None:
        self.advanced: list[State] = []
        self.suspended = 0

    def advance(self, state: State, _reading: Reading) -> Progress:
        self.advanced.append(state)
        return Progress()

    def suspend(self, _reading: Reading) -> None:
        self.suspended += 1


class Scene:
    """A dry run, and what it logged."""

    def __init__(self) -> None:
        self.log = Logged()
        self.live = Begun()
        live: Any = self.live
        self.actuator = DryRunActuator(live, self.log)

    def cycle(self, done: Step) -> State:
        """Perform a step as the loop does; gives the state to go on with."""
        performed = perform(done.decisions, self.actuator, READING)
        assert performed.failures == ()
        self.news = performed.news
        self.actuator.advance(done.state, READING)
        return done.state

    @property
    def kinds(self) -> list[type]:
        return [type(decision) for decision in self.log.decisions]


def test_nothing_is_done_and_everything_is_logged() -> None:
    scene = Scene()
    state = scene.cycle(PRESSED)
    scene.actuator.perform_duties(READING)
    scene.actuator.heartbeat(READING)
    assert scene.kinds == [ReportConditions, RecordEvent, EvictPod]
    assert scene.live.advanced == [state]


def test_under_a_pressure_that_lasts_no_pod_is_remembered_that_is_gone() -> None:
    scene = Scene()
    scene.cycle(PRESSED)
    remembered = len(scene.actuator._announced)
    for number in range(20):
        pod = replace(HOG, uid=f"u{number}")
        (chosen,) = [each for each in PRESSED.decisions if isinstance(each, EvictPod)]
        scene.cycle(replace(PRESSED, decisions=(replace(chosen, pod=pod),)))
    assert len(scene.actuator._announced) <= remembered


def test_each_cycle_suspends_what_was_begun_live() -> None:
    """In place of the duties: the conditions and proposals from before the reload are taken back."""
    scene = Scene()
    scene.cycle(PRESSED)
    assert scene.live.suspended == 0
    scene.actuator.perform_duties(READING)
    assert scene.live.suspended == 1


def test_the_same_is_not_logged_again_while_the_pressure_lasts() -> None:
    scene = Scene()
    state = State()
    for cycle in range(20):
        state = scene.cycle(step(GI // 2, state, NOW + cycle))
    assert scene.kinds == [ReportConditions, RecordEvent, EvictPod]


def test_only_what_was_not_logged_is_news() -> None:
    """The journal holds the cycles with news."""
    scene = Scene()
    assert [scene.actuator.announce(decision) for decision in PRESSED.decisions] == [True, True, True, False]
    assert [scene.actuator.announce(decision) for decision in PRESSED.decisions] == [True, False, False, False]
    scene.cycle(replace(PRESSED, decisions=PRESSED.decisions[1:]))
    assert not scene.news


def test_an_eviction_after_a_reclaim_is_logged_with_its_condition() -> None:
    """A dry run frees nothing, so the pod is chosen although unused images might have been enough."""
    scene = Scene()
    (evict,) = [each for each in PRESSED.decisions if isinstance(each, EvictPod)]
    assert evict.because.threshold is not None
    reclaim = ReclaimNode(actions=(Reclaim.IMAGES,), threshold=evict.because.threshold, wanted_bytes=None)
    scene.cycle(replace(PRESSED, decisions=(reclaim, evict)))
    scene.cycle(CALM)
    scene.cycle(replace(PRESSED, decisions=(evict,)))
    assert scene.log.prefixes[:2] == [WOULD, UNLESS]
    assert scene.log.prefixes[-1] == WOULD


def test_it_is_logged_again_when_the_pressure_comes_back() -> None:
    scene = Scene()
    for done in (PRESSED, CALM, PRESSED):
        scene.cycle(done)
    assert scene.kinds.count(EvictPod) == 2


def test_a_limit_broken_in_cycle_after_cycle_is_logged_once() -> None:
    """No threshold is met then; the announcements are kept as long as the eviction is decided."""
    scene = Scene()
    evict = next(decision for decision in PRESSED.decisions if isinstance(decision, EvictPod))
    broken = Step(state=State(), decisions=(evict,), findings=())
    for _ in range(3):
        scene.cycle(broken)
    assert scene.kinds == [EvictPod]
    scene.cycle(CALM)
    scene.cycle(broken)
    assert scene.kinds.count(EvictPod) == 2


def test_conditions_are_always_logged() -> None:
    scene = Scene()
    for conditions in ((NodeCondition.PID_PRESSURE,), (), (NodeCondition.PID_PRESSURE,)):
        scene.cycle(Step(state=State(), decisions=(ReportConditions(conditions=conditions),), findings=()))
    assert len(scene.kinds) == 3


def test_collections_have_ended_at_once_and_no_victim_is_gone() -> None:
    assert Scene().actuator.outcomes(PRESSED.state) == Outcomes(reclaimed=(), dry_run=True)


def test_an_oom_score_is_logged_once_as_long_as_it_differs() -> None:
    scene = Scene()
    difference = OomScoreDifference(pod=HOG, container="main", found=0, expected=1000, pids=(1,), cgroup="/c")
    for differences in ([difference], [difference], [], [difference]):
        assert scene.actuator.write(differences) == ()
    assert scene.log.oom_scores == ["main", "main"]
