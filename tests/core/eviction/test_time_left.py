"""What the time that is left at the measured rate changes: a hard victim's grace period, and when memory is acted on."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evictd.core.eviction.choice.evict import evict_for_pressure
from evictd.core.eviction.rank import rank
from evictd.core.eviction.reclaim import Layout
from evictd.core.eviction.time_left import (
    LONGEST_COLLECT_TIME,
    LONGEST_STOP_TIME,
    SHORTEST,
    STOP_TIME,
    is_led,
    lead_time,
    led_limit,
    stop_time,
    time_left,
    until_next_reading,
)
from evictd.core.model.config import EvictionConfig, FastFill, ImageReclaim, Policy
from evictd.core.model.decision import EvictPod
from evictd.core.model.finding import NoAction, NoActionReason, ThresholdFinding
from evictd.core.model.observation import SignalObservation
from evictd.core.model.pod import PodSource
from evictd.core.model.signal import Signal
from evictd.core.model.threshold import Threshold
from evictd.core.units.duration import MILLISECOND, SECOND
from evictd.core.units.quantity import of_bytes
from tests.playbook import Playbook, config, pod, threshold, usage

MIB = 2**20
HARD = threshold("memory.available", "100Mi")
SOFT = threshold("memory.available", "100Mi", grace="1m")


def seen(left_mib: int, rate_mib: int | None) -> SignalObservation:
    rate = None if rate_mib is None else rate_mib * MIB
    return SignalObservation(available=of_bytes(left_mib * MIB), capacity=of_bytes(1024 * MIB), fill_rate=rate)


def evict(observation: SignalObservation, limit: Threshold = HARD, policy: Policy = Policy.STANDARD) -> EvictPod:
    settings = config(policy=policy, max_pod_grace_period_seconds=30)
    row = rank(Signal.MEMORY_AVAILABLE, (pod("a", grace=30),), {}, Layout.SINGLE, policy)[0]
    return evict_for_pressure(row, limit, observation, None, settings)


@pytest.mark.parametrize(
    ("left", "rate", "grace"),
    [
        (95, 200, 0),
        (95, 50, 1),
        (150, 100, 1),
        (149, 100, 0),
        (0, 1, 0),
        (-5, 1, 0),
        (95, None, 1),
        (95, 0, 1),
        (95, -9, 1),
    ],
)
def test_a_hard_victim_has_its_second_only_where_it_fits(left: int, rate: int | None, grace: int) -> None:
    eviction = evict(seen(left, rate))
    assert eviction.grace_period_seconds == grace
    assert eviction.because.fitted is (grace == 0)


def test_the_decision_carries_rate_and_time_left() -> None:
    because = evict(seen(95, 200)).because
    assert (because.fill_rate, because.time_left) == (200 * MIB, 95 * SECOND // 200)
    assert evict(seen(95, None)).because.time_left is None


@given(left=st.integers(-100, 2000), rate=st.none() | st.integers(-100, 4000))
def test_the_kubelet_and_soft_thresholds_take_no_rate_into_account(left: int, rate: int | None) -> None:
    without = replace(seen(left, rate), fill_rate=None)
    assert evict(seen(left, rate), policy=Policy.KUBELET) == evict(without, policy=Policy.KUBELET)
    assert evict(seen(left, rate), SOFT) == evict(without, SOFT)


@given(left=st.integers(0, 4000), rate=st.integers(1, 4000), faster=st.integers(0, 4000))
def test_a_faster_fill_never_gives_more_grace(left: int, rate: int, faster: int) -> None:
    slow, fast = evict(seen(left, rate)), evict(seen(left, rate + faster))
    assert fast.grace_period_seconds <= slow.grace_period_seconds


@given(left=st.integers(0, 4000), rate=st.integers(1, 4000))
def test_a_grace_that_is_given_ends_before_nothing_is_left(left: int, rate: int) -> None:
    eviction, until = evict(seen(left, rate)), time_left(seen(left, rate))
    assert until is not None
    if eviction.grace_period_seconds:
        assert eviction.grace_period_seconds * SECOND + STOP_TIME <= until
    else:
        assert until < SECOND + STOP_TIME


@given(measured=st.none() | st.integers(0, 10**12))
def test_a_stop_takes_as_long_as_measured_within_bounds(measured: int | None) -> None:
    needed = SECOND + stop_time(measured)
    assert STOP_TIME <= stop_time(measured) <= LONGEST_STOP_TIME
    for left, grace in ((needed, 1), (needed - 1, 0)):
        reading = SignalObservation(
            available=of_bytes(left), capacity=of_bytes(2**40), fill_rate=SECOND, stop_time=measured
        )
        assert evict(reading).grace_period_seconds == grace
    if measured is not None and STOP_TIME <= measured <= LONGEST_STOP_TIME:
        assert stop_time(measured) == measured


@pytest.mark.parametrize(("rate", "left"), [(None, None), (0, None), (-1, None), (1, 95 * MIB * SECOND)])
def test_only_what_falls_has_a_time_left(rate: int | None, left: int | None) -> None:
    observation = SignalObservation(available=of_bytes(95 * MIB), capacity=of_bytes(4096 * MIB), fill_rate=rate)
    assert time_left(observation) == left
    assert time_left(seen(0, 1)) == 0


AUTO = config(hard={"memory.available": "100Mi"}, memory_lead=FastFill.AUTO)
A = pod("a", memory="100Mi")


# --- lead -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("left", "rate", "led"),
    [(400, 500, True), (500, 500, False), (400, 100, False), (400, None, False), (400, 0, False), (400, -500, False),
     (99, 500, False)],
)  # fmt: skip
def test_a_threshold_is_led_while_what_is_left_lasts_less_than_a_second(left: int, rate: int | None, led: bool) -> None:
    """Below the threshold itself it is met, and not led."""
    assert is_led(HARD, seen(left, rate), AUTO) is led


@given(left=st.integers(0, 2000), rate=st.none() | st.integers(-100, 4000))
def test_nothing_is_led_by_default_nor_by_the_kubelet_nor_for_a_soft_threshold_nor_a_disk_by_the_option_of_memory(
    left: int, rate: int | None
) -> None:
    reading = seen(left, rate)
    kubelet = config(policy=Policy.KUBELET, memory_lead=FastFill.AUTO)
    assert not is_led(HARD, reading, config())
    assert not is_led(HARD, reading, kubelet)
    assert not is_led(threshold("memory.available", "100Mi", grace="1m"), reading, AUTO)
    assert not is_led(threshold("nodefs.available", "100Mi"), reading, AUTO)


@given(left=st.integers(100, 2000), rate=st.integers(1, 4000))
def test_the_watch_wakes_for_what_the_core_acts_on(left: int, rate: int) -> None:
    assert is_led(HARD, seen(left, rate), AUTO) == (left * MIB < led_limit(rate * MIB))
    assert led_limit(SECOND) == SECOND


def test_where_stops_have_taken_long_a_threshold_is_led_earlier() -> None:
    slow = 2 * SECOND
    for left, led in ((1249, True), (1250, False)):
        reading = replace(seen(left, 500), stop_time=slow)
        assert is_led(HARD, reading, AUTO) is led
        assert (left * MIB < led_limit(500 * MIB, slow)) is led
    assert lead_time(slow, None) == slow + 500 * MILLISECOND
    assert lead_time(None, None) == lead_time(SECOND // 4, None) == SECOND


def test_an_early_eviction_and_the_end_of_the_fill() -> None:
    book = Playbook(AUTO, pods=[A], usage=[usage(A, memory="500Mi")])
    book.at("0s", memory="400Mi of 1Gi", fill_rate=100 * MIB).conditions().does_nothing()
    book.at("1s", memory="400Mi of 1Gi", fill_rate=500 * MIB).conditions("MemoryPressure").evicts("a", grace=0)
    [finding] = book.findings(ThresholdFinding)
    assert (finding.met, finding.led, finding.kept_by_min_reclaim) == (True, True, False)
    book.at("2s", memory="900Mi of 1Gi", fill_rate=-500 * MIB).does_nothing().finish()


def test_a_victim_that_owes_less_than_the_fill_needs_does_not_hold_up_an_early_eviction() -> None:
    """Before the crossing the threshold itself lacks nothing; what is lacked is the time of an eviction."""
    settings = config(
        hard={"memory.available": "100Mi"},
        soft={"nodefs.available": ("1Gi", "1s")},
        memory_lead=FastFill.AUTO,
        reclaim_containers=False,
        reclaim_images=ImageReclaim.OFF,
        max_pod_grace_period_seconds=600,
    )
    writer = pod("writer", grace=600)
    book = Playbook(settings, pods=[A, writer], usage=[usage(A, memory="1Gi"), usage(writer, memory="1Mi", logs="2Gi")])
    calm: dict[str, Any] = {"memory": "1Gi of 4Gi", "nodefs": "500Mi of 9Gi"}
    book.at("0s", **calm).conditions("DiskPressure")
    book.at("1s", **calm).evicts("writer", grace=600)
    fills: dict[str, Any] = {"nodefs": "5Gi of 9Gi", "fill_rate": 500 * MIB, "gone": ()}
    book.at("2s", memory="400Mi of 4Gi", **fills).conditions("MemoryPressure", "DiskPressure")
    book.evicts("writer", grace=0, shortens=True)
    book.at("3s", memory="350Mi of 4Gi", **fills).evicts("a", grace=0)


def test_an_early_eviction_is_in_vain_too_where_a_protected_pod_is_the_cause() -> None:
    static = pod("static", source=PodSource.STATIC)
    book = Playbook(AUTO, pods=[A, static], usage=[usage(A, memory="1Mi"), usage(static, memory="3Gi")])
    book.at("0s", memory="400Mi of 4Gi", fill_rate=500 * MIB).conditions("MemoryPressure").does_nothing()
    book.stays_silent(NoActionReason.PROTECTED_CULPRIT)
    [culprit] = [each for each in book.findings(NoAction) if each.pod is not None]
    assert (str(culprit.needed), str(culprit.reachable)) == ("100Mi", "1Mi")


# --- disks ----------------------------------------------------------------------------------------------------------

DISK = threshold("nodefs.available", "100Mi")
ON_DISK = config(hard={"nodefs.available": "100Mi"}, disk_lead=FastFill.AUTO)


@given(
    left=st.integers(100, 9000),
    rate=st.integers(1, 4000),
    collect=st.sampled_from((None, 0, SECOND, 9 * SECOND, 100 * SECOND)),
)
def test_a_disk_is_led_by_its_own_option_while_it_lasts_less_than_a_collection_and_a_stop(
    left: int, rate: int, collect: int | None
) -> None:
    reading = replace(seen(left, rate), collect_time=collect)
    assert is_led(DISK, reading, ON_DISK) == (left * MIB < led_limit(rate * MIB, None, collect))
    assert led_limit(SECOND, None, collect) == SECOND + min(collect or 0, LONGEST_COLLECT_TIME)
    assert not is_led(DISK, reading, AUTO)
    assert not is_led(HARD, reading, ON_DISK)
    assert not is_led(threshold("nodefs.available", "100Mi", grace="1m"), reading, ON_DISK)


def fills(rate_mib: int, *, left_mib: int = 90) -> dict[str, Any]:
    return {"nodefs": f"{left_mib}Mi of 9Gi", "nodefs_rate": rate_mib * MIB}


WRITER = pod("writer")


def test_a_disk_that_does_not_last_for_a_stop_takes_the_victims_grace_and_waits_for_no_collector() -> None:
    settings = config(hard={"nodefs.available": "100Mi"})
    book = Playbook(settings, pods=[WRITER], usage=[usage(WRITER, logs="5Gi")])
    book.at("0s", **fills(200)).conditions("DiskPressure").reclaims("containers", "images")
    book.at("1s", **fills(200)).evicts("writer", grace=0)


def test_after_a_victim_on_such_a_disk_what_it_leaves_behind_is_waited_for() -> None:
    """The rate is still that of the victim; its layer comes back with the next collection."""
    settings = config(hard={"nodefs.available": "100Mi"})
    innocent = pod("innocent")
    book = Playbook(settings, pods=[WRITER, innocent], usage=[usage(WRITER, logs="5Gi"), usage(innocent, logs="1Mi")])
    book.at("0s", **fills(200)).conditions("DiskPressure").reclaims("containers", "images")
    book.at("1s", **fills(200)).evicts("writer", grace=0)
    book.at("2s", **fills(200), gone=["writer"]).does_nothing()
    book.at("2.2s", **fills(200), gone=["writer"]).does_nothing().finish()


def test_a_disk_that_lasts_waits_for_the_collectors() -> None:
    settings = config(hard={"nodefs.available": "100Mi"})
    book = Playbook(settings, pods=[WRITER], usage=[usage(WRITER, logs="5Gi")])
    book.at("0s", **fills(20)).conditions("DiskPressure").reclaims("containers", "images")
    book.at("1s", **fills(20)).does_nothing()


def test_an_early_eviction_on_a_disk() -> None:
    book = Playbook(replace(ON_DISK, reclaim_containers=False, reclaim_images=ImageReclaim.OFF), pods=[WRITER])
    book.usage = {"writer": usage(WRITER, logs="5Gi")}
    book.at("0s", **fills(100, left_mib=400)).conditions().does_nothing()
    book.at("1s", **fills(500, left_mib=400)).conditions("DiskPressure").evicts("writer", grace=0)


FREEZES = replace(config(hard={"nodefs.available": "100Mi"}), disk_freeze=FastFill.AUTO)


def evict_on_disk(
    observation: SignalObservation, settings: EvictionConfig = FREEZES, limit: Threshold = DISK, name: str = "a"
) -> EvictPod:
    row = rank(limit.signal, (pod(name, grace=30),), {}, Layout.SINGLE, settings.policy)[0]
    return evict_for_pressure(row, limit, observation, None, settings)


@pytest.mark.parametrize(
    ("left", "rate", "freeze", "grace"),
    [
        pytest.param(200, 100, False, 1, id="lasts for two seconds"),
        pytest.param(199, 100, True, 1, id="for less"),
        pytest.param(149, 100, True, 1, id="for less than the grace and a stop"),
        pytest.param(70, 100, True, 1, id="for the time after it is thawed and a stop"),
        pytest.param(69, 100, False, 0, id="not even for that"),
        pytest.param(95, None, False, 1, id="no rate is known"),
    ],
)
def test_a_pod_is_frozen_for_its_grace_on_a_disk_that_is_soon_full(
    left: int, rate: int | None, freeze: bool, grace: int
) -> None:
    eviction = evict_on_disk(seen(left, rate))
    assert (eviction.freeze, eviction.grace_period_seconds) == (freeze, grace)
    assert eviction.because.fitted is (grace == 0)


@pytest.mark.parametrize(
    ("settings", "limit"),
    [
        pytest.param(config(hard={"nodefs.available": "100Mi"}), DISK, id="off by default"),
        pytest.param(replace(FREEZES, policy=Policy.KUBELET), DISK, id="policy Kubelet"),
        pytest.param(FREEZES, threshold("nodefs.available", "100Mi", grace="1m"), id="a soft threshold"),
        pytest.param(FREEZES, HARD, id="memory"),
        pytest.param(replace(FREEZES, protected_pods=frozenset({"a"})), DISK, id="a protected pod"),
    ],
)
def test_no_other_pod_is_frozen(settings: EvictionConfig, limit: Threshold) -> None:
    assert not evict_on_disk(seen(190, 100), settings, limit).freeze


def test_slow_stops_of_this_node_count_for_a_frozen_pod() -> None:
    reading = replace(seen(190, 100), stop_time=1700 * MILLISECOND)
    assert evict_on_disk(reading).freeze
    eviction = evict_on_disk(replace(reading, stop_time=1800 * MILLISECOND))
    assert (eviction.freeze, eviction.grace_period_seconds) == (False, 0)


def test_a_soft_victim_that_goes_on_writing_is_frozen_when_its_grace_is_shortened() -> None:
    settings = config(
        hard={"nodefs.available": "200Mi"},
        soft={"nodefs.available": ("1Gi", "0.5s")},
        max_pod_grace_period_seconds=600,
        disk_freeze=FastFill.AUTO,
        reclaim_containers=False,
        reclaim_images=ImageReclaim.OFF,
    )
    book = Playbook(settings, pods=[pod("writer", grace=600)], usage=[usage(WRITER, logs="5Gi")])
    book.at("0s", nodefs="900Mi of 9Gi").conditions("DiskPressure").does_nothing()
    book.at("1s", nodefs="900Mi of 9Gi").evicts("writer", grace=600)
    assert not book.eviction().freeze
    book.at("2s", **fills(100, left_mib=190), gone=()).evicts("writer", grace=1, shortens=True)
    assert book.eviction().freeze


@pytest.mark.parametrize(
    ("distance", "rate", "expected"),
    [(1000, 200, 5 * SECOND), (1000, 1, 10 * SECOND), (1, 1000, SHORTEST), (0, 200, SHORTEST), (-5, 200, SHORTEST)],
    ids=["when it could be short", "at the latest", "no more often", "short", "below its limit"],
)
def test_the_time_until_the_until_next_reading(distance: int, rate: int, expected: int) -> None:
    assert until_next_reading(distance, rate, 10 * SECOND) == expected
