"""Decisions, findings and places in a ranking as sentences."""

from dataclasses import replace

import pytest

from evictd.core.model.config import EvictionConfig
from evictd.core.model.decision import EvictPod, ReclaimNode, RecordEvent, ReportConditions, Wait, WithdrawEviction
from evictd.core.model.finding import (
    ContainerFsIgnored,
    ProtectedPodSkipped,
    RankedPod,
    Ranking,
    RankPlace,
    SignalUnobserved,
    Standing,
    StatsMissing,
    ThresholdFinding,
)
from evictd.core.model.observation import Reclaim
from evictd.core.model.pod import Pod, PodSource
from evictd.core.model.signal import NodeCondition, Resource, Signal
from evictd.core.model.threshold import Threshold, ThresholdValue
from evictd.core.units.duration import MILLISECOND, SECOND
from evictd.core.units.quantity import NANO, of_bytes, parse_quantity
from evictd.render import sentences
from tests.stories import played

CONFIG = EvictionConfig()
MEMORY = Threshold(signal=Signal.MEMORY_AVAILABLE, value=ThresholdValue(quantity=parse_quantity("500Mi")))
SOFT = Threshold(signal=Signal.NODEFS_AVAILABLE, value=ThresholdValue(fraction=0.1), grace_period=90 * SECOND)


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


def _row(
    name: str,
    *,
    standing: Standing = Standing.EXCEEDS,
    priority: int = 0,
    place: RankPlace = RankPlace.MEASURED,
    excess: int = 0,
    usage: int | None = 0,
    request: int = 0,
) -> RankedPod:
    return RankedPod(
        standing=standing,
        preference=0,
        priority=priority,
        place=place,
        deficit=-excess * NANO,
        namespace="default",
        name=name,
        uid=name,
        usage=usage,
        request=request * NANO,
        pod=Pod(name=name, namespace="default", uid=name, priority=priority),
    )


@pytest.mark.parametrize(
    ("row", "following", "text"),
    [
        (
            _row("a"),
            _row("b", standing=Standing.WITHIN),
            "requests none and uses 0, while default/b uses none",
        ),
        (_row("a", standing=Standing.UNMEASURED_FIRST, usage=None), _row("b"), "is not measured, default/b is"),
        (_row("a"), _row("b", priority=7), "priority 0 is below 7 of default/b"),
        (
            _row("a", excess=2048, usage=2048),
            _row("b", excess=1024, usage=1024),
            "uses 2Ki, default/b only 1Ki; both request none",
        ),
        (
            _row("a", excess=2048, usage=3072, request=1024),
            _row("b", excess=1024, usage=3072, request=2048),
            "exceeds its request by 2Ki, default/b by only 1Ki",
        ),
        (
            _row("a", excess=2048, usage=2048),
            _row("b", excess=1024, usage=3072, request=2048),
            "requests none and uses 2Ki, while default/b exceeds its request by only 1Ki",
        ),
        (
            _row("a", excess=2048, usage=3072, request=1024),
            _row("b", excess=1024, usage=1024),
            "exceeds its request by 2Ki, while default/b requests none and uses only 1Ki",
        ),
        (_row("a"), _row("b", place=RankPlace.LAST, usage=None), "default/b is not measured"),
        (_row("a"), _row("b"), "is equal to default/b, so the name decides"),
        (
            _row("a", standing=Standing.WITHIN, excess=0, usage=2048, request=2048),
            _row("b", standing=Standing.WITHIN, excess=-1024, usage=1024, request=2048),
            "uses what it requests, default/b is 1Ki within its request",
        ),
        (
            _row("a", standing=Standing.WITHIN, excess=0, usage=0, request=0),
            _row("b", standing=Standing.WITHIN, excess=-1024, usage=1024, request=2048),
            "uses and requests none, default/b is 1Ki within its request",
        ),
    ],
)
def test_what_puts_a_pod_before_the_next(row: RankedPod, following: RankedPod, text: str) -> None:
    assert sentences.goes_before(row, following, Resource.MEMORY) == text


def test_pids_are_processes() -> None:
    row, following = _row("a", excess=9, usage=9), _row("b", excess=4, usage=4)
    assert sentences.goes_before(row, following, Resource.PIDS) == "uses 9 processes, default/b 4 processes"
    assert sentences.place_text(row, Resource.PIDS) == "uses 9 processes"


def test_a_pod_that_uses_what_it_requests_is_not_0_within_its_request() -> None:
    row = _row("a", standing=Standing.WITHIN, excess=0, usage=2048, request=2048)
    assert sentences.place_text(row, Resource.MEMORY) == "uses what it requests"


def test_every_decision_has_its_sentence() -> None:
    evictions = [
        decision
        for cycle in played("memory-with-priorities")[1]
        for turn in cycle.turns
        for decision in turn.step.decisions
        if isinstance(decision, EvictPod)
    ]
    expected = (
        "evict default/report (grace period 1s) for memory.available: 410Mi left, threshold 500Mi; "
        "it uses 1.9Gi, requests 256Mi"
    )
    assert [sentences.decision_text(decision) for decision in evictions] == [expected]
    old = replace(evictions[0], because=replace(evictions[0].because, usage_age=20 * SECOND))
    assert sentences.decision_text(old).endswith("; it used 1.9Gi 20s before, requests 256Mi")
    shortened = EvictPod(
        pod=evictions[0].pod, grace_period_seconds=1, message="", because=evictions[0].because, shortens=True
    )
    short = " for memory.available: 410Mi left, threshold 500Mi"
    assert sentences.decision_text(shortened) == f"shorten the grace period of default/report to 1s{short}"
    in_time = replace(evictions[0].because, fill_rate=200 * 2**20, time_left=475 * MILLISECOND)
    fitted = replace(shortened, grace_period_seconds=0, because=replace(in_time, fitted=True))
    words = "; killed without grace: what is left fell by 200Mi/s just before, and lasts 475ms"
    assert sentences.decision_text(replace(shortened, because=in_time)).endswith(short)
    assert sentences.decision_text(fitted) == "shorten the grace period of default/report to 0s" + short + words
    assert sentences.decision_text(replace(fitted, shortens=False)).endswith("requests 256Mi" + words)
    frozen = replace(shortened, freeze=True, shortens=False, because=in_time)
    assert sentences.decision_text(frozen).endswith(
        "requests 256Mi" + words.replace("killed without grace", "frozen first")
    )
    withdrawn = WithdrawEviction(pod=evictions[0].pod, reason="pressure has ended")
    assert sentences.decision_text(withdrawn) == "withdraw the eviction of default/report: pressure has ended"
    assert sentences.decision_text(Wait(nanoseconds=SECOND)) == "look again within 1s"
    calm = ReportConditions(conditions=())
    memory, disk = NodeCondition.MEMORY_PRESSURE, NodeCondition.DISK_PRESSURE
    assert sentences.decision_text(calm) == "report node conditions: none"
    assert sentences.decision_text(calm, [memory]) == "report node conditions: MemoryPressure ended"
    assert (
        sentences.decision_text(ReportConditions(conditions=(disk,)), [memory])
        == "report node conditions: DiskPressure; MemoryPressure ended"
    )
    assert (sentences.changes_nothing(calm, []), sentences.changes_nothing(calm, [memory])) == (True, False)
    assert (
        sentences.decision_text(
            ReportConditions(conditions=(NodeCondition.MEMORY_PRESSURE, NodeCondition.PID_PRESSURE))
        )
        == "report node conditions: MemoryPressure, PIDPressure"
    )
    assert sentences.decision_text(RecordEvent(type="Warning", reason="R", message="m")) == "Warning event R: m"
    reclaim = ReclaimNode(actions=(Reclaim.CONTAINERS, Reclaim.IMAGES), threshold=SOFT, wanted_bytes=2048)
    assert sentences.decision_text(reclaim) == "delete unused containers and images for nodefs.available, 2Ki wanted"


def test_every_finding_has_its_sentence() -> None:
    pods = tuple(Pod(name=f"p{i}", namespace="n", uid=str(i)) for i in range(7))
    texts = {
        sentences.finding_text(finding, CONFIG)
        for finding in (
            _finding(grace_left=SECOND),
            SignalUnobserved(signal=Signal.PID_AVAILABLE),
            Ranking(signal=Signal.PID_AVAILABLE, resource=Resource.PIDS, rows=(_row("a"), _row("b"))),
            StatsMissing(pods=pods),
            ProtectedPodSkipped(pod=Pod(name="s", namespace="n", uid="s", source=PodSource.STATIC)),
            ContainerFsIgnored(threshold=SOFT),
        )
    }
    assert texts == {
        "nodefs.available<10% (soft, 1m30s): 900 left, met, 1s left",
        "pid.available: no observation, so its thresholds are not tested",
        "pid.available: rank for pids: default/a, default/b",
        "no stats for n/p0, n/p1, n/p2, n/p3, n/p4 and 2 more",
        "n/s is skipped: it is protected (static pod)",
        "nodefs.available<10% (soft, 1m30s) is ignored: containerfs follows nodefs or imagefs",
    }
