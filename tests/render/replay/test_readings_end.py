"""Where the readings of a journal end for another configuration, and the commands that play on from there."""

from dataclasses import replace
from typing import Any

import pytest

from evictd.codec.decision import encode_decision
from evictd.codec.records.journal import JournalEntry
from evictd.core.model.decision import EvictionCause, EvictionReason, EvictPod
from evictd.core.model.finding import ThresholdFinding
from evictd.core.model.holdings import SupplyHoldings
from evictd.core.model.observation import Observation
from evictd.core.model.state import State, Step
from evictd.core.model.stats import MemoryStats, NodeStats
from evictd.core.model.threshold import Threshold
from evictd.core.units.duration import SECOND
from evictd.core.units.quantity import of_bytes
from evictd.render.replay.readings_end import WhatIf, ends_document, readings_end_text
from evictd.render.replay.replayed import Replayed, Unknown
from tests.playbook import config, pod, threshold

WHAT_IF = WhatIf(journals="journals/n1", options="--config new.yaml")
MI = 2**20
MEMORY = threshold("memory.available", "500Mi")


def eviction(of: Threshold = MEMORY, rate: int | None = None) -> EvictPod:
    """An eviction with 400Mi left."""
    cause = EvictionCause(reason=EvictionReason.PRESSURE, threshold=of, available=of_bytes(400 * MI), fill_rate=rate)
    return EvictPod(pod=pod("hog"), grace_period_seconds=1, message="", because=cause)


def replayed(then: EvictPod, *now: EvictPod, dry_run: bool = False) -> Replayed:
    """An eviction that was recorded, and what is decided now."""
    entry = JournalEntry(
        now=0,
        wall="2026-01-31T12:00:00Z",
        state=State(),
        observation=Observation(node=None, pods=(), pod_stats={}),
        config=config(),
        decisions=(encode_decision(then), {"kind": "EvictPod"}),
        extra={"dryRun": dry_run},
    )
    return Replayed(entry=entry, step=Step(state=State(), decisions=now, findings=()))


def test_after_an_eviction_that_would_not_be_the_journal_shows_nothing_of_the_shortage() -> None:
    """`Other victims: now none` read as if a lower threshold needed no eviction."""
    end, found, *commands = readings_end_text([replayed(eviction(rate=100 * MI))] * 2, WHAT_IF)
    assert end == (
        "The recorded readings end at the first of 2 evictions that would not have been: that of default/hog for "
        "memory.available<500Mi (hard) at 2026-01-31T12:00:00Z. From then on that pod was ending, and the readings after its end "
        "are those without it, so the journal does not show what would have been with it."
    )
    assert (
        found
        == "Whether the growth would have gone on is not known. To assume it, let the pod grow on, as fast as memory filled then:"
    )
    assert commands == [
        "  evictd capture --from-journal journals/n1 --until default/hog --out incident.yaml",
        "  evictd simulate incident.yaml --grow default/hog+800Mi/8s --config new.yaml",
    ]


def test_the_node_is_played_on_from_the_first_eviction_that_would_not_have_been() -> None:
    """From the last one it lacked the pods that only the recorded configuration evicted: one was lost there, played three."""
    first, second = replayed(eviction()), replayed(eviction())
    other = replace(eviction(), pod=pod("web"))
    second = replace(
        second, entry=replace(second.entry, wall="2026-01-31T12:05:00Z", decisions=(encode_decision(other),))
    )
    end, _, capture, _ = readings_end_text([first, second], WHAT_IF)
    assert "the first of 2 evictions that would not have been: that of default/hog " in end
    assert " --until default/hog --out " in capture


def test_an_eviction_that_is_not_the_last_of_its_name_is_named_with_its_time() -> None:
    """`capture --until POD` takes the last one."""
    first, again = replayed(eviction()), replayed(eviction())
    again = replace(again, entry=replace(again.entry, wall="2026-01-31T12:05:00Z"))
    _, _, capture, _ = readings_end_text([first, again], WHAT_IF)
    assert " --until default/hog@2026-01-31T12:00:00Z --out " in capture


def test_a_soft_threshold_that_was_not_recorded_is_said_to_be_met_from_there_on() -> None:
    """Played on, its grace period begins at the eviction; played from the beginning it acted 50 seconds sooner."""
    one = replayed(eviction(rate=100 * MI))
    soft = threshold("memory.available", "1Gi", grace="1m30s")
    left, limit = of_bytes(400 * MI), of_bytes(1024 * MI)
    met = ThresholdFinding(threshold=soft, available=left, limit=limit, capacity=limit, met=True)
    one = replace(one, step=replace(one.step, findings=(met,)))
    said = "memory.available<1Gi (soft, 1m30s) may act sooner, as it is played as met from there on:"
    assert said in readings_end_text([one], WHAT_IF)[1]
    recorded = replace(one.entry, config=replace(one.entry.config, thresholds=(soft,)))
    assert said not in readings_end_text([replace(one, entry=recorded)], WHAT_IF)[1]


def test_each_pod_that_grew_then_grows_on() -> None:
    """The growth of five pods was put on the evicted one."""
    used = {"hog": 300, "fast": 600, "calm": 50}
    lowest = {"hog": 200, "fast": 300, "calm": 50}
    holdings = SupplyHoldings(at=60 * SECOND, used=used, lowest=lowest, lowest_before=lowest)
    one = replayed(eviction(rate=100 * MI))
    entry = replace(one.entry, observation=Observation(node=None, pods=tuple(pod(name) for name in used)))
    one = replace(one, entry=entry, memory_held=holdings)
    _, found, _, simulate = readings_end_text([one], WHAT_IF)
    assert found.endswith("To assume it, let the pods grow on, as fast as memory filled then:")
    assert "--grow default/fast+666Mi/8s --grow default/hog+133Mi/8s --config" in simulate


def test_where_no_fill_rate_was_recorded_the_pods_grow_at_their_own() -> None:
    """A rate was assumed beside one of 20Mi a second in the same journal."""
    holdings = SupplyHoldings(
        at=60 * SECOND, used={"hog": 700 * MI}, lowest={"hog": 100 * MI}, lowest_before={"hog": 100 * MI}
    )
    one = replayed(eviction())
    entry = replace(one.entry, observation=Observation(node=None, pods=(pod("hog"),), pod_stats={}))
    one = replace(one, entry=entry, memory_held=holdings)
    _, found, _, simulate = readings_end_text([one], WHAT_IF)
    assert (
        found
        == "Whether the growth would have gone on is not known. To assume it, let the pod grow on, as fast as pods grew then:"
    )
    assert "--grow default/hog+800Mi/1m20s --config" in simulate


def test_no_growth_of_a_pod_is_suggested_where_no_pod_grew() -> None:
    """`--grow default/web-1+999Mi/49s` was suggested for memory that the kernel had taken (world 07)."""
    one = replayed(eviction(rate=100 * MI))
    one = replace(one, memory_held=SupplyHoldings(at=60 * SECOND))
    _, found, simulate = readings_end_text([one], WHAT_IF)
    assert "docs/worlds.md" in found
    assert "--grow" not in simulate


@pytest.mark.parametrize(
    ("recent", "suggested"),
    [
        ([(20.0, 400)], False),
        ([(20.0, 700)], True),
        ([(30.0, 456), (20.0, 400), (10.0, 400)], False),
        ([(30.0, 556), (20.0, 456), (10.0, 400)], True),
        ([(1e300, 900), (20.0, 400), ("damaged", 1)], False),
    ],
)
def test_a_growth_that_had_ended_is_not_suggested(recent: list[tuple[Any, int]], suggested: bool) -> None:
    """World 44: the pods had grown within the last minute, and no more for 45 s.

    56Mi between two readings of a burst that was over were taken for a growth of 1.87Mi a second, which brings an OOM kill.
    """
    holdings = SupplyHoldings(
        at=60 * SECOND, used={"hog": 700 * MI}, lowest={"hog": 100 * MI}, lowest_before={"hog": 100 * MI}
    )
    one = replayed(eviction())
    node = NodeStats(memory=MemoryStats(time=0, available_bytes=400 * MI, fill_rate=0))
    trend = {"memory.available": [(50.0, 900 * MI), *((at, left * MI) for at, left in recent)]}
    observation = Observation(node=node, pods=(pod("hog"),), pod_stats={})
    entry = replace(one.entry, observation=observation, extra={"trend": trend})
    one = replace(one, entry=entry, memory_held=holdings)
    assert ("--grow" in " ".join(readings_end_text([one], WHAT_IF))) is suggested


@pytest.mark.parametrize(
    ("rate", "growth", "source"),
    [(None, "800Mi/5m0s", "none was recorded"), (1, "800Mi/5h0m0s", "faster than it was recorded")],
)
def test_a_rate_that_is_not_the_recorded_one_is_said(rate: int | None, growth: str, source: str) -> None:
    _, found, _, simulate = readings_end_text([replayed(eviction(rate=rate))], WHAT_IF)
    assert source in found
    assert growth in simulate


def test_the_suggested_growth_has_the_recorded_rate() -> None:
    """Of 80Mi a second `399Mi/4s` was suggested, a quarter more: the time was cut to whole seconds."""
    evicted = eviction(rate=80 * MI)
    evicted = replace(evicted, because=replace(evicted.because, available=of_bytes(399 * MI // 2)))
    *_, simulate = readings_end_text([replayed(evicted)], WHAT_IF)
    assert "+400Mi/5s" in simulate


def test_for_a_disk_a_world_is_named() -> None:
    _, found, simulate = readings_end_text([replayed(eviction(threshold("nodefs.available", "10%")))], WHAT_IF)
    assert "docs/worlds.md" in found
    assert simulate == "  evictd simulate WORLD.yaml --config new.yaml"


def test_the_readings_go_on_where_no_pod_went_or_one_goes_now() -> None:
    then = eviction()
    for one in (replayed(then, dry_run=True), replayed(then, then)):
        assert readings_end_text([one], WHAT_IF) == ()
        assert ends_document([one]) == []
    assert ends_document([replayed(then)]) == [{"wall": "2026-01-31T12:00:00Z", "pod": "default/hog"}]


def test_a_pod_that_goes_earlier_is_no_eviction_that_would_not_have_been() -> None:
    """The command that was recommended let a pod grow that this configuration had evicted before."""
    then, quiet = eviction(rate=MI), eviction(rate=MI)
    early = replace(replayed(then, then).entry, wall="2026-01-31T11:00:00Z", decisions=())
    both = [replace(replayed(then, then), entry=early), replayed(quiet)]
    assert readings_end_text(both, WHAT_IF) == (
        "Would have been evicted earlier: default/hog at the latest at 2026-01-31T11:00:00Z instead of 2026-01-31T12:00:00Z.",
    )
    assert ends_document(both) == []


def test_which_pod_goes_earlier_is_not_said_where_another_one_may_have_gone_before() -> None:
    """A threshold was raised: `Would have been evicted earlier: default/job`, where web-0 goes, and the job later or never."""
    then, quiet = eviction(rate=MI), eviction(rate=MI)
    early = replace(replayed(then, then).entry, wall="2026-01-31T11:00:00Z", decisions=())
    both = [replace(replayed(then, then), entry=early), replayed(quiet)]
    unknown = Unknown(may_act=("memory.available<1600Mi (hard)",))
    (text,) = readings_end_text(both, WHAT_IF, unknown)
    assert text == (
        "A pod would have been evicted at the latest at 2026-01-31T11:00:00Z instead of 2026-01-31T12:00:00Z: default/hog or "
        "another one, which the journal does not show."
    )


def test_a_pod_that_goes_earlier_is_named_also_where_another_one_goes_in_its_cycle() -> None:
    """It was left out, and of the other one stood `at the latest at 18:12:39 instead of 18:12:39`: 200 ms later."""
    hog = eviction(rate=MI)
    other = replace(hog, pod=pod("other"))
    early = replace(replayed(hog, hog).entry, wall="2026-01-31T11:00:00Z", decisions=())
    story = [replace(replayed(hog, hog), entry=early), replayed(hog, other), replayed(other)]
    assert readings_end_text(story, WHAT_IF) == (
        "Would have been evicted earlier: default/hog at the latest at 2026-01-31T11:00:00Z instead of 2026-01-31T12:00:00Z.",
    )


@pytest.mark.parametrize(
    ("memory", "growth"),
    [
        (MemoryStats(available_bytes=400 * MI, mem_available_bytes=1700 * MI), "+3400Mi/34s"),
        (
            MemoryStats(available_bytes=400 * MI, mem_available_bytes=400 * MI, unallocatable_bytes=200 * MI),
            "+1200Mi/12s",
        ),
        (MemoryStats(available_bytes=400 * MI), "+800Mi/8s"),
    ],
)
def test_the_suggested_growth_reaches_a_threshold_by_any_formula(memory: MemoryStats, growth: str) -> None:
    """With 1500Mi of page cache the growth ended long before the threshold by MemAvailable, and no pod was evicted."""
    one = replayed(eviction(rate=100 * MI))
    seen = replace(one.entry.observation, node=NodeStats(memory=memory))
    *_, simulate = readings_end_text([replace(one, entry=replace(one.entry, observation=seen))], WHAT_IF)
    assert growth in simulate
