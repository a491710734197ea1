"""Decisions are announced and performed in order, whatever fails."""

from evictd.act.actuator import Performed, perform
from evictd.core.model.decision import (
    Decision,
    EvictPod,
    ReclaimNode,
    RecordEvent,
    ReportConditions,
    Wait,
    WithdrawEviction,
)
from evictd.core.model.observation import Reclaim
from evictd.core.model.pod import Pod
from evictd.core.model.signal import NodeCondition
from evictd.errors import NodeError
from evictd.observe.reading.reading import Reading
from tests.daemon.world import DISK, GI, NOW, WALL, observe, step

READING = Reading(now=NOW, wall=WALL, observation=observe(GI))


class Recording:
    """Records calls in order; `refuses` is the kind of decision whose performing raises, `silent` whether announcing does."""

    def __init__(self, *, refuses: type | None = None, silent: bool = False) -> None:
        self.done: list[str] = []
        self.announced: list[Decision] = []
        self._refuses = refuses
        self._silent = silent

    def announce(self, decision: Decision) -> bool:
        if self._silent:
            raise NodeError("no text for it")
        self.announced.append(decision)
        return isinstance(decision, EvictPod)

    def _record(self, what: str, kind: type, reading: Reading) -> None:
        assert reading == READING
        if kind is self._refuses:
            raise NodeError("no")
        self.done.append(what)

    def report_conditions(self, conditions: tuple[NodeCondition, ...], reading: Reading) -> None:
        self._record(f"report {len(conditions)}", ReportConditions, reading)

    def record_event(self, event: RecordEvent, reading: Reading) -> None:
        self._record(f"event {event.reason}", RecordEvent, reading)

    def begin_reclaim(self, decision: ReclaimNode, reading: Reading) -> None:
        self._record("reclaim", ReclaimNode, reading)

    def begin_eviction(self, decision: EvictPod, reading: Reading) -> None:
        self._record(f"evict {decision.pod.name}", EvictPod, reading)

    def withdraw_eviction(self, decision: WithdrawEviction, reading: Reading) -> None:
        self._record(f"withdraw {decision.pod.name}", WithdrawEviction, reading)


PRESSED = step(GI // 2)
ALL = ["report 1", "event EvictionThresholdMet", "evict hog"]


def test_decisions_are_announced_and_performed_in_their_order() -> None:
    actuator = Recording()
    assert perform(PRESSED.decisions, actuator, READING) == Performed(failures=(), news=True)
    assert actuator.done == ALL
    assert actuator.announced == list(PRESSED.decisions)
    assert isinstance(PRESSED.decisions[-1], Wait)


def test_a_reclaim_is_begun() -> None:
    actuator = Recording()
    assert not perform([ReclaimNode(actions=(Reclaim.IMAGES,), threshold=DISK)], actuator, READING).news
    assert actuator.done == ["reclaim"]


def test_an_eviction_is_withdrawn() -> None:
    actuator = Recording()
    pod = Pod(name="hog", namespace="default", uid="u")
    perform([WithdrawEviction(pod=pod, reason="pressure has ended")], actuator, READING)
    assert actuator.done == ["withdraw hog"]


def test_a_decision_that_fails_is_reported_and_the_rest_is_done() -> None:
    actuator = Recording(refuses=ReportConditions)
    (failure,) = perform(PRESSED.decisions, actuator, READING).failures
    assert isinstance(failure.decision, ReportConditions)
    assert actuator.done == ALL[1:]


def test_a_decision_that_cannot_be_announced_is_performed() -> None:
    actuator = Recording(silent=True)
    performed = perform(PRESSED.decisions, actuator, READING)
    assert performed.news, "the journal is to have what the log could not"
    assert [failure.decision for failure in performed.failures] == list(PRESSED.decisions)
    assert actuator.done == ALL


def test_a_stop_goes_out_before_its_log_line() -> None:
    """A log costs microseconds, and a thread that competes with the stop."""
    order: list[str] = []
    actuator = Recording()
    actuator.announce = lambda decision: not order.append(f"log {type(decision).__name__}")  # type: ignore[method-assign, func-returns-value]
    actuator.begin_eviction = lambda *_: order.append("stop")  # type: ignore[method-assign]
    perform(PRESSED.decisions, actuator, READING)
    assert order[-3:] == ["stop", "log EvictPod", "log Wait"]
