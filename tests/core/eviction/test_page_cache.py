"""Clean file pages of pods are dropped before a pod goes for a soft memory threshold (policy Standard, `reclaim.pageCache`)."""

from dataclasses import replace

import pytest

from evictd.codec.state import decode_state, encode_state
from evictd.core.model.finding import NoActionReason, ReclaimWouldHelp
from evictd.core.model.observation import Reclaim, ReclaimOutcome
from evictd.core.units.quantity import of_bytes
from tests.playbook import Playbook, as_kubelet, config, number, pod, usage

SOFT = config(soft={"memory.available": ("1Gi", "30s")}, max_pod_grace_period_seconds=10, reclaim_page_cache=True)
READER, OTHER = pod("reader", memory="100Mi"), pod("other", memory="1Gi")
USED = [usage(READER, memory="928Mi", file_pages="900Mi"), usage(OTHER, memory="500Mi", file_pages="1Mi")]
MEMORY = "600Mi of 4Gi"
CALM = ("900Mi", "900Mi", 0.0)
"""MemAvailable is below the threshold, so the pages alone do not make it wait (`NotShortOfMemory`)."""
DROPPED = ReclaimOutcome(action=Reclaim.PAGE_CACHE, freed_bytes=500 << 20)


def short(**changes: object) -> Playbook:
    """A pod that reads a file again and again holds a soft threshold met, for its grace period."""
    book = Playbook(replace(SOFT, **changes), pods=[READER, OTHER], usage=USED)  # type: ignore[arg-type]
    book.at("0s", memory=MEMORY, file_pages=CALM).conditions("MemoryPressure")
    return book


def test_page_cache_goes_before_a_pod_and_the_pod_stays() -> None:
    book = short()
    book.at("30s", memory=MEMORY, file_pages=CALM).reclaims("pageCache", wanted=number("530Mi"))
    book.at("31s", memory=MEMORY, file_pages=CALM).stays_silent(NoActionReason.WAITING_FOR_RELEASE)
    book.at("32s", memory="1100Mi of 4Gi", file_pages=CALM, page_cache=DROPPED).does_nothing()
    assert book.state.page_cache is not None
    assert book.state.page_cache.freed == DROPPED.freed_bytes


def test_a_pod_goes_where_that_was_not_enough_and_the_kernel_is_asked_once_in_ten_minutes() -> None:
    book = short()
    book.at("30s", memory=MEMORY, file_pages=CALM).reclaims("pageCache", wanted=number("530Mi"))
    book.at("31s", memory="900Mi of 4Gi", file_pages=CALM, page_cache=DROPPED).evicts("reader", grace=10)


def test_a_kernel_that_hangs_is_waited_for_five_seconds() -> None:
    book = short()
    book.at("30s", memory=MEMORY, file_pages=CALM).reclaims("pageCache", wanted=number("530Mi"))
    book.at("34s", memory=MEMORY, file_pages=CALM).does_nothing()
    book.at("35s", memory=MEMORY, file_pages=CALM).evicts("reader", grace=10)


def test_a_restart_renews_neither_the_wait_nor_the_ten_minutes() -> None:
    book = short()
    book.at("30s", memory=MEMORY, file_pages=CALM).reclaims("pageCache", wanted=number("530Mi"))
    book.state = decode_state(encode_state(book.state))
    book.at("35s", memory=MEMORY, file_pages=CALM).evicts("reader", grace=10)


def test_it_is_asked_again_after_ten_minutes() -> None:
    book = short()
    book.at("30s", memory=MEMORY, file_pages=CALM).reclaims("pageCache", wanted=number("530Mi"))
    book.at("31s", memory="3Gi of 4Gi", file_pages=CALM, page_cache=DROPPED)
    book.at("9m50s", memory=MEMORY, file_pages=CALM)
    book.at("10m30s", memory=MEMORY, file_pages=CALM).reclaims("pageCache", wanted=number("530Mi"))


def test_a_hard_threshold_does_not_wait_for_page_cache() -> None:
    book = short(thresholds=(*SOFT.thresholds, *config(hard={"memory.available": "500Mi"}).thresholds))
    book.at("30s", memory=MEMORY, file_pages=CALM).reclaims("pageCache", wanted=number("530Mi"))
    book.at("31s", memory="400Mi of 4Gi", file_pages=CALM).evicts("reader", grace=1)


@pytest.mark.parametrize(
    ("file_pages", "rate", "of_reader"),
    [
        (("900Mi", "900Mi", 1.0), None, "900Mi"),
        (None, None, "900Mi"),
        (CALM, number("20Mi"), "900Mi"),
        (CALM, None, "400Mi"),
    ],
    ids=["tasks stall", "stalls are not read", "memory fills fast", "the pages are too few"],
)
def test_where_it_would_not_keep_a_pod_a_pod_goes(
    file_pages: tuple[str, str, float] | None, rate: int | None, of_reader: str
) -> None:
    book = short()
    book.usage["reader"] = usage(READER, memory="928Mi", file_pages=of_reader)
    book.at("30s", memory=MEMORY, file_pages=file_pages, fill_rate=rate).evicts("reader", grace=10)
    assert not book.findings(ReclaimWouldHelp)


def test_where_it_is_off_a_finding_says_how_much_it_could_have_freed() -> None:
    book = short(reclaim_page_cache=False)
    book.at("30s", memory=MEMORY, file_pages=CALM).evicts("reader", grace=10)
    [finding] = book.findings(ReclaimWouldHelp)
    assert (finding.action, of_bytes(finding.size), of_bytes(finding.missing)) == (
        Reclaim.PAGE_CACHE,
        of_bytes(number("901Mi")),
        of_bytes(number("424Mi")),
    )


def test_without_cgroup_v2_nothing_can_be_dropped() -> None:
    for switched_on in (True, False):
        book = short(reclaim_page_cache=switched_on)
        book.at("30s", memory=MEMORY, file_pages=CALM, drops_page_cache=False).evicts("reader", grace=10)
        assert not book.findings(ReclaimWouldHelp)


def test_policy_kubelet_drops_nothing() -> None:
    book = Playbook(as_kubelet(SOFT), pods=[READER, OTHER], usage=USED)
    book.at("0s", memory=MEMORY, file_pages=CALM).conditions("MemoryPressure")
    book.at("30s", memory=MEMORY, file_pages=CALM).evicts("reader", grace=10)
