"""Whose walk goes on, counted in entries: the shares of small and large pods, and what a turn costs."""

from collections import Counter

import pytest

from evictd.observe.disk_usage.pod_disk import DiskRequest, PodDisk
from evictd.observe.disk_usage.rate_limiter import RateLimiter
from evictd.observe.disk_usage.turns import TURN, Turns
from tests.measured import Entries

A_SECOND = 25_000
"""Entries that a tenth of a processor walks in a second."""


def request(uid: str, writers: str = "") -> DiskRequest:
    return DiskRequest(uid=uid, namespace="ns", name=f"pod-{uid}", writes_most=uid in writers.split())


class Node:
    """Pods with numbers of entries; the clock is the number of entries walked."""

    def __init__(self, **sizes: int) -> None:
        self.sizes = sizes
        self.limiter = RateLimiter()
        self.begun: list[tuple[str, Entries]] = []
        self.results: dict[str, list[int]] = {uid: [] for uid in sizes}
        self.turns = Turns(self.begin, lambda: self.limiter.entries)

    def begin(self, wanted: DiskRequest) -> Entries:
        made = Entries(self.sizes[wanted.uid], self.limiter, lambda: self.limiter.entries)
        self.begun.append((wanted.uid, made))
        return made

    def turn(self, due: str | None = None, writers: str = "") -> tuple[str, PodDisk] | None:
        uids = [*self.sizes] if due is None else due.split()
        oldest_first = sorted(uids, key=lambda uid: self.results[uid][-1:])
        taken = self.turns.next([request(uid, writers) for uid in oldest_first if uid not in self.turns.uids])
        if taken is None:
            return None
        found = self.turns.take(taken)
        if found.time is not None:
            self.results[taken.uid].append(self.limiter.entries)
        return taken.uid, found


def large(number: int) -> dict[str, int]:
    return {f"big{each}": 1_000_000 for each in range(number)}


def test_a_pod_of_ten_files_is_renewed_within_five_seconds_beside_ten_of_a_million() -> None:
    node = Node(**large(10), small=10)
    last = worst = 0
    while node.limiter.entries < 20_000_000:
        first = node.limiter.entries
        due = " ".join([*large(10), *(["small"] if first - last >= A_SECOND else [])])
        if (done := node.turn(due)) is not None and done[0] == "small":
            worst = max(worst, node.limiter.entries - last)
            last = node.limiter.entries
    assert worst < 5 * A_SECOND
    assert all(node.results.values()), "the large ones are measured as well"


def test_large_pods_get_their_share_beside_a_hundred_small_ones_that_are_always_due() -> None:
    node = Node(**{f"s{each}": 3000 for each in range(100)}, big=200_000)
    walked = Counter[str]()
    while not node.results["big"] and node.limiter.entries < 10_000_000:
        first = node.limiter.entries
        taken = node.turn()
        assert taken is not None
        walked[taken[0][0]] += node.limiter.entries - first
    assert walked["b"] == 200_000
    assert walked["s"] < 6 * walked["b"]


def test_what_fills_the_disk_is_measured_before_the_rest() -> None:
    """However large it is, and though large ones of its class and many small ones are due before it."""
    node = Node(**large(10), **{f"s{each}": 3000 for each in range(100)}, writer=60_000)
    while node.limiter.entries < 1_000_000:  # the large ones are under way
        node.turn(" ".join(large(10)))
    first = node.limiter.entries
    while not node.results["writer"]:
        node.turn(writers="writer")
    assert node.limiter.entries - first < 5 * 60_000, "a third of all that is walked, beside those under way"


def test_a_pod_that_always_writes_takes_no_more_than_its_share() -> None:
    node = Node(**large(1), **{f"s{each}": 3000 for each in range(10)}, writer=4000)
    walked = Counter[str]()
    while not all(node.results.values()) and node.limiter.entries < 20_000_000:
        first = node.limiter.entries
        taken = node.turn(writers="writer")
        assert taken is not None
        walked[taken[0]] += node.limiter.entries - first
    assert all(node.results.values())
    assert walked["writer"] <= sum(walked.values()) * 0.6


def test_a_turn_ends_after_its_entries_and_says_what_was_counted() -> None:
    node = Node(big=100_000)
    for number in range(1, 4):
        taken = node.turn("big")
        assert taken is not None
        found = taken[1]
        assert (found.time, found.at_least) == (None, True)
        assert found.volumes["data"].used_bytes == number * TURN
    while (taken := node.turn("big")) is not None and taken[1].time is None:
        pass
    assert taken is not None
    assert (taken[1].at_least, taken[1].volumes["data"].used_bytes) == (False, 100_000)


def test_few_measurements_are_under_way_at_once_and_each_that_is_given_up_is_closed() -> None:
    node, most = Node(**large(50)), 0
    for _ in range(2000):
        node.turn()
        most = max(most, len(node.turns.uids))
        assert sum(not made.closed and made.found.volumes["data"] != (0, 0) for _, made in node.begun) <= 5
    assert most <= 5


def test_of_two_measurements_in_a_class_the_one_that_was_there_goes_on() -> None:
    """It has counted more."""
    node = Node(first=1_000_000, second=1_000_000)
    while len(node.begun) < 2:
        assert node.turn("first" if not node.begun else "second")
    (_, first), (_, second) = node.begun
    assert (first.closed, second.closed) == (False, True)
    assert node.turns.uids == {"first"}


def test_a_pod_begins_in_the_class_of_its_last_measurement() -> None:
    node = Node(a=30_000, b=30_000)
    while not all(node.results.values()) and node.limiter.entries < 1_000_000:
        node.turn()
    before = len(node.begun)
    while min(len(times) for times in node.results.values()) < 3 and node.limiter.entries < 1_000_000:
        node.turn()
    assert len(node.begun) - before <= 5, "none is given up again"


def test_pods_that_are_gone_are_given_up() -> None:
    node = Node(a=1_000_000, b=10)
    node.turn("a")
    assert node.turns.uids == {"a"}
    node.turns.keep(["b"])
    assert node.turns.uids == frozenset()
    assert [made.closed for _, made in node.begun] == [True]
    assert node.turn("") is None


def test_what_a_measurement_raises_ends_it(monkeypatch: pytest.MonkeyPatch) -> None:
    node = Node(a=1_000_000)

    def fail(_limiter: RateLimiter, _entries: int) -> None:
        raise ZeroDivisionError

    node.turn("a")
    monkeypatch.setattr(RateLimiter, "spent", fail)
    with pytest.raises(ZeroDivisionError):
        node.turn("a")
    assert node.turns.uids == frozenset()
    assert node.begun[0][1].closed
