"""Measurements in the background: which pods are measured, how old results are, and walks that hang."""

import threading
from collections import Counter
from dataclasses import replace

import pytest

from evictd.core.model.stats import DiskUsage
from evictd.core.units.duration import SECOND
from evictd.observe.disk_usage.cache import DiskUsageCache
from evictd.observe.disk_usage.pod_disk import DiskRequest, PodDisk
from evictd.observe.disk_usage.rate_limiter import RateLimiter
from evictd.observe.disk_usage.walk_age import WalkAge
from tests.measured import Entries, at_once
from tests.recorded_errors import RecordedErrors


class Meter:
    """Records the measured pods; each result has its time."""

    def __init__(self) -> None:
        self.now = 0
        self.measured: list[str] = []

    def clock(self) -> int:
        return self.now

    def measure(self, request: DiskRequest) -> PodDisk:
        self.measured.append(request.uid)
        return PodDisk(time=self.now, etc_hosts=DiskUsage(len(self.measured), 1))


def request(uid: str) -> DiskRequest:
    return DiskRequest(uid=uid, namespace="ns", name=f"pod-{uid}")


@pytest.fixture
def meter() -> Meter:
    return Meter()


@pytest.fixture
def cache(meter: Meter) -> DiskUsageCache:
    return DiskUsageCache(at_once(meter.measure), clock=meter.clock)


def want(cache: DiskUsageCache, uids: str, *, active: str = "abcdef") -> None:
    cache.set_requests([request(uid) for uid in uids], active=active, age=WalkAge(longest=10 * SECOND))


def test_only_requested_pods_are_measured(cache: DiskUsageCache, meter: Meter) -> None:
    assert not cache.take_turn()
    want(cache, "")
    assert not cache.take_turn()
    assert meter.measured == []
    assert cache.find("a") is None


def test_an_unforeseen_error_of_a_walk_is_reported_once_and_the_next_pod_is_measured(meter: Meter) -> None:
    """The pod rests, and has no number instead of a wrong one."""
    errors = RecordedErrors()

    def measure(wanted: DiskRequest) -> PodDisk:
        if wanted.uid == "a":
            raise RecursionError("too deep")
        return meter.measure(wanted)

    cache = DiskUsageCache(at_once(measure), clock=meter.clock, errors=errors)
    want(cache, "ab")
    assert cache.take_turn()
    assert cache.take_turn()
    assert not cache.take_turn()
    assert (meter.measured, cache.find("a")) == (["b"], None)
    meter.now = SECOND
    assert cache.take_turn(), "it is tried again"
    (once,) = errors.details
    assert "RecursionError: too deep" in once


@pytest.mark.parametrize("part", [DiskUsage(200 << 20, 1), DiskUsage(0, 5000)], ids=["bytes", "inodes"])
def test_after_a_crossing_the_pod_that_grew_is_measured_first(part: DiskUsage) -> None:
    """Though it was measured last, so that its turn would be the last one."""
    meter, grown = Meter(), DiskUsage(0, 0)

    def measure(wanted: DiskRequest) -> PodDisk:
        return replace(meter.measure(wanted), volumes={"data": grown if wanted.uid == "f" else DiskUsage(5 << 30, 9)})

    cache = DiskUsageCache(at_once(measure), clock=meter.clock)
    for held in (DiskUsage(0, 0), part):
        grown = held
        meter.now += 11 * SECOND
        want(cache, "abcdef")
        while cache.take_turn():
            meter.now += 1
    meter.measured.clear()
    cache.renew_since(meter.now + 1)
    meter.now += 1
    while cache.take_turn():
        meter.now += 1
    assert "".join(meter.measured) == "fabcde"


def test_the_unmeasured_come_first_in_order_and_then_the_oldest(cache: DiskUsageCache, meter: Meter) -> None:
    want(cache, "ab")
    meter.now = SECOND
    assert cache.take_turn()
    meter.now = 2 * SECOND
    assert cache.take_turn()
    assert not cache.take_turn(), "both are young"
    want(cache, "bca")
    assert cache.take_turn()
    meter.now = 30 * SECOND
    while cache.take_turn():
        pass
    assert meter.measured == ["a", "b", "c", "a", "b", "c"]


def test_results_of_active_pods_are_kept_and_others_dropped(cache: DiskUsageCache, meter: Meter) -> None:
    want(cache, "ab")
    while cache.take_turn():
        pass
    meter.now = 100 * SECOND
    want(cache, "", active="a")
    assert not cache.take_turn()
    assert cache.find("a") == PodDisk(time=0, etc_hosts=DiskUsage(1, 1))
    assert cache.find("b") is None


def test_a_pod_with_a_limit_of_its_own_is_measured_again_after_ten_seconds(cache: DiskUsageCache, meter: Meter) -> None:
    both = [request("a"), replace(request("b"), limited=True)]
    for second in range(0, 60, 10):
        meter.now = second * SECOND
        cache.set_requests(both, active="ab", age=WalkAge(longest=60 * SECOND))
        while cache.take_turn():
            pass
    assert Counter(meter.measured) == {"a": 1, "b": 6}


def test_a_request_wakes_the_thread_only_when_a_pod_is_due(cache: DiskUsageCache, meter: Meter) -> None:
    want(cache, "a")
    assert cache.wakes == 1
    cache.take_turn()
    for _ in range(100):
        want(cache, "a")
    assert cache.wakes == 1
    meter.now = 10 * SECOND
    want(cache, "a")
    assert cache.wakes == 2


def test_a_walk_without_progress_is_a_problem_until_it_makes_some(cache: DiskUsageCache, meter: Meter) -> None:
    entered, free = threading.Event(), threading.Event()

    def hang(made: DiskRequest) -> PodDisk:
        entered.set()
        free.wait(30)
        return PodDisk(time=0)

    cache = DiskUsageCache(at_once(hang), clock=meter.clock)
    want(cache, "a")
    cache.start()
    assert entered.wait(60)
    assert cache.problems(0) == ()
    assert cache.problems(29 * SECOND) == ()
    assert [row.detail for row in cache.problems(31 * SECOND)] == ["no progress in 31 s at pod ns/pod-a"]
    cache.limiter.spent(1)
    assert cache.problems(40 * SECOND) == ()
    assert len(cache.problems(80 * SECOND)) == 1
    free.set()
    cache.stop(30)
    assert cache.problems(90 * SECOND) == ()


def test_the_thread_measures_requested_pods_and_ends_with_stop(cache: DiskUsageCache, meter: Meter) -> None:
    done = threading.Event()
    real = meter.measure

    def measure(made: DiskRequest) -> PodDisk:
        result = real(made)
        if len(meter.measured) == 2:
            done.set()
        return result

    cache = DiskUsageCache(at_once(measure), clock=meter.clock)
    cache.start()
    want(cache, "ab")
    assert done.wait(60)
    cache.stop(30)
    assert cache.find("a") is not None
    assert sorted(meter.measured) == ["a", "b"]


def test_a_stop_just_before_a_turn_ends_the_thread(meter: Meter) -> None:
    """The thread cleared the event that had just been set, and slept for a minute."""
    cache = DiskUsageCache(at_once(meter.measure), clock=meter.clock)

    class StoppedAfterTheLook(threading.Event):
        def is_set(self) -> bool:
            found = super().is_set()
            self.set()
            cache._wake.set()
            return found

    cache._stopped = StoppedAfterTheLook()
    cache.start()
    assert cache._thread is not None
    cache._thread.join(30)
    assert not cache._thread.is_alive()


def test_a_walk_under_way_is_a_lower_bound_until_it_has_ended(meter: Meter) -> None:
    limiter, size = RateLimiter(), 10_000
    cache = DiskUsageCache(lambda _request: Entries(size, limiter, meter.clock), clock=meter.clock, limiter=limiter)
    want(cache, "a")
    cache.take_turn()
    under_way = cache.find("a")
    assert under_way is not None
    assert (under_way.time, under_way.at_least, under_way.volumes["data"].used_bytes) == (None, True, 4096)
    while cache.take_turn():
        pass
    assert cache.find("a") == PodDisk(time=0, volumes={"data": DiskUsage(10_000, 10_000)})
    meter.now, size = 20 * SECOND, 20_000
    for _ in range(3):
        cache.take_turn()
    raised = cache.find("a")
    assert raised == PodDisk(time=0, volumes={"data": DiskUsage(12_288, 12_288)}, at_least=True)
    while cache.take_turn():
        pass
    assert cache.find("a") == PodDisk(time=20 * SECOND, volumes={"data": DiskUsage(20_000, 20_000)})
    want(cache, "", active="")
    assert cache.find("a") is None
    assert not cache.take_turn()


def test_without_a_thread_a_request_is_measured_before_it_returns(meter: Meter) -> None:
    """As `explain` needs it; a walk in the reader's own thread must not wait for the reading to end."""
    limiter = RateLimiter()
    cache = DiskUsageCache(
        lambda _request: Entries(10_000, limiter, meter.clock), clock=meter.clock, limiter=limiter, at_once=True
    )
    with cache.paused():
        want(cache, "a")
    assert cache.find("a") == PodDisk(time=0, volumes={"data": DiskUsage(10_000, 10_000)})


def test_after_a_crossing_all_are_measured_before_the_next_request_and_that_is_called_out_once(meter: Meter) -> None:
    called = threading.Event()
    calls = list[str]()

    def wake() -> None:
        calls.append("".join(sorted(meter.measured)))
        called.set()

    cache = DiskUsageCache(at_once(meter.measure), clock=meter.clock, wake=wake)
    want(cache, "ab")
    meter.now = SECOND
    while cache.take_turn():
        pass
    meter.measured.clear()
    cache.start()
    try:
        meter.now = 2 * SECOND
        cache.renew_since(2 * SECOND)
        assert called.wait(60)
        called.clear()
        cache.renew_since(2 * SECOND)
        meter.now = 3 * SECOND
        cache.renew_since(3 * SECOND)
        assert called.wait(60)
    finally:
        cache.stop(60)
    assert calls == ["ab", "aabb"]


def test_after_a_crossing_it_is_called_out_once_the_pod_that_grows_is_measured() -> None:
    """Not only when the walks of all have ended: a decision may wait for that pod alone."""
    meter, called, goes_on = Meter(), threading.Event(), threading.Event()
    crossed = 100 * SECOND

    def measure(wanted: DiskRequest) -> PodDisk:
        if meter.now >= crossed and wanted.uid == "b":
            goes_on.wait(60)
        grown = meter.now // SECOND << 24
        return replace(meter.measure(wanted), volumes={"data": DiskUsage(grown if wanted.uid == "a" else 0, 1)})

    cache = DiskUsageCache(at_once(measure), clock=meter.clock, wake=called.set)
    for at in (0, 11 * SECOND):
        meter.now = at
        want(cache, "ba")
        while cache.take_turn():
            pass
    cache.start()
    try:
        meter.now = crossed
        cache.renew_since(crossed)
        assert called.wait(60), "while the walk of b goes on"
        disk = cache.find("a")
        assert disk is not None
        assert disk.time == crossed
        called.clear()
        goes_on.set()
        assert called.wait(60), "all are measured"
    finally:
        goes_on.set()
        cache.stop(60)


def test_without_a_crossing_nothing_is_called_out(meter: Meter) -> None:
    calls = list[int]()
    cache = DiskUsageCache(at_once(meter.measure), clock=meter.clock, wake=lambda: calls.append(1))
    want(cache, "ab")
    cache.start()
    done = threading.Event()
    while not {"a", "b"} <= {*meter.measured}:
        done.wait(0.01)
    cache.stop(60)
    assert calls == []
