"""Which hard thresholds the readings of a node cross, and how long before the decision."""

from collections.abc import Sequence
from dataclasses import replace

from evictd.advice.crossings import seen_between_cycles
from evictd.advice.evidence import node_evidence
from evictd.codec.records.reading_record import RecordedCycle
from evictd.core.units.duration import SECOND
from tests.advice.test_proposal import MEMORY, MI, reading


def crossed(at: int, ago: Sequence[float], *, period: int = 10) -> list[RecordedCycle]:
    """Return the records of one eviction 68Mi below the threshold, at 80Mi a second; `ago`: the readings before it."""
    decided = replace(reading(at, 432, evict="a", rate=80 * MI), period=period * SECOND)
    earlier = {MEMORY: tuple((each, (432 + round(80 * each)) * MI) for each in ago)}
    return [reading(at - 600, 4000), replace(decided, earlier=earlier), reading(at + 1, 4000, gone="a")]


def test_without_a_watch_a_threshold_can_be_crossed_just_after_a_cycle() -> None:
    """`with 288Mi, 19 of 19 evictions leave the reserve`: the same cycle decided, at 32Mi."""
    [late] = node_evidence("n", crossed(600, [20.0, 10.0])).episodes
    assert (late.waits, late.fell, late.fell_at_most) == (10 * SECOND, 68 * MI, 800 * MI)
    [rare] = node_evidence("n", crossed(600, [60.0, 30.0], period=30)).episodes
    assert rare.fell_at_most == 2400 * MI


def test_a_crossing_that_was_seen_between_two_cycles_shows_a_watch() -> None:
    seen = crossed(600, [14.4, 4.4])
    assert seen_between_cycles(seen) == {MEMORY}
    [episode] = node_evidence("n", seen).episodes
    assert (episode.waits, episode.fell_at_most) == (0, 68 * MI)
    both = [*seen, *crossed(3000, [20.0, 10.0])]
    assert [each.waits for each in node_evidence("n", both).episodes] == [0, 0], "a cycle was due when it was crossed"
    assert not seen_between_cycles([])
