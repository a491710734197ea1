"""Memory notifications of cgroup v2 with real pods: PSI triggers and `memory.events`."""

import os
import select
import time
from collections.abc import Iterator
from contextlib import closing
from functools import partial
from pathlib import Path

import pytest

from evictd.core.model.signal import Signal
from evictd.core.model.stats import MemoryStats
from evictd.core.units.duration import SECOND
from evictd.observe.threshold_watch.kernel_notifiers import FileWatch, PressureTrigger
from evictd.observe.threshold_watch.memory_watch import MemoryWatch, Woken
from evictd.observe.threshold_watch.renewing_notifier import RenewingNotifier
from evictd_testnode.pods import ContainerRecipe, PodRecipe
from tests.recorded_errors import NoErrors
from tests.vm.guest.node import PODS_CGROUP, Node, pod_cgroup

pytestmark = pytest.mark.vm

THRASH = "while :; do dd if=/dev/zero of=/fill bs=1M count=60; cat /fill >/dev/null; rm /fill; done"
"""Page cache of 60 MiB, again and again; in a cgroup with less room every pass has to reclaim."""
SECONDS = 60
NODE_PRESSURE = Path("/proc/pressure/memory")


@pytest.fixture(scope="module")
def squeezed(machine: Node) -> Iterator[Path]:
    """The cgroup of a pod that is short of memory all the time."""
    machine.remove_all_pods()
    pod = machine.run_pod(PodRecipe(name="thrash", containers=(ContainerRecipe(script=THRASH),)))
    cgroup = pod_cgroup(pod)
    (cgroup / "memory.high").write_text(str(8 << 20))
    yield cgroup
    (cgroup / "memory.high").write_text("max")
    machine.remove_all_pods()


class FarAway:
    """A memory signal so far from its limit that it would not be read again within a minute."""

    limit = 1 << 30

    def __init__(self) -> None:
        self.readings = 0

    def read(self) -> MemoryStats:
        self.readings += 1
        # Crossed by the second reading, which only something that wakes the watch can bring about.
        return MemoryStats(available_bytes=1 << 41 if self.readings == 1 else 0)


def node_trigger() -> RenewingNotifier[PressureTrigger]:
    return RenewingNotifier(lambda: NODE_PRESSURE, partial(PressureTrigger, stall_us=10_000), NoErrors())


def watched(seconds: int, *notifiers: RenewingNotifier[PressureTrigger]) -> tuple[Woken, int]:
    """Wait as the loop does, for so long at most; what ended it, and how often memory was read."""
    memory, (wake, other_end) = FarAway(), os.pipe()
    watch = MemoryWatch(
        clock=time.monotonic_ns,
        sources={Signal.MEMORY_AVAILABLE: memory.read},
        others=notifiers,
        longest=seconds * SECOND,
    )
    watch.set_thresholds({Signal.MEMORY_AVAILABLE: memory.limit})
    try:
        return watch.wait(time.monotonic_ns() + seconds * SECOND, wake_fd=wake), memory.readings
    finally:
        watch.close()
        os.close(wake)
        os.close(other_end)


def polled(watch: PressureTrigger | FileWatch) -> bool:
    poll = select.poll()
    poll.register(watch.fileno(), watch.events)
    return any(seen & watch.events for _, seen in poll.poll(SECONDS * 1000))


def test_a_pods_stall_fires_its_pressure_trigger(squeezed: Path) -> None:
    with closing(PressureTrigger(squeezed / "memory.pressure", stall_us=10_000)) as trigger:
        assert polled(trigger)


def test_a_pods_stall_fires_the_trigger_of_all_pods(squeezed: Path) -> None:
    with closing(PressureTrigger(PODS_CGROUP / "memory.pressure", stall_us=10_000)) as trigger:
        assert polled(trigger)


def test_a_pods_stall_fires_the_trigger_of_the_node(squeezed: Path) -> None:
    with closing(PressureTrigger(NODE_PRESSURE, stall_us=10_000)) as trigger:
        assert polled(trigger)


def test_a_breach_of_memory_high_modifies_memory_events(squeezed: Path) -> None:
    with closing(FileWatch(PODS_CGROUP / "memory.events")) as watch:
        assert polled(watch)


def test_a_stall_wakes_the_loop_between_two_cycles(squeezed: Path) -> None:
    assert watched(SECONDS, node_trigger()) == (Woken.MEMORY, 2)


def test_without_the_trigger_nothing_wakes_it(squeezed: Path) -> None:
    assert watched(5) == (Woken.TIME, 1)
