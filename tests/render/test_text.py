"""Numbers, decisions and findings in text."""

import pytest

from evictd.core.model.config import EvictionConfig
from evictd.core.model.finding import ThresholdFinding
from evictd.core.model.pod import Pod, PodSource
from evictd.core.model.signal import Resource, Signal
from evictd.core.model.threshold import Threshold, ThresholdValue
from evictd.core.units.duration import SECOND
from evictd.core.units.quantity import of_bytes, parse_quantity
from evictd.render import text as words

CONFIG = EvictionConfig()
MEMORY = Threshold(signal=Signal.MEMORY_AVAILABLE, value=ThresholdValue(quantity=parse_quantity("500Mi")))
SOFT = Threshold(signal=Signal.NODEFS_AVAILABLE, value=ThresholdValue(fraction=0.1), grace_period=90 * SECOND)


def test_counts_are_exact_up_to_five_digits() -> None:
    assert words.amount_text(99_999, Resource.INODES) == "99999"
    assert words.amount_text(1_200_000, Resource.INODES) == "1.2M"
    assert words.amount_text(None, Resource.MEMORY) == "-"


def test_durations_are_rounded_to_what_people_read() -> None:
    assert words.duration_text(90 * SECOND + 1) == "1m30s"
    assert words.duration_text(1_500_400_000) == "1.5s"


def test_thresholds_look_like_the_flag() -> None:
    assert words.threshold_text(MEMORY) == "memory.available<500Mi (hard)"
    assert words.threshold_text(SOFT) == "nodefs.available<10% (soft, 1m30s)"


def test_a_name_cannot_act_on_the_terminal() -> None:
    """A scenario file may come from anybody."""
    assert words.pod_name(Pod(name="a\x1b[2Jb\n", namespace="default", uid="1")) == r"default/a\x1b[2Jb\n"


@pytest.mark.parametrize(
    ("pod", "why"),
    [
        (Pod(name="a", namespace="n", uid="1", source=PodSource.STATIC), "static pod"),
        (Pod(name="a", namespace="n", uid="1", source=PodSource.MIRROR), "mirror pod"),
        (Pod(name="a", namespace="n", uid="1", priority=2_000_000_000), "critical priority"),
        (Pod(name="a", namespace="n", uid="own"), "evictd itself"),
        (Pod(name="a", namespace="n", uid="1", priority=1_999_999_999), ""),
    ],
)
def test_protection_says_why(pod: Pod, why: str) -> None:
    assert words.protection(pod, EvictionConfig(protected_pods=frozenset({"own"}))) == why


def _finding(**more: object) -> ThresholdFinding:
    fields = {
        "threshold": SOFT,
        "limit": of_bytes(1000),
        "available": of_bytes(900),
        "capacity": of_bytes(10_000),
        "met": True,
        **more,
    }
    return ThresholdFinding(**fields)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("finding", "text"),
    [
        (_finding(met=False), "ok"),
        (_finding(grace_left=30 * SECOND), "met, 30s left"),
        (_finding(grace_left=0), "met"),
        (_finding(grace_left=0, stale=True), "met, stats not updated"),
        (_finding(met=False, kept_by_min_reclaim=True), "min-reclaim not reached"),
    ],
)
def test_how_a_threshold_stands(finding: ThresholdFinding, text: str) -> None:
    assert words.standing(finding) == text
    assert words.distance(finding) == -100


def test_what_is_left_below_a_limit_is_not_written_as_equal_to_it() -> None:
    mi = 1 << 20
    limit, below = of_bytes(500 * mi), of_bytes(500 * mi - 1)
    assert words.left_text(below, Signal.MEMORY_AVAILABLE, limit) == "just under 500Mi left"
    assert words.left_text(limit, Signal.MEMORY_AVAILABLE, limit) == "500Mi left"
    assert words.left_text(of_bytes(499 * mi), Signal.MEMORY_AVAILABLE, limit) == "499Mi left"
    assert words.left_text(below, Signal.MEMORY_AVAILABLE) == "500Mi left"


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.0, "0.0s"),
        (9.5, "9.5s"),
        (90.2, "1m30s"),
        (3661, "1h1m1s"),
        (7199.7, "2h0m0s"),
        (8000, "2h13m"),
        (595_580, "7 days"),
    ],
)
def test_seconds_are_short(seconds: float, text: str) -> None:
    assert words.seconds_text(seconds) == text


def test_one_pod_is_no_plural() -> None:
    assert words.pods_text({"pods": 1, "ageSeconds": 1}) == "1 pod"
    assert words.pods_text({"pods": 2, "ageSeconds": 1, "podsAgeSeconds": 31}) == "2 pods (as of 30s earlier)"


def test_a_place_in_a_sequence_has_its_ending() -> None:
    assert [words.ordinal(each) for each in (1, 2, 3, 4, 11, 112, 51, 23)] == [
        "1st", "2nd", "3rd", "4th", "11th", "112th", "51st", "23rd",
    ]  # fmt: skip


def test_an_amount_to_request_is_not_rounded_below_what_is_used() -> None:
    """A request of 326Mi was proposed for 326.4Mi, and the pod would still have exceeded it."""
    for used in (6 << 30, 342_255_206, 5_465_000_001, 1_053_818_881, 104_960_001):
        text = words.enough_text(used, Resource.MEMORY)
        assert used <= parse_quantity(text).value() <= used * 1.01
    assert words.enough_text(6 << 30, Resource.MEMORY) == "6Gi"


def test_a_pod_that_is_still_there_is_chosen() -> None:
    assert (
        words.chosen_because("Evicted default/hog (5Gi): it requests none.")
        == "Chosen default/hog (5Gi): it requests none."
    )
    assert words.chosen_because("Would evict default/hog (5Gi).") == "Would evict default/hog (5Gi)."
    assert words.chosen_because("") == ""
