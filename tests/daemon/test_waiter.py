"""What ends a wait, and what happens when waiting itself fails."""

import os
import signal
from pathlib import Path
from typing import Any

import pytest

from evictd.clock import boot_clock
from evictd.core.model.stats import MemoryStats
from evictd.core.units.duration import MILLISECOND, SECOND
from evictd.daemon.host.liveness import Liveness, SdNotifier
from evictd.daemon.host.signals import WakeUp
from evictd.daemon.telemetry.snapshot import LatestSnapshot
from evictd.daemon.waiter import SIGNALS, Waiter, WaitResult
from evictd.observe.threshold_watch.memory_watch import MemoryWatch, Woken
from evictd.observe.threshold_watch.watch import NODE, ThresholdWatch
from tests.daemon.conftest import Make
from tests.daemon.world import GI, observe
from tests.recorded_errors import NoErrors


class UnforeseenError(RuntimeError):
    """An exception that no part of the daemon knows."""


def test_a_wait_that_raises_is_replaced_and_sigterm_still_ends_the_daemon(
    tmp_path: Path, make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    ours = make([observe(GI // 2)])
    waits: list[int] = []

    def fail(*_: object, **__: object) -> Woken:
        waits.append(1)
        if len(waits) == 2:
            os.kill(os.getpid(), signal.SIGTERM)
        raise UnforeseenError("digits")

    monkeypatch.setattr(ours.memory, "wait", fail)
    ours.wake.listen(SIGNALS)
    ours.loop.run()
    assert len(ours.observer.requests) == 2
    assert [line["source"] for line in ours.logged if "digits" in str(line.get("detail"))] == ["wait"]


class EventfulNode:
    """Takes the place of the memory watch and its clock: each wait takes 10 ms, and a pod has changed in each of them."""

    crossed_at = None

    def __init__(self, wake: WakeUp) -> None:
        self.now = 0
        self.waits = 0
        self._wake = wake

    def wait(self, until: int, *, wake_fd: int) -> Woken:
        self.waits += 1
        if self.now >= until:
            return Woken.TIME
        self.now = min(until, self.now + 10 * MILLISECOND)
        self._wake.pods_changed()
        return Woken.ASKED

    def looks(self, waiter: Waiter, seconds: int, *, awaits_victim: bool = False) -> int:
        looks = 0
        while self.now < seconds * SECOND:
            assert waiter.wait(self.now + 10 * SECOND, awaits_victim=awaits_victim).cause is Woken.ASKED
            looks += 1
        return looks


@pytest.fixture
def eventful(make: Make, monkeypatch: pytest.MonkeyPatch) -> tuple[EventfulNode, Waiter]:
    ours = make([observe(4 * GI)])
    node: Any = EventfulNode(ours.wake)
    monkeypatch.setattr("evictd.daemon.waiter.boot_clock", lambda: node.now)
    return node, Waiter(ThresholdWatch(node, {}), ours.wake, Liveness(SdNotifier(), ours.published), ours.telemetry)


def test_a_hundred_changes_of_pods_a_second_are_one_look_a_second(eventful: tuple[EventfulNode, Waiter]) -> None:
    """100 events in 2 s were 101 looks, each with a listing of everything that runs."""
    node, waiter = eventful
    assert node.looks(waiter, 20) == 20
    assert node.waits > 1_000


def test_while_a_victim_is_awaited_each_change_of_a_pod_is_looked_at(eventful: tuple[EventfulNode, Waiter]) -> None:
    node, waiter = eventful
    assert node.looks(waiter, 2, awaits_victim=True) == 200


def test_a_thread_that_calls_is_not_kept_waiting_by_changes_of_pods(
    eventful: tuple[EventfulNode, Waiter], make: Make
) -> None:
    node, waiter = eventful
    node._wake.wake()
    assert waiter.wait(10 * SECOND).cause is Woken.ASKED
    assert node.now == 10 * MILLISECOND


@pytest.mark.parametrize(
    ("arrived", "stop", "reload"),
    [((), False, False), (("SIGHUP",), False, True), (("SIGTERM",), True, False), (("SIGINT", "SIGHUP"), True, True)],
)
def test_what_signals_ask_for(arrived: tuple[str, ...], stop: bool, reload: bool) -> None:
    waited = WaitResult(signals=frozenset(signal.Signals[name] for name in arrived))
    assert (waited.stop, waited.reload) == (stop, reload)


def test_a_crossing_ends_the_wait_with_its_time() -> None:
    """The reaction time counts from the reading that saw it."""
    memory = MemoryWatch(
        clock=boot_clock, sources={NODE: lambda: MemoryStats(working_set_bytes=1, available_bytes=GI - 1)}
    )
    published = LatestSnapshot()
    with WakeUp() as wake:
        waiter = Waiter(ThresholdWatch(memory, {}), wake, Liveness(SdNotifier(), published), NoErrors())
        began = boot_clock()
        memory.set_thresholds({NODE: GI})
        waited = waiter.wait(began + 60 * SECOND)
    assert waited.cause is Woken.MEMORY
    assert waited.crossed_at is not None
    assert began <= waited.crossed_at <= boot_clock()
    assert published.alive_at >= began


def test_a_thread_that_calls_ends_the_wait_without_a_signal() -> None:
    memory = MemoryWatch(clock=boot_clock, sources={})
    with WakeUp() as wake:
        waiter = Waiter(ThresholdWatch(memory, {}), wake, Liveness(SdNotifier(), LatestSnapshot()), NoErrors())
        wake.wake()
        assert waiter.wait(boot_clock() + 60 * SECOND) == WaitResult(cause=Woken.ASKED)
