"""Decisions become deeds in order, whatever fails; a dry run only says what it would do, and says it once."""

from evictd.act.perform import Performer, perform
from evictd.core.decision import Decision, EvictPod, ReclaimNode, RecordEvent, ReportConditions
from evictd.core.observation import Outcomes, Reclaim
from evictd.core.signal import NodeCondition
from evictd.core.state import CleaningUp, State, Step, Watching
from evictd.errors import NodeError
from tests.daemon.world import DISK, GI, HARD, NOW, step


class Notebook:
    """Hands that write down what they were asked for, and refuse what the test wants refused."""

    def __init__(self, *, refuses: type | None = None) -> None:
        self.done: list[str] = []
        self._refuses = refuses

    def _note(self, what: str, kind: type) -> None:
        if kind is self._refuses:
            raise NodeError("no")
        self.done.append(what)

    def outcomes(self, state: State) -> Outcomes:
        return Outcomes(cleaned_up=frozenset({"uid-hog"}))

    def report_conditions(self, conditions: tuple[NodeCondition, ...]) -> None:
        self._note(f"report {len(conditions)}", ReportConditions)

    def record_event(self, event: RecordEvent) -> None:
        self._note(f"event {event.reason}", RecordEvent)

    def begin_reclaim(self, decision: ReclaimNode) -> None:
        self._note("reclaim", ReclaimNode)

    def begin_eviction(self, decision: EvictPod) -> None:
        self._note(f"evict {decision.pod.name}", EvictPod)


PRESSED = step(GI // 2)
CALM = step(4 * GI)


def test_decisions_are_carried_out_in_their_order() -> None:
    hands = Notebook()
    assert perform(PRESSED.decisions, hands) == ()
    assert hands.done == ["report 1", "event EvictionThresholdMet", "evict hog"]


def test_a_reclaim_is_handed_on() -> None:
    hands = Notebook()
    perform([ReclaimNode(actions=(Reclaim.IMAGES,), threshold=DISK)], hands)
    assert hands.done == ["reclaim"]


def test_a_hand_that_fails_is_told_and_the_rest_is_done() -> None:
    hands = Notebook(refuses=ReportConditions)
    (failure,) = perform(PRESSED.decisions, hands)
    assert isinstance(failure.decision, ReportConditions)
    assert hands.done == ["event EvictionThresholdMet", "evict hog"]


def test_a_real_run_tells_every_decision_and_does_it() -> None:
    told: list[Decision] = []
    hands = Notebook()
    performer = Performer(hands, dry_run=False, tell=told.append)
    performer.perform(PRESSED)
    performer.perform(PRESSED)
    assert len(told) == 6
    assert hands.done.count("evict hog") == 2
    assert performer.remembered(PRESSED.state) is PRESSED.state


def dry() -> tuple[Performer, Notebook, list[Decision]]:
    told: list[Decision] = []
    hands = Notebook()
    return Performer(hands, dry_run=True, tell=told.append), hands, told


def test_a_dry_run_does_nothing_and_says_what_it_would_do() -> None:
    performer, hands, told = dry()
    performer.perform(PRESSED)
    assert hands.done == []
    assert [type(decision) for decision in told] == [ReportConditions, RecordEvent, EvictPod]


def test_a_dry_run_does_not_repeat_itself_while_the_pressure_lasts() -> None:
    performer, _, told = dry()
    state = State()
    for cycle in range(20):
        done = step(GI // 2, state, NOW + cycle)
        performer.perform(done)
        state = performer.remembered(done.state)
    assert [type(decision) for decision in told] == [ReportConditions, RecordEvent, EvictPod]


def test_a_dry_run_speaks_again_when_the_pressure_comes_back() -> None:
    performer, _, told = dry()
    performer.perform(PRESSED)
    performer.perform(CALM)
    performer.perform(PRESSED)
    assert sum(isinstance(decision, EvictPod) for decision in told) == 2


def test_a_dry_run_waits_for_nobody() -> None:
    performer, _, _ = dry()
    assert isinstance(PRESSED.state.phase, CleaningUp)
    remembered = performer.remembered(PRESSED.state)
    assert remembered.phase == Watching()
    assert remembered.releases == ()
    assert remembered.thresholds_met == (HARD,)


def test_a_dry_run_keeps_the_state_of_a_calm_node() -> None:
    performer, _, _ = dry()
    assert performer.remembered(CALM.state) is CALM.state


def test_conditions_are_always_news() -> None:
    performer, _, told = dry()
    for conditions in ((NodeCondition.PID_PRESSURE,), (), (NodeCondition.PID_PRESSURE,)):
        performer.perform(Step(state=State(), decisions=(ReportConditions(conditions=conditions),), findings=()))
    assert len(told) == 3


def test_in_a_dry_run_collectors_end_at_once_and_nobody_is_ever_gone() -> None:
    dry_run, _, _ = dry()
    assert dry_run.outcomes(PRESSED.state) == Outcomes(reclaimed=())
    real = Performer(Notebook(), dry_run=False, tell=lambda _: None)
    assert real.outcomes(PRESSED.state).cleaned_up == {"uid-hog"}
