"""Checks what a process holds, before and after it ends or is restarted."""

from evictd.core.units.duration import SECOND
from evictd.world.behaviours import Grow, Hold, TakeRest, Usage
from evictd.world.process import Process, Standstills


def test_behaviours_are_added_up() -> None:
    process = Process((Hold(of=Usage.MEMORY, amount=5), Grow(of=Usage.MEMORY, rate=2)), 10 * SECOND)
    assert process.held(20 * SECOND) == {Usage.MEMORY: 25}


def test_a_restart_begins_memory_anew_and_leaves_the_disk() -> None:
    process = Process((Grow(of=Usage.MEMORY, rate=2), Grow(of=Usage.LAYER, rate=2)), 0)
    process.restart(20 * SECOND)
    assert process.held(15 * SECOND) == {Usage.LAYER: 30}
    assert process.held(25 * SECOND) == {Usage.MEMORY: 10, Usage.LAYER: 50}
    assert process.next_change(15 * SECOND) == 20 * SECOND


def test_an_end_gives_back_all_but_files() -> None:
    process = Process((Hold(of=Usage.MEMORY, amount=5), Hold(of=Usage.LOGS, amount=6)), 0)
    process.end(0)
    assert process.held(0) == {Usage.LOGS: 6}
    assert process.growth((Usage.MEMORY,), 0, 0) == 0


def test_taking_the_rest_leaves_what_it_has_to() -> None:
    process = Process((TakeRest(rate=100, leave=30),), 0)
    process.take(0, 1 * SECOND, 1000)
    process.take(1 * SECOND, 2 * SECOND, 50)
    assert process.held(2 * SECOND) == {Usage.MEMORY: 120}
    assert [process.growth((Usage.MEMORY,), 2 * SECOND, free) for free in (30, 31)] == [0, 100]


def test_the_spans_of_each_usage_are_added_up() -> None:
    spans = Standstills()
    both = (Usage.LAYER, Usage.VOLUME)
    assert (spans.lasts(Usage.LAYER), spans.duration(Usage.LAYER, 0, 9)) == (False, 0)
    spans.begin(both, 10)
    spans.end(both, 20)
    spans.begin(both, 30)
    assert spans.lasts(Usage.VOLUME)
    assert not spans.lasts(Usage.MEMORY)
    spans_of_volume = {(0, 5): 0, (0, 15): 5, (12, 18): 6, (0, 25): 10, (15, 35): 10, (31, 40): 9}
    assert {each: spans.duration(Usage.VOLUME, *each) for each in spans_of_volume} == spans_of_volume
