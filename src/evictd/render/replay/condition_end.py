"""Says from when on a node condition could have ended sooner under another configuration than it was recorded.

Up to then pods were kept away as recorded, so a shorter transition period changes nothing.
"""

from collections.abc import Sequence

from evictd.codec.times import parse_time, rfc3339
from evictd.core.model.signal import NodeCondition
from evictd.errors import InvalidValueError
from evictd.render.replay.replayed import ConditionEnd, Replayed, conditions_then


def first_condition_end(replayed: Sequence[Replayed]) -> ConditionEnd | None:
    """Return the earliest end of a condition that lies before its recorded end; `None` if none does."""
    for one, later in zip(replayed, [*replayed[1:], None], strict=True):
        ends = [(_end(one, each), each) for each in NodeCondition if each.value in conditions_then(one)]
        over = [(at, each) for at, each in ends if later is None or not one.entry.now <= later.entry.now < at]
        if over:
            at, condition = min(over, key=lambda each: each[0])
            return ConditionEnd(condition=condition, at=at, wall=_wall(one, at))
    return None


def _end(one: Replayed, condition: NodeCondition) -> int:
    """Return when a condition that was met up to this record would end; one that is not reported now has ended."""
    state, now = one.step.state, one.entry.now
    if condition not in state.node_conditions:
        return now
    return max(state.node_conditions_last_observed_at.get(condition, now) + one.transition_period, now)


def _wall(one: Replayed, at: int) -> str:
    try:
        return rfc3339(parse_time(one.entry.wall) + at - one.entry.now)
    except InvalidValueError:
        return one.entry.wall
