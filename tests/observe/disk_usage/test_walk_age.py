"""How often pods are walked near a threshold: counted on a clock of the test."""

from dataclasses import replace

import pytest

from evictd.core.model.finding import ThresholdFinding
from evictd.core.model.state import State
from evictd.core.model.stats import DiskUsage
from evictd.core.units.duration import SECOND
from evictd.core.units.quantity import of_bytes
from evictd.observe.disk_usage.cache import DiskUsageCache
from evictd.observe.disk_usage.pod_disk import DiskRequest, PodDisk
from evictd.observe.disk_usage.walk_age import ENFORCED, LONGEST, SHORTEST, DiskFill, WalkAge
from tests.daemon.world import DISK, GI
from tests.measured import at_once

PODS = "abcdefghij"
BEGIN = 1_000 * SECOND


class Node:
    """A disk of 100 GiB with a threshold at 50, and pods whose walks are counted; the loop looks each `period`."""

    def __init__(self) -> None:
        self.now = BEGIN
        self.walks = 0
        self.fill = DiskFill()
        self.state = State()
        self.cache = DiskUsageCache(at_once(self.measure), clock=lambda: self.now)

    def measure(self, _request: DiskRequest) -> PodDisk:
        self.walks += 1
        return PodDisk(time=self.now, etc_hosts=DiskUsage(1, 1))

    def look(self, available: int) -> WalkAge:
        finding = ThresholdFinding(
            threshold=DISK,
            limit=of_bytes(50 * GI),
            available=of_bytes(available),
            capacity=of_bytes(100 * GI),
            met=available < 50 * GI,
        )
        age = self.fill.walk_age([finding], self.state, self.now)
        requests = [DiskRequest(uid=uid, namespace="ns", name=uid) for uid in PODS]
        self.cache.set_requests(requests, active=PODS, age=age)
        return age

    def second(self) -> None:
        while self.cache.take_turn():
            pass
        self.now += SECOND


@pytest.fixture
def node() -> Node:
    return Node()


def test_a_full_disk_that_does_not_fill_is_walked_once_a_minute(node: Node) -> None:
    for second in range(120):
        if second % 10 == 0:
            assert node.look(55 * GI) == WalkAge(longest=LONGEST)
        node.second()
    assert node.walks == 2 * len(PODS)


def test_the_age_allowed_is_half_the_time_that_is_left(node: Node) -> None:
    node.look(59 * GI)
    node.now += SECOND
    assert node.look(58 * GI).longest == 4 * SECOND
    node.now += SECOND
    assert node.look(57 * GI).longest == 3 * SECOND + SECOND // 2
    node.now += SECOND
    assert node.look(50 * GI).longest == SHORTEST


def test_a_fill_that_has_ended_is_forgotten(node: Node) -> None:
    node.look(60 * GI)
    node.now += SECOND
    ages = [node.look(59 * GI).longest]
    for _ in range(60):
        node.now += 10 * SECOND
        ages.append(node.look(59 * GI).longest)
    assert ages == sorted(ages)
    assert (ages[0], ages[-1]) == (4 * SECOND + SECOND // 2, LONGEST)


def test_a_crossing_asks_once_for_walks_that_are_newer_than_itself(node: Node) -> None:
    node.look(51 * GI)
    node.second()
    assert node.walks == len(PODS)
    node.look(51 * GI)
    node.second()
    node.state = replace(State(), thresholds_first_observed_at={DISK: node.now})
    assert node.look(49 * GI) == WalkAge(longest=ENFORCED, since=node.now)
    for _ in range(9):
        node.second()
        node.look(49 * GI)
    assert node.walks == 2 * len(PODS)


def test_no_finding_of_a_disk_asks_for_nothing_special() -> None:
    assert DiskFill().walk_age((), State(), BEGIN) == WalkAge()
