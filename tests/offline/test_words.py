"""Numbers, decisions and findings in words."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evictd.core.config import EvictionConfig
from evictd.core.decision import (
    ContainerFsIgnored,
    EvictPod,
    RankedPod,
    Ranking,
    ReclaimNode,
    RecordEvent,
    ReportConditions,
    SignalUnobserved,
    Silence,
    Silent,
    Spared,
    StatsMissing,
    ThresholdFinding,
    Wait,
)
from evictd.core.duration import SECOND
from evictd.core.observation import Reclaim
from evictd.core.pod import Pod, PodSource
from evictd.core.quantity import NANO, of_bytes, parse_quantity
from evictd.core.signal import NodeCondition, Resource, Signal
from evictd.core.threshold import Threshold, ThresholdValue
from evictd.offline import words
from tests.offline.stories import played

CONFIG = EvictionConfig()
MEMORY = Threshold(signal=Signal.MEMORY_AVAILABLE, value=ThresholdValue(quantity=parse_quantity("500Mi")))
SOFT = Threshold(signal=Signal.NODEFS_AVAILABLE, value=ThresholdValue(fraction=0.1), grace_period=90 * SECOND)


@pytest.mark.parametrize(
    ("count", "text"),
    [
        (0, "0"),
        (999, "999"),
        (1023, "1023"),
        (1024, "1Ki"),
        (62 * 2**20, "62Mi"),
        (1_567_741_050, "1.46Gi"),
        (-90 * 2**20, "-90Mi"),
        (2**30 - 1, "1Gi"),
        (100 * 2**40, "100Ti"),
    ],
)
def test_bytes_have_three_digits_and_a_unit(count: int, text: str) -> None:
    assert words.bytes_words(count) == text


@given(st.integers(min_value=-(2**62), max_value=2**62))
def test_bytes_are_never_wrong_by_more_than_a_hundredth(count: int) -> None:
    """What is shown can be read back, close to what it stands for."""
    shown = words.bytes_words(count)
    assert abs(parse_quantity(shown).nano - count * NANO) <= abs(count) * NANO * 0.011


def test_counts_are_written_as_they_are() -> None:
    assert words.units_words(1_200_000, Resource.INODES) == "1200000"
    assert words.units_words(None, Resource.MEMORY) == "-"


def test_durations_are_rounded_to_what_people_read() -> None:
    assert words.period(90 * SECOND + 1) == "1m30s"
    assert words.period(1_500_400_000) == "1.5s"


def test_thresholds_look_like_the_flag() -> None:
    assert words.threshold_words(MEMORY) == "memory.available<500Mi (hard)"
    assert words.threshold_words(SOFT) == "nodefs.available<10% (soft, 1m30s)"


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


def _row(
    name: str, *, first: int = 1, priority: int = 0, second: int = 0, excess: int = 0, usage: int | None = 0
) -> RankedPod:
    pod = Pod(name=name, namespace="default", uid=name, priority=priority)
    return RankedPod(first, priority, second, -excess * NANO, "default", name, name, usage, 0, pod)


@pytest.mark.parametrize(
    ("row", "following", "text"),
    [
        (_row("a", first=1), _row("b", first=2), "exceeds its request, the next does not"),
        (_row("a", first=0, usage=None), _row("b"), "no stats, the next has"),
        (_row("a"), _row("b", priority=7), "priority below the next (7)"),
        (_row("a", excess=2048), _row("b", excess=1024), "usage - request 2Ki, the next 1Ki"),
        (_row("a"), _row("b", second=1, usage=None), "the next has no stats"),
        (_row("a"), _row("b"), "equal to the next, by name"),
    ],
)
def test_what_puts_a_pod_before_the_next(row: RankedPod, following: RankedPod, text: str) -> None:
    assert words.goes_before(row, following, Resource.MEMORY) == text


def test_pids_are_processes() -> None:
    row, following = _row("a", excess=9, usage=9), _row("b", excess=4, usage=4)
    assert words.goes_before(row, following, Resource.PIDS) == "processes 9, the next 4"
    assert words.place_words(row, Resource.PIDS) == "9 processes"


def test_every_decision_has_its_sentence() -> None:
    evictions = [
        decision
        for cycle in played("memory-with-priorities")[1]
        for turn in cycle.turns
        for decision in words.evictions(turn.step.decisions)
    ]
    expected = (
        "evict default/report (grace period 1s) for memory.available: 410Mi available, threshold 500Mi; "
        "uses 1.9Gi, requests 256Mi"
    )
    assert [words.say_decision(decision) for decision in evictions] == [expected]
    shortened = EvictPod(
        pod=evictions[0].pod, grace_period_seconds=1, message="", because=evictions[0].because, shortens=True
    )
    assert words.say_decision(shortened) == "shorten the grace period of default/report to 1s"
    assert words.say_decision(Wait(nanoseconds=SECOND)) == "look again within 1s"
    assert words.say_decision(ReportConditions(conditions=())) == "report node conditions: none"
    assert (
        words.say_decision(ReportConditions(conditions=(NodeCondition.MEMORY_PRESSURE, NodeCondition.PID_PRESSURE)))
        == "report node conditions: MemoryPressure, PIDPressure"
    )
    assert words.say_decision(RecordEvent(type="Warning", reason="R", message="m")) == "Warning event R: m"
    reclaim = ReclaimNode(actions=(Reclaim.CONTAINERS, Reclaim.IMAGES), threshold=SOFT, wanted_bytes=2048)
    assert words.say_decision(reclaim) == "delete unused containers and images for nodefs.available, 2Ki wanted"


def test_every_finding_has_its_sentence() -> None:
    pods = tuple(Pod(name=f"p{i}", namespace="n", uid=str(i)) for i in range(7))
    sentences = {
        words.say_finding(finding, CONFIG)
        for finding in (
            _finding(grace_left=SECOND),
            SignalUnobserved(signal=Signal.PID_AVAILABLE),
            Ranking(signal=Signal.PID_AVAILABLE, resource=Resource.PIDS, rows=(_row("a"), _row("b"))),
            StatsMissing(pods=pods),
            Spared(pod=Pod(name="s", namespace="n", uid="s", source=PodSource.STATIC)),
            ContainerFsIgnored(threshold=SOFT),
        )
    }
    assert sentences == {
        "nodefs.available<10% (soft, 1m30s): 900 available, met, 1s left",
        "pid.available: no observation, so its thresholds are not tested",
        "rank for pids: default/a, default/b",
        "no stats for n/p0, n/p1, n/p2, n/p3, n/p4 and 2 more",
        "n/s ranks before the victim but is protected: static pod",
        "nodefs.available<10% (soft, 1m30s) is ignored: containerfs follows nodefs or imagefs",
    }


@pytest.mark.parametrize("why", Silence)
def test_every_silence_has_its_sentence(why: Silence) -> None:
    culprit = Pod(name="c", namespace="n", uid="c", source=PodSource.STATIC)
    finding = Silent(why=why, threshold=MEMORY, pod=culprit, needed=of_bytes(2048), reachable=of_bytes(1024))
    text = words.say_finding(finding, CONFIG)
    assert text
    assert "\n" not in text
    if why is Silence.PROTECTED_CULPRIT:
        assert text.startswith("ProtectedCulprit: n/c is the largest user and protected; all others together use 1Ki")
