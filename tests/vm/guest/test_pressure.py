"""The kernel's own words of memory trouble on cgroup v2: PSI triggers and `memory.events`, on real pods."""

import select
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.vm.guest.node import PODS_CGROUP, Node, pod_cgroup

from evictd.demo.pods import ContainerRecipe, PodRecipe
from evictd.observe.inotify import FileWatch
from evictd.observe.psi_trigger import PressureTrigger

pytestmark = pytest.mark.vm

THRASH = "while :; do dd if=/dev/zero of=/fill bs=1M count=60; cat /fill >/dev/null; rm /fill; done"
"""Page cache of 60 MiB, again and again; in a cgroup with less room every pass has to reclaim."""
SECONDS = 60


@pytest.fixture
def squeezed(node: Node) -> Iterator[Path]:
    """The cgroup of a pod that is short of memory all the time."""
    pod = node.run_pod(PodRecipe(name="thrash", containers=(ContainerRecipe(script=THRASH),)))
    cgroup = pod_cgroup(pod)
    (cgroup / "memory.high").write_text(str(8 << 20))
    yield cgroup
    (cgroup / "memory.high").write_text("max")


def polled(watch: PressureTrigger | FileWatch) -> bool:
    poll = select.poll()
    poll.register(watch.fileno(), watch.events)
    return any(seen & watch.events for _, seen in poll.poll(SECONDS * 1000))


def test_a_pods_stall_fires_its_pressure_trigger(squeezed: Path) -> None:
    with PressureTrigger(squeezed / "memory.pressure", stall_us=10_000) as trigger:
        assert polled(trigger)


def test_a_pods_stall_fires_the_trigger_of_all_pods(squeezed: Path) -> None:
    with PressureTrigger(PODS_CGROUP / "memory.pressure", stall_us=10_000) as trigger:
        assert polled(trigger)


def test_a_pods_stall_fires_the_trigger_of_the_node(squeezed: Path) -> None:
    with PressureTrigger(Path("/proc/pressure/memory"), stall_us=10_000) as trigger:
        assert polled(trigger)


def test_a_breach_of_memory_high_modifies_memory_events(squeezed: Path) -> None:
    with FileWatch(PODS_CGROUP / "memory.events") as watch:
        assert polled(watch)
