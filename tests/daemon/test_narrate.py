"""One line for each kind of decision."""

import pytest

from evictd.core.decision import Decision, EvictPod, ReclaimNode, RecordEvent, ReportConditions, Wait
from evictd.core.observation import Reclaim
from evictd.core.signal import NodeCondition
from evictd.daemon.narrate import kind_of, narrate
from tests.daemon.world import DISK, GI, step


@pytest.mark.parametrize(
    ("decision", "text"),
    [
        (ReportConditions(conditions=(NodeCondition.DISK_PRESSURE,)), "report DiskPressure"),
        (ReportConditions(conditions=()), "report no pressure"),
        (RecordEvent(type="Warning", reason="A", message="b"), "A: b"),
        (
            ReclaimNode(actions=(Reclaim.CONTAINERS, Reclaim.IMAGES), threshold=DISK),
            "collect unused containers and images for nodefs.available",
        ),
        (Wait(nanoseconds=1), "look again later"),
    ],
)
def test_a_decision_is_one_line(decision: Decision, text: str) -> None:
    assert narrate(decision) == text


def test_an_eviction_says_whom_why_and_on_which_numbers() -> None:
    (eviction,) = (each for each in step(GI // 2).decisions if isinstance(each, EvictPod))
    assert kind_of(eviction) == "EvictPod"
    assert narrate(eviction) == (
        "evict default/hog with 1s of grace for memory.available: 512Mi left, threshold 1Gi; it uses 6Gi, requests 0"
    )
