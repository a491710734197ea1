"""Page cache is not need: soft memory thresholds that only clean file pages hold met (policy Standard)."""

from dataclasses import replace

import pytest

from evictd.core.eviction.next_up import who_is_next
from evictd.core.model.config import EvictionConfig, Policy
from evictd.core.model.decision import RecordEvent
from evictd.core.model.finding import NoAction, NoActionReason, PodSkipped
from evictd.core.model.observation import Observation
from evictd.core.model.state import State
from evictd.core.units.quantity import of_bytes
from tests.playbook import Playbook, as_kubelet, config, node, number, pod, usage

SOFT = config(soft={"memory.available": ("1Gi", "30s")}, max_pod_grace_period_seconds=10)
READER, OTHER = pod("reader", memory="100Mi"), pod("other", memory="1Gi")
USED = [usage(READER, memory="928Mi", file_pages="900Mi"), usage(OTHER, memory="500Mi", file_pages="1Mi")]
MEMORY = "600Mi of 4Gi"
CALM = ("900Mi", "1471Mi", 0.0)


def reading(settings: EvictionConfig = SOFT) -> Playbook:
    """A pod that reads a file again and again, beside one that holds what it requested."""
    return Playbook(settings, pods=[READER, OTHER], usage=USED)


def test_a_reader_of_a_file_stays_while_the_kernel_has_memory() -> None:
    book = reading()
    book.at("0s", memory=MEMORY, file_pages=CALM).conditions("MemoryPressure")
    for time in ("30s", "40s", "1h"):
        book.at(time, memory=MEMORY, file_pages=CALM).stays_silent(NoActionReason.NOT_SHORT_OF_MEMORY)
        book.does_nothing()
    [finding] = book.findings(NoAction)
    said = [each for each in book.step.decisions if isinstance(each, RecordEvent)]
    assert said == [], "the event is recorded once for a shortage"
    assert (finding.needed, finding.reachable) == (of_bytes(number("1Gi")), of_bytes(number("1471Mi")))
    assert finding.detail == "900Mi of clean file pages, stalled 0.00% of the time"


def test_an_event_says_why_a_node_under_pressure_evicts_nothing() -> None:
    """The history had the condition only, and `why` of the pod referred to the history."""
    book = reading()
    book.at("0s", memory=MEMORY, file_pages=CALM).conditions("MemoryPressure")
    book.at("30s", memory=MEMORY, file_pages=CALM).stays_silent(NoActionReason.NOT_SHORT_OF_MEMORY)
    (event,) = (each for each in book.step.decisions if isinstance(each, RecordEvent))
    assert (event.type, event.reason) == ("Normal", "NotShortOfMemory")
    assert event.message.startswith(
        "No pod is evicted for memory.available: MemAvailable is 1.44Gi, above the 1Gi wanted; only page cache holds the "
        "threshold met (900Mi of clean file pages, stalled 0.00% of the time)"
    )


@pytest.mark.parametrize(
    ("memory", "file_pages", "policy", "waits"),
    [
        ("2Gi of 4Gi", ("900Mi", "2900Mi", 0.0), Policy.STANDARD, number("900Mi")),
        ("2Gi of 4Gi", ("900Mi", "2900Mi", 0.0), Policy.KUBELET, None),
        ("2Gi of 4Gi", ("900Mi", "2900Mi", 1.0), Policy.STANDARD, None),
        ("2Gi of 4Gi", ("900Mi", "2Gi", 0.0), Policy.STANDARD, None),
        ("600Mi of 4Gi", CALM, Policy.STANDARD, None),
    ],
    ids=["it waits", "policy Kubelet acts", "tasks stall", "MemAvailable is no more", "it is met"],
)
def test_whether_a_threshold_will_wait_is_known_before_it_is_met(
    memory: str, file_pages: tuple[str, str, float], policy: Policy, waits: int | None
) -> None:
    """The page foretold an eviction that never came (world 36)."""
    seen = Observation(
        node=node(memory=memory, file_pages=file_pages),
        pods=(READER, OTHER),
        pod_stats={"reader": USED[0], "other": USED[1]},
    )
    [answer] = who_is_next(State(), seen, replace(SOFT, policy=policy), 0)
    assert answer.waits_for_pages == waits


@pytest.mark.parametrize(
    "file_pages",
    [
        ("900Mi", "1471Mi", 1.0),
        ("900Mi", "1Gi", 0.0),
        ("423Mi", "1471Mi", 0.0),
        None,
    ],
    ids=["tasks stall", "MemAvailable is not above it", "more than the pages is missing", "not read"],
)
def test_a_pod_goes_where_memory_is_needed_or_nothing_says_that_it_is_not(
    file_pages: tuple[str, str, float] | None,
) -> None:
    book = reading()
    book.at("0s", memory=MEMORY, file_pages=file_pages).conditions("MemoryPressure")
    book.at("30s", memory=MEMORY, file_pages=file_pages).evicts("reader", grace=10)


@pytest.mark.parametrize("of_pod", ["900Mi", None])
def test_the_cause_says_how_much_of_pod_and_node_is_page_cache(of_pod: str | None) -> None:
    book = reading()
    book.usage["reader"] = usage(READER, memory="928Mi", file_pages=of_pod)
    thrashing = ("950Mi", "1471Mi", 20.0)
    book.at("0s", memory=MEMORY, file_pages=thrashing).conditions("MemoryPressure")
    book.at("30s", memory=MEMORY, file_pages=thrashing).evicts("reader")
    because = book.eviction().because
    found = (because.file_pages, because.node_file_pages)
    assert found == ((number("900Mi"), number("950Mi")) if of_pod else (None, None))


def test_a_hard_threshold_acts_as_documented() -> None:
    book = reading(config(hard={"memory.available": "1Gi"}))
    book.at("0s", memory=MEMORY, file_pages=CALM).conditions("MemoryPressure").evicts("reader")


def test_policy_kubelet_does_not_know_page_cache() -> None:
    book = reading(as_kubelet(SOFT))
    book.at("0s", memory=MEMORY, file_pages=CALM).conditions("MemoryPressure")
    book.at("30s", memory=MEMORY, file_pages=CALM).evicts("reader")


def test_minimum_reclaim_is_part_of_what_is_wanted() -> None:
    book = reading(config(soft={"memory.available": ("1Gi", "30s")}, min_reclaim={"memory.available": "512Mi"}))
    book.at("0s", memory=MEMORY, file_pages=CALM).conditions("MemoryPressure")
    book.at("30s", memory=MEMORY, file_pages=CALM).evicts("reader")  # MemAvailable is below 1536Mi


def test_what_becomes_a_need_is_acted_on_at_once() -> None:
    book = reading()
    book.at("0s", memory=MEMORY, file_pages=CALM).conditions("MemoryPressure")
    book.at("30s", memory=MEMORY, file_pages=CALM).does_nothing()
    book.at("40s", memory=MEMORY, file_pages=("900Mi", "1471Mi", 35.0)).evicts("reader")
    assert not book.findings(PodSkipped)


def test_who_is_next_says_that_nobody_is_and_how_much_is_page_cache() -> None:
    seen = Observation(
        node=node(memory=MEMORY, file_pages=CALM), pods=(READER, OTHER), pod_stats={each.uid: each for each in USED}
    )
    [memory] = who_is_next(State(), seen, SOFT, 0)
    assert memory.victim is None
    assert memory.stop is not None
    assert memory.stop.why is NoActionReason.NOT_SHORT_OF_MEMORY
    assert {row.name: row.file_pages for row in memory.rows} == {"reader": number("900Mi"), "other": number("1Mi")}
    [above] = who_is_next(State(), replace(seen, node=node(memory="3Gi of 4Gi", file_pages=CALM)), SOFT, 0)
    assert above.victim is not None
