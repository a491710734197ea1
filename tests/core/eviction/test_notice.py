"""The event for a reason not to evict."""

from evictd.core.eviction.notice import notice_of
from evictd.core.model.decision import RecordEvent
from evictd.core.model.finding import NoAction, NoActionReason
from evictd.core.model.pod import PodSource
from evictd.core.units.quantity import of_bytes
from tests.playbook import Playbook, config, pod, threshold, usage

MEMORY = threshold("memory.available", "13Gi")


def test_each_reason_has_its_numbers() -> None:
    in_vain = NoAction(
        why=NoActionReason.EVICTIONS_DO_NOT_HELP,
        threshold=MEMORY,
        needed=of_bytes(1 << 30),
        reachable=of_bytes(30 << 20),
    )
    event = notice_of(in_vain, None)
    assert event is not None
    assert (event.type, event.reason) == ("Warning", "EvictionsDoNotHelp")
    assert "1Gi is missing and the last two evictions gave back 30Mi" in event.message
    never = notice_of(NoAction(why=NoActionReason.THRESHOLD_NEVER_CLEAR, threshold=MEMORY), None)
    assert never is not None
    assert "the threshold 13Gi was met ever since" in never.message


def test_a_limit_that_is_reached_says_which() -> None:
    limit = NoAction(
        why=NoActionReason.EVICTION_LIMIT_REACHED, threshold=MEMORY, needed=of_bytes(1 << 30), detail="3 pods in 10m0s"
    )
    event = notice_of(limit, None)
    assert event is not None
    assert event.message.endswith("1Gi is missing and evictionLimit allows no more than 3 pods in 10m0s")


def test_waiting_for_a_victim_is_no_event() -> None:
    assert notice_of(NoAction(why=NoActionReason.WAITING_FOR_VICTIM, threshold=MEMORY), None) is None


def test_it_is_recorded_once_while_the_node_is_short_and_says_who_grew() -> None:
    static = pod("static", source=PodSource.STATIC)
    book = Playbook(config(hard={"memory.available": "500Mi"}), pods=[static], usage=[usage(static, memory="1Gi")])
    events: list[RecordEvent] = []
    for second, (memory, left) in enumerate((("1Gi", "4Gi"), ("5Gi", "100Mi"), ("5Gi", "90Mi"), ("5Gi", "80Mi"))):
        book.usage = {"static": usage(static, memory=memory)}
        book.at(f"{second}s", memory=f"{left} of 8Gi")
        events += [each for each in book.step.decisions if isinstance(each, RecordEvent)]
        book.left = []
    assert [each.reason for each in events] == ["EvictionThresholdMet", "ProtectedCulprit"]
    assert "pods took 4Gi (protected ones 4Gi)" in events[1].message
