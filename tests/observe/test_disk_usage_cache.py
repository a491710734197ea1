"""Walks in the background: who is measured, how old it is, and what hangs."""

import threading

import pytest

from evictd.core.duration import SECOND
from evictd.core.stats import DiskUsage
from evictd.observe.disk_usage_cache import DiskUsageCache
from evictd.observe.pod_disk import DiskRequest, PodDisk


class Meter:
    """Notes who was measured; each result tells when."""

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
    return DiskUsageCache(meter.measure, clock=meter.clock, max_age=10 * SECOND)


def want(cache: DiskUsageCache, uids: str, *, active: str = "abcdef") -> None:
    cache.want([request(uid) for uid in uids], active=active)


def test_nobody_is_walked_who_was_not_asked_for(cache: DiskUsageCache, meter: Meter) -> None:
    assert not cache.renew_one()
    want(cache, "")
    assert not cache.renew_one()
    assert meter.measured == []
    assert cache.find("a") is None


def test_a_walk_that_fails_as_nobody_foresaw_is_told_once_and_the_next_pod_is_measured(meter: Meter) -> None:
    """The pod rests, and has no number instead of a wrong one."""
    told: list[str] = []

    def measure(wanted: DiskRequest) -> PodDisk:
        if wanted.uid == "a":
            raise RecursionError("too deep")
        return meter.measure(wanted)

    cache = DiskUsageCache(measure, clock=meter.clock, max_age=10 * SECOND, complain=lambda _, what: told.append(what))
    want(cache, "ab")
    assert cache.renew_one()
    assert cache.renew_one()
    assert not cache.renew_one()
    assert (meter.measured, cache.find("a")) == (["b"], None)
    meter.now = SECOND
    assert cache.renew_one(), "it is tried again"
    (once,) = told
    assert "RecursionError: too deep" in once


def test_the_unmeasured_come_first_in_order_and_then_the_oldest(cache: DiskUsageCache, meter: Meter) -> None:
    want(cache, "ab")
    meter.now = SECOND
    assert cache.renew_one()
    meter.now = 2 * SECOND
    assert cache.renew_one()
    assert not cache.renew_one(), "both are young"
    want(cache, "bca")
    assert cache.renew_one()
    meter.now = 30 * SECOND
    while cache.renew_one():
        pass
    assert meter.measured == ["a", "b", "c", "a", "b", "c"]


def test_a_pod_that_is_calm_again_keeps_its_old_result_and_one_that_is_gone_does_not(
    cache: DiskUsageCache, meter: Meter
) -> None:
    want(cache, "ab")
    while cache.renew_one():
        pass
    meter.now = 100 * SECOND
    want(cache, "", active="a")
    assert not cache.renew_one()
    assert cache.find("a") == PodDisk(time=0, etc_hosts=DiskUsage(1, 1))
    assert cache.find("b") is None


def test_a_walk_that_makes_no_progress_is_told_of_until_it_does(cache: DiskUsageCache, meter: Meter) -> None:
    entered, free = threading.Event(), threading.Event()

    def hang(made: DiskRequest) -> PodDisk:
        entered.set()
        free.wait(30)
        return PodDisk(time=0)

    cache = DiskUsageCache(hang, clock=meter.clock)
    want(cache, "a")
    cache.start()
    assert entered.wait(30)
    assert cache.problems(0) == ()
    assert cache.problems(29 * SECOND) == ()
    assert [row.detail for row in cache.problems(31 * SECOND)] == ["no progress in 31 s at pod ns/pod-a"]
    cache.pace.spent(1)
    assert cache.problems(40 * SECOND) == ()
    assert len(cache.problems(80 * SECOND)) == 1
    free.set()
    cache.stop(30)
    assert cache.problems(90 * SECOND) == ()


def test_the_thread_measures_what_is_wanted_and_ends_when_told(cache: DiskUsageCache, meter: Meter) -> None:
    done = threading.Event()
    real = meter.measure

    def measure(made: DiskRequest) -> PodDisk:
        result = real(made)
        if len(meter.measured) == 2:
            done.set()
        return result

    cache = DiskUsageCache(measure, clock=meter.clock)
    cache.start()
    want(cache, "ab")
    assert done.wait(30)
    cache.stop(30)
    assert cache.find("a") is not None
    assert sorted(meter.measured) == ["a", "b"]
