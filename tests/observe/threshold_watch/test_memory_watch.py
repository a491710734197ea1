"""The loop's wait ends at its time, on a wake-up, or when memory crosses a threshold."""

import os
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evictd.core.model.signal import Signal
from evictd.core.model.stats import MemoryStats
from evictd.core.units.duration import MILLISECOND, MINUTE, SECOND
from evictd.observe.threshold_watch.kernel_notifiers import MemcgNotifier
from evictd.observe.threshold_watch.memory_watch import (
    CONCEIVABLE_RATE,
    LEAST_RATE,
    SHORTEST,
    FillRate,
    MemoryWatch,
    Woken,
    next_reading,
)
from evictd.observe.threshold_watch.recent_fill import RecentFill
from evictd.observe.threshold_watch.renewing_notifier import RenewingNotifier
from tests.observe.threshold_watch.memcg_v1 import fill, finish, real_cgroup
from tests.observe.threshold_watch.polled_time import PolledTime, polled_time
from tests.recorded_errors import NoErrors, RecordedErrors

__all__ = ["polled_time"]

MEMORY = Signal.MEMORY_AVAILABLE
GI = 1 << 30


class Node:
    """A node whose available memory the test sets."""

    def __init__(self, available: int | None) -> None:
        self.available = available
        self.readings = 0

    def read(self) -> MemoryStats | None:
        self.readings += 1
        if self.available is None:
            return None
        return MemoryStats(available_bytes=self.available, usage_bytes=8 * GI - self.available)


class Pipe:
    """A notifier that a test can ring."""

    name = "pipe"
    events = 1  # POLLIN

    def __init__(self) -> None:
        self.reader, self.writer = os.pipe2(os.O_NONBLOCK)

    def ring(self) -> None:
        os.write(self.writer, b"!")

    def fileno(self) -> int:
        return self.reader

    def drain(self) -> None:
        os.read(self.reader, 100)

    def hang_up(self) -> None:
        os.close(self.writer)
        self.writer = -1

    def close(self) -> None:
        os.close(self.reader)
        if self.writer >= 0:
            os.close(self.writer)


class AlwaysRinging(Pipe):
    """A notifier with an event pending at all times, as a cgroup at its limit has."""

    def __init__(self) -> None:
        super().__init__()
        self.drained = 0
        self.ring()

    def drain(self) -> None:
        self.drained += 1


@pytest.fixture
def wake() -> Iterator[Pipe]:
    pipe = Pipe()
    yield pipe
    pipe.close()


def itself(pipe: Pipe, _: Path) -> Pipe:
    return pipe


def watch_of(time: PolledTime, node: Node, *others: Pipe, longest: int = 10 * SECOND) -> MemoryWatch:
    kept = [RenewingNotifier(lambda: Path("/"), partial(itself, pipe), RecordedErrors()) for pipe in others]
    return MemoryWatch(clock=time, sources={MEMORY: node.read}, others=kept, longest=longest)


def test_a_wait_without_events_ends_at_its_time(wake: Pipe, polled_time: PolledTime) -> None:
    until = polled_time.soon()
    assert watch_of(polled_time, Node(4 * GI)).wait(until, wake_fd=wake.fileno()) is Woken.TIME
    assert polled_time.now == until


def test_a_time_already_past_is_no_wait(wake: Pipe, polled_time: PolledTime) -> None:
    assert watch_of(polled_time, Node(4 * GI)).wait(0, wake_fd=wake.fileno()) is Woken.TIME


def test_a_byte_on_the_wake_up_pipe_ends_the_wait(wake: Pipe, polled_time: PolledTime) -> None:
    wake.ring()
    watch = watch_of(polled_time, Node(4 * GI))
    watch.set_thresholds({MEMORY: GI})
    assert watch.wait(polled_time.soon(60_000), wake_fd=wake.fileno()) is Woken.ASKED


def test_memory_already_below_the_limit_ends_the_wait_at_once(wake: Pipe, polled_time: PolledTime) -> None:
    watch = watch_of(polled_time, Node(GI - 1))
    watch.set_thresholds({MEMORY: GI})
    assert watch.wait(polled_time.soon(60_000), wake_fd=wake.fileno()) is Woken.MEMORY
    assert watch.crossed_at is not None


def test_exactly_the_limit_is_not_crossed(wake: Pipe, polled_time: PolledTime) -> None:
    watch = watch_of(polled_time, Node(GI))
    watch.set_thresholds({MEMORY: GI})
    assert watch.wait(polled_time.soon(), wake_fd=wake.fileno()) is Woken.TIME


def test_a_fill_during_the_wait_is_seen_by_reading_alone(wake: Pipe, polled_time: PolledTime) -> None:
    node = Node(GI + 1)
    watch = watch_of(polled_time, node)
    watch.set_thresholds({MEMORY: GI})
    polled_time.at(polled_time.soon(), partial(setattr, node, "available", GI - 1))
    assert watch.wait(polled_time.soon(60_000), wake_fd=wake.fileno()) is Woken.MEMORY


def test_every_reading_counts_for_the_fill_rate(wake: Pipe, polled_time: PolledTime) -> None:
    recent = RecentFill()
    recent.add(MEMORY, GI, polled_time.now - SECOND)
    watch = MemoryWatch(clock=polled_time, sources={MEMORY: Node(GI // 2).read}, recent=recent)
    watch.set_thresholds({MEMORY: GI})
    assert watch.wait(polled_time.soon(60_000), wake_fd=wake.fileno()) is Woken.MEMORY
    assert recent.rate(MEMORY) == GI // 2


def test_a_limit_that_is_acted_on_early_ends_the_wait_before_it_is_crossed(wake: Pipe, polled_time: PolledTime) -> None:
    node = Node(GI)
    watch = MemoryWatch(clock=polled_time, sources={MEMORY: node.read})
    watch.set_thresholds({MEMORY: 1}, lead=True)
    assert watch.wait(polled_time.soon(60), wake_fd=wake.fileno()) is Woken.TIME
    node.available = 2  # at this rate nothing is left within milliseconds
    watch.set_thresholds({MEMORY: 1}, lead=False)
    assert watch.wait(polled_time.soon(60), wake_fd=wake.fileno()) is Woken.TIME
    watch.set_thresholds({MEMORY: 1}, lead=True)  # a reload
    assert watch.wait(polled_time.soon(60_000), wake_fd=wake.fileno()) is Woken.MEMORY


def test_an_event_of_the_kernel_brings_the_reading_forward(wake: Pipe, polled_time: PolledTime) -> None:
    node, bell = Node(1 << 50), Pipe()
    watch = watch_of(polled_time, node, bell, longest=3600 * SECOND)
    watch.set_thresholds({MEMORY: GI})

    def fill() -> None:
        node.available = 0
        bell.ring()

    polled_time.at(polled_time.soon(), fill)
    assert watch.wait(polled_time.soon(60_000), wake_fd=wake.fileno()) is Woken.MEMORY
    watch.close()


def test_an_event_without_a_crossing_does_not_end_the_wait(wake: Pipe, polled_time: PolledTime) -> None:
    node, bell = Node(1 << 50), Pipe()
    bell.ring()
    watch = watch_of(polled_time, node, bell, longest=3600 * SECOND)
    watch.set_thresholds({MEMORY: GI})
    assert watch.wait(polled_time.soon(), wake_fd=wake.fileno()) is Woken.TIME
    assert node.readings == 2  # once for the new thresholds, once for the event
    watch.close()


def test_a_notifier_whose_file_is_gone_is_let_go_and_does_not_spin_the_wait(
    wake: Pipe, polled_time: PolledTime
) -> None:
    node, bell = Node(1 << 50), Pipe()
    bell.hang_up()
    watch = watch_of(polled_time, node, bell, longest=3600 * SECOND)
    watch.set_thresholds({MEMORY: GI})
    assert watch.wait(polled_time.soon(100), wake_fd=wake.fileno()) is Woken.TIME
    assert node.readings == 2  # once for the new thresholds, once for the kernel's last event
    watch.close()


def test_a_notifier_that_appears_later_is_polled_after_the_next_thresholds(wake: Pipe, polled_time: PolledTime) -> None:
    node, bell, places = Node(1 << 50), Pipe(), [None, Path("/")]
    kept = RenewingNotifier(lambda: places[0], partial(itself, bell), NoErrors())
    watch = MemoryWatch(clock=polled_time, sources={MEMORY: node.read}, others=[kept], longest=3600 * SECOND)
    bell.ring()
    watch.set_thresholds({MEMORY: GI})
    assert watch.wait(polled_time.soon(), wake_fd=wake.fileno()) is Woken.TIME
    assert node.readings == 1
    del places[0]
    watch.set_thresholds({MEMORY: GI})
    assert watch.wait(polled_time.soon(), wake_fd=wake.fileno()) is Woken.TIME
    assert node.readings == 3
    watch.close()


def test_far_from_the_threshold_memory_is_read_once(wake: Pipe, polled_time: PolledTime) -> None:
    node = Node(1 << 50)
    watch = watch_of(polled_time, node)
    watch.set_thresholds({MEMORY: GI})
    assert watch.wait(polled_time.soon(), wake_fd=wake.fileno()) is Woken.TIME
    assert node.readings == 1


def test_without_a_limit_nothing_is_read(wake: Pipe, polled_time: PolledTime) -> None:
    node = Node(0)
    watch = watch_of(polled_time, node)
    watch.set_thresholds({})
    assert watch.wait(polled_time.soon(), wake_fd=wake.fileno()) is Woken.TIME
    assert node.readings == 0


def test_memory_that_cannot_be_read_leaves_a_plain_wait(wake: Pipe, polled_time: PolledTime) -> None:
    watch = watch_of(polled_time, Node(None))
    watch.set_thresholds({MEMORY: GI})
    assert watch.wait(polled_time.soon(), wake_fd=wake.fileno()) is Woken.TIME


def test_a_burst_of_notifications_is_read_once_in_fifty_milliseconds(wake: Pipe, polled_time: PolledTime) -> None:
    """100 events a second of `memory.events` gave 98 readings a second, each with a wake-up."""
    node, bell = Node(1 << 50), AlwaysRinging()
    watch = watch_of(polled_time, node, bell, longest=3600 * SECOND)
    watch.set_thresholds({MEMORY: GI})
    assert watch.wait(polled_time.soon(300), wake_fd=wake.fileno()) is Woken.TIME
    assert (bell.drained, node.readings) == (300 * MILLISECOND // SHORTEST, 300 * MILLISECOND // SHORTEST + 1)
    watch.close()


def test_a_crossing_that_a_burst_hides_is_read_after_it(wake: Pipe, polled_time: PolledTime) -> None:
    node, bell = Node(1 << 50), AlwaysRinging()
    watch = watch_of(polled_time, node, bell, longest=3600 * SECOND)
    watch.set_thresholds({MEMORY: GI})
    polled_time.at(polled_time.soon(), partial(setattr, node, "available", 0))
    assert watch.wait(polled_time.soon(60_000), wake_fd=wake.fileno()) is Woken.MEMORY
    watch.close()


class Level(Pipe):
    """A memcg notifier that rings when a test says so."""

    name = "memcg"

    def __init__(self) -> None:
        super().__init__()
        self.level: int | None = None
        self.armed: list[int] = []

    def set_level(self, level: int, *, tolerance: int = 0) -> bool:
        if self.level is not None and abs(level - self.level) <= tolerance:
            return False
        self.level = level
        self.armed.append(level)
        return True


class CachingNode(Node):
    """A node of 8 GiB with page cache that does not belong to the working set."""

    def __init__(self, available: int, cache: int) -> None:
        super().__init__(available)
        self.cache = cache

    def read(self) -> MemoryStats | None:
        self.readings += 1
        working_set = 8 * GI - (self.available or 0)
        return MemoryStats(
            available_bytes=self.available, working_set_bytes=working_set, usage_bytes=working_set + self.cache
        )


def levelled(polled_time: PolledTime, node: Node, level: Level) -> MemoryWatch:
    renewing: Any = RenewingNotifier(lambda: Path("/"), lambda _: level, RecordedErrors())
    watch = MemoryWatch(clock=polled_time, sources={MEMORY: node.read}, memcg={MEMORY: renewing})
    watch.set_thresholds({MEMORY: GI})
    return watch


def test_what_a_level_of_the_kernel_covers_is_not_read_before_its_event(wake: Pipe, polled_time: PolledTime) -> None:
    node, level = CachingNode(GI + (1 << 20), cache=0), Level()
    watch = levelled(polled_time, node, level)
    assert watch.wait(polled_time.soon(300), wake_fd=wake.fileno()) is Woken.TIME
    assert level.armed == [7 * GI]
    assert node.readings == 2, "one to arm the level, one after it"
    level.ring()
    node.available = GI - 1
    assert watch.wait(polled_time.soon(60_000), wake_fd=wake.fileno()) is Woken.MEMORY
    watch.close()


def test_page_cache_below_the_level_does_not_uncover_it(wake: Pipe, polled_time: PolledTime) -> None:
    node, level = CachingNode(3 * GI, cache=GI), Level()
    watch = levelled(polled_time, node, level)
    assert watch.wait(polled_time.soon(300), wake_fd=wake.fileno()) is Woken.TIME
    assert (level.armed, node.readings) == ([7 * GI], 2)
    watch.close()


def test_a_node_full_of_page_cache_is_read_although_a_level_is_armed(wake: Pipe, polled_time: PolledTime) -> None:
    """Its working set can grow while the cache shrinks: the usage, and so the level, stays as it is."""
    node, level = CachingNode(GI + (1 << 20), cache=GI - (1 << 20)), Level()
    watch = levelled(polled_time, node, level)
    usage = 8 * GI - (2 << 20)

    def use_cache() -> None:
        node.cache -= 2 << 20
        node.available = GI - (1 << 20)

    polled_time.at(crossed := polled_time.soon(), use_cache)
    assert watch.wait(polled_time.soon(60_000), wake_fd=wake.fileno()) is Woken.MEMORY
    assert polled_time.now <= crossed + SHORTEST
    assert level.armed == [usage + (1 << 20)]
    watch.close()


@pytest.mark.root
def test_a_real_cgroup_s_level_replaces_the_readings_until_it_is_reached(wake: Pipe) -> None:
    with real_cgroup() as cgroup:
        reads = 0

        def read() -> MemoryStats:
            nonlocal reads
            reads += 1
            usage = int((cgroup / "memory.usage_in_bytes").read_text())
            return MemoryStats(available_bytes=GI - usage, working_set_bytes=usage, usage_bytes=usage)

        renewing = RenewingNotifier(lambda: cgroup, MemcgNotifier, RecordedErrors())
        watch = MemoryWatch(clock=time.monotonic_ns, sources={MEMORY: read}, memcg={MEMORY: renewing})
        watch.set_thresholds({MEMORY: GI - (32 << 20)})
        assert watch.wait(time.monotonic_ns() + 300 * MILLISECOND, wake_fd=wake.fileno()) is Woken.TIME
        assert reads <= 2, "one to arm the level, one after it"
        process = fill(cgroup, 64 << 20)
        try:
            assert watch.wait(time.monotonic_ns() + 60 * SECOND, wake_fd=wake.fileno()) is Woken.MEMORY
        finally:
            finish(process)
            watch.close()


BYTES = st.integers(0, 1 << 45)
RATES = st.integers(1, 1 << 40)
INTERVAL = 10 * SECOND
MI, GI = 1 << 20, 1 << 30


@given(distance=BYTES, rate=RATES)
def test_the_next_reading_lies_between_the_shortest_and_the_interval(distance: int, rate: int) -> None:
    assert SHORTEST <= next_reading(distance, rate, longest=INTERVAL) <= INTERVAL


@given(distance=BYTES, rate=RATES)
def test_a_fill_at_that_rate_crosses_at_most_one_shortest_wait_before_the_reading(distance: int, rate: int) -> None:
    wait = next_reading(distance, rate, longest=INTERVAL)
    filled = wait * rate // SECOND
    assert filled <= max(distance, rate * SHORTEST // SECOND)


@given(near=BYTES, further=BYTES, rate=RATES)
def test_nearer_to_the_threshold_is_never_read_later(near: int, further: int, rate: int) -> None:
    near, further = sorted((near, further))
    assert next_reading(near, rate, longest=INTERVAL) <= next_reading(further, rate, longest=INTERVAL)


@given(distance=BYTES, slow=RATES, fast=RATES)
def test_a_faster_filler_is_never_read_later(distance: int, slow: int, fast: int) -> None:
    slow, fast = sorted((slow, fast))
    assert next_reading(distance, fast, longest=INTERVAL) <= next_reading(distance, slow, longest=INTERVAL)


def readings_in_a_minute(distance: int, rate: FillRate) -> int:
    at = count = 0
    while at < MINUTE:
        at, count = at + next_reading(distance, rate.fastest, longest=INTERVAL), count + 1
    return count


@pytest.mark.parametrize(("distance", "most"), [(150 * MI, 103), (3 * GI, 60), (100 * GI, 6)])
def test_a_calm_node_is_read_at_the_pace_of_what_it_has_filled(distance: int, most: int) -> None:
    """A calm machine of 2 GiB woke 29 times a second because 4 GiB/s were assumed."""
    assert readings_in_a_minute(distance, FillRate()) == most


def test_a_node_that_has_filled_fast_is_read_often() -> None:
    fast = FillRate().updated(4 * GI, SECOND).updated(0, 2 * SECOND)
    assert readings_in_a_minute(150 * MI, fast) == 1200


@given(distance=BYTES, rate=RATES)
def test_where_a_conceivable_fill_could_cross_within_a_second_memory_is_read_within_one(
    distance: int, rate: int
) -> None:
    assert next_reading(distance, rate, longest=INTERVAL) <= max(SECOND, distance * SECOND // CONCEIVABLE_RATE)


@given(
    readings=st.lists(st.tuples(BYTES, st.integers(0, 100 * SECOND)), max_size=10),
    available=BYTES,
    at=st.integers(0, 100 * SECOND),
)
def test_the_rate_only_ever_rises(readings: list[tuple[int, int]], available: int, at: int) -> None:
    rate = FillRate()
    for each in readings:
        rate = rate.updated(*each)
    assert rate.updated(available, at).fastest >= rate.fastest >= LEAST_RATE


def test_a_fill_faster_than_reckoned_with_is_remembered() -> None:
    rate = FillRate().updated(8 << 30, SECOND).updated(0, 2 * SECOND)
    assert rate.fastest == 8 << 30
    assert rate.updated(8 << 30, 3 * SECOND).fastest == 8 << 30


def test_two_readings_within_a_millisecond_do_not_change_the_rate() -> None:
    rate = FillRate().updated(1 << 40, 0).updated(0, MILLISECOND - 1)
    assert rate.fastest == LEAST_RATE
