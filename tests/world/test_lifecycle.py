"""Checks the order of scheduled things and what pods leave behind."""

import pytest

from evictd.core.units.duration import SECOND
from evictd.world.behaviours import Hold, Stops, Usage
from evictd.world.lifecycle import CutShort, EndCause, Lifecycle, PodEnd, Schedule
from evictd.world.model import WorldPod
from evictd.world.node import SimulatedNode
from tests.playbook import pod
from tests.world.worlds import world


def test_things_happen_in_order_of_time_and_then_as_they_were_scheduled() -> None:
    schedule, done = Schedule(), list[str]()
    schedule.at(5, lambda _: done.append("b"))
    schedule.at(3, lambda _: done.append("a"))
    schedule.at(5, lambda _: done.append("c"))
    schedule.at(9, lambda _: done.append("d"))
    schedule.run(5)
    assert done == ["a", "b", "c"]
    assert schedule.next == 9


def test_a_shorter_grace_ends_a_pod_earlier_and_a_longer_one_changes_nothing() -> None:
    stubborn = WorldPod(pod=pod("a"), behaviours=(Stops(after=None), Hold(of=Usage.HOST_PATH, amount=7)))
    node, schedule = SimulatedNode(world(stubborn)), Schedule()
    lifecycle = Lifecycle(node, schedule)
    lifecycle.begin()
    running = node.pods["a"]
    lifecycle.stop(running, 60 * SECOND, EndCause.DELETED, 0)
    lifecycle.stop(running, 90 * SECOND, EndCause.EVICTED, 0)
    lifecycle.stop(running, 1 * SECOND, EndCause.EVICTED, 10 * SECOND)
    schedule.run(15 * SECOND)
    assert lifecycle.gone == {"a"}
    assert not node.pods
    assert node.left == {Usage.HOST_PATH: 7}
    schedule.run(100 * SECOND)
    assert len(lifecycle.happened) == 1


@pytest.mark.parametrize(
    ("needs", "graces", "cut"),
    [
        (20, [1], CutShort(after=1 * SECOND, needs=20 * SECOND)),
        (20, [20], None),
        (20, [60, 1], CutShort(after=11 * SECOND, needs=20 * SECOND)),
        (None, [1], None),
    ],
)
def test_a_pod_that_is_killed_before_the_end_that_it_needs_says_so(
    needs: int | None, graces: list[int], cut: CutShort | None
) -> None:
    slow = WorldPod(pod=pod("a"), behaviours=(Stops(after=None if needs is None else needs * SECOND),))
    node, schedule = SimulatedNode(world(slow)), Schedule()
    lifecycle = Lifecycle(node, schedule)
    lifecycle.begin()
    running = node.pods["a"]
    for number, grace in enumerate(graces):
        lifecycle.stop(running, grace * SECOND, EndCause.EVICTED, number * 10 * SECOND)
    schedule.run(100 * SECOND)
    assert [each.event.cut_short for each in lifecycle.happened if isinstance(each.event, PodEnd)] == [cut]
