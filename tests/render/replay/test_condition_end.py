"""From when on a condition could have ended sooner than it was recorded."""

from dataclasses import replace

from evictd.codec.records.journal import decode_entry, encode_entry
from evictd.core.eviction.synchronize import synchronize
from evictd.core.model.signal import NodeCondition
from evictd.core.model.state import State
from evictd.core.units.duration import MINUTE, SECOND
from evictd.render.replay.condition_end import first_condition_end
from evictd.render.replay.replayed import Replayed
from tests.daemon.world import CONFIG, GI, NOW, observe


def _replayed(*readings: tuple[int, int], period: int) -> list[Replayed]:
    """Records at these seconds with so many GiB left, decided again by a transition period in seconds."""
    new, found = replace(CONFIG, pressure_transition_period=period * SECOND), list[Replayed]()
    then, now = State(), State()
    for second, left in readings:
        at, seen = NOW + second * SECOND, observe(left * GI, NOW + second * SECOND)
        recorded = synchronize(then, seen, CONFIG, at)
        wall = f"2026-01-01T00:{second // 60:02}:{second % 60:02}Z"
        line = encode_entry(now=at, wall=wall, state=then, observation=seen, config=CONFIG, step=recorded)
        step = synchronize(now, seen, new, at)
        then, now = recorded.state, step.state
        found.append(Replayed(entry=decode_entry(line), step=step, transition_period=new.pressure_transition_period))
    return found


def test_it_is_the_period_after_the_last_record_that_met_the_threshold() -> None:
    end = first_condition_end(_replayed((0, 1), (10, 1), (310, 4), period=30))
    assert end is not None
    assert (end.condition, end.at, end.wall) == (
        NodeCondition.MEMORY_PRESSURE,
        NOW + 40 * SECOND,
        "2026-01-01T00:00:40Z",
    )
    after = first_condition_end(_replayed((0, 1), (10, 1), period=60))
    assert after is not None
    assert after.at == NOW + 10 * SECOND + MINUTE, "after the last record"


def test_there_is_none_without_a_condition_that_was_recorded_for_longer() -> None:
    assert first_condition_end(_replayed((0, 4), period=30)) is None
    ended = _replayed((0, 1), (310, 4), period=300)
    assert first_condition_end([replace(ended[0], transition_period=6 * MINUTE), ended[1]]) is None


def test_a_condition_that_is_not_reported_now_ends_at_once_and_a_damaged_time_is_left_as_it_is() -> None:
    one, other = _replayed((0, 1), (310, 4), period=300)
    absent = replace(one, step=replace(one.step, state=State()), entry=replace(one.entry, wall="?"))
    end = first_condition_end([absent, other])
    assert end is not None
    assert (end.at, end.wall) == (NOW, "?")
