"""The wait of the loop: it ends at its time, when asked, and when memory is crossed, whichever is first."""

import os
import threading
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from evictd.core.duration import MILLISECOND, SECOND
from evictd.core.signal import Signal
from evictd.core.stats import MemoryStats
from evictd.observe.kept_notifier import KeptNotifier
from evictd.observe.memory_watch import MemoryWatch, Woken

MEMORY = Signal.MEMORY_AVAILABLE
GI = 1 << 30


class Node:
    """A node whose free memory is whatever the test says."""

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


@pytest.fixture
def wake() -> Iterator[Pipe]:
    pipe = Pipe()
    yield pipe
    pipe.close()


def itself(pipe: Pipe, _: Path) -> Pipe:
    return pipe


def watch_of(node: Node, *others: Pipe, longest: int = 10 * SECOND) -> MemoryWatch:
    kept = [KeptNotifier(lambda: Path("/"), partial(itself, pipe), print) for pipe in others]
    return MemoryWatch(clock=time.monotonic_ns, sources={MEMORY: node.read}, others=kept, longest=longest)


def soon(milliseconds: int = 20) -> int:
    return time.monotonic_ns() + milliseconds * MILLISECOND


def test_a_calm_wait_ends_at_its_time(wake: Pipe) -> None:
    until = soon()
    assert watch_of(Node(4 * GI)).wait(until, wake_fd=wake.fileno()) is Woken.TIME
    assert time.monotonic_ns() >= until


def test_a_time_already_past_is_no_wait(wake: Pipe) -> None:
    assert watch_of(Node(4 * GI)).wait(0, wake_fd=wake.fileno()) is Woken.TIME


def test_a_byte_on_the_wake_up_pipe_ends_the_wait(wake: Pipe) -> None:
    wake.ring()
    watch = watch_of(Node(4 * GI))
    watch.aim({MEMORY: GI})
    assert watch.wait(soon(60_000), wake_fd=wake.fileno()) is Woken.ASKED


def test_memory_already_below_the_limit_ends_the_wait_at_once(wake: Pipe) -> None:
    watch = watch_of(Node(GI - 1))
    watch.aim({MEMORY: GI})
    assert watch.wait(soon(60_000), wake_fd=wake.fileno()) is Woken.MEMORY
    assert watch.crossed_at is not None


def test_exactly_the_limit_is_not_crossed(wake: Pipe) -> None:
    watch = watch_of(Node(GI))
    watch.aim({MEMORY: GI})
    assert watch.wait(soon(), wake_fd=wake.fileno()) is Woken.TIME


def test_a_fill_during_the_wait_is_seen_by_reading_alone(wake: Pipe) -> None:
    node = Node(GI + 1)
    watch = watch_of(node)
    watch.aim({MEMORY: GI})
    timer = threading.Timer(0.02, setattr, (node, "available", GI - 1))
    timer.start()
    assert watch.wait(soon(60_000), wake_fd=wake.fileno()) is Woken.MEMORY
    timer.join()


def test_an_event_of_the_kernel_brings_the_reading_forward(wake: Pipe) -> None:
    node, bell = Node(1 << 50), Pipe()
    watch = watch_of(node, bell, longest=3600 * SECOND)
    watch.aim({MEMORY: GI})

    def fill() -> None:
        node.available = 0
        bell.ring()

    timer = threading.Timer(0.02, fill)
    timer.start()
    assert watch.wait(soon(60_000), wake_fd=wake.fileno()) is Woken.MEMORY
    timer.join()
    watch.close()


def test_an_event_without_a_crossing_does_not_end_the_wait(wake: Pipe) -> None:
    node, bell = Node(1 << 50), Pipe()
    bell.ring()
    watch = watch_of(node, bell, longest=3600 * SECOND)
    watch.aim({MEMORY: GI})
    assert watch.wait(soon(), wake_fd=wake.fileno()) is Woken.TIME
    assert node.readings == 2  # once as aimed, once for the event
    watch.close()


def test_a_notifier_whose_file_is_gone_is_let_go_and_does_not_spin_the_wait(wake: Pipe) -> None:
    node, bell = Node(1 << 50), Pipe()
    bell.hang_up()
    watch = watch_of(node, bell, longest=3600 * SECOND)
    watch.aim({MEMORY: GI})
    assert watch.wait(soon(100), wake_fd=wake.fileno()) is Woken.TIME
    assert node.readings == 2  # once as aimed, once as the kernel spoke for the last time
    watch.close()


def test_a_notifier_that_comes_later_is_polled_from_the_next_aim_on(wake: Pipe) -> None:
    node, bell, places = Node(1 << 50), Pipe(), [None, Path("/")]
    kept = KeptNotifier(lambda: places[0], partial(itself, bell), print)
    watch = MemoryWatch(clock=time.monotonic_ns, sources={MEMORY: node.read}, others=[kept], longest=3600 * SECOND)
    bell.ring()
    watch.aim({MEMORY: GI})
    assert watch.wait(soon(), wake_fd=wake.fileno()) is Woken.TIME
    assert node.readings == 1
    del places[0]
    watch.aim({MEMORY: GI})
    assert watch.wait(soon(), wake_fd=wake.fileno()) is Woken.TIME
    assert node.readings == 3
    watch.close()


def test_far_from_the_threshold_memory_is_read_once(wake: Pipe) -> None:
    node = Node(1 << 50)
    watch = watch_of(node)
    watch.aim({MEMORY: GI})
    assert watch.wait(soon(), wake_fd=wake.fileno()) is Woken.TIME
    assert node.readings == 1


def test_without_a_limit_nothing_is_read(wake: Pipe) -> None:
    node = Node(0)
    watch = watch_of(node)
    watch.aim({})
    assert watch.wait(soon(), wake_fd=wake.fileno()) is Woken.TIME
    assert node.readings == 0


def test_memory_that_cannot_be_read_leaves_a_plain_wait(wake: Pipe) -> None:
    watch = watch_of(Node(None))
    watch.aim({MEMORY: GI})
    assert watch.wait(soon(), wake_fd=wake.fileno()) is Woken.TIME
