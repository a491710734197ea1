"""Whether a larger minimum reclaim could have let a pod go between the records."""

from dataclasses import replace

from evictd.codec.records.journal import decode_entry, encode_entry
from evictd.core.eviction.synchronize import synchronize
from evictd.core.model.config import Policy
from evictd.core.model.observation import Outcomes
from evictd.core.model.state import State
from evictd.core.model.threshold import ThresholdValue
from evictd.core.units.duration import SECOND
from evictd.core.units.quantity import of_bytes
from evictd.render.replay.met_for_longer import may_be_met_for_longer
from evictd.render.replay.replayed import Replayed
from tests.daemon.world import CONFIG, GI, HARD, NOW, STATIC, WEB, observe

OLD = replace(CONFIG, thresholds=(HARD,))
NEW = replace(OLD, thresholds=(replace(HARD, min_reclaim=ThresholdValue(quantity=of_bytes(2 * GI))),))


def _replayed(*left: int, policy: Policy = Policy.STANDARD) -> list[Replayed]:
    """Records, ten seconds apart, of an eviction and of its victim's end, decided again with a minimum reclaim of 2Gi."""
    old, new, found = replace(OLD, policy=policy), replace(NEW, policy=policy), list[Replayed]()
    then, now = State(), State()
    for place, available in enumerate(left):
        at = NOW + place * 10 * SECOND
        seen = observe(available, at)
        if place:
            gone = replace(
                observe(available, at, pods=(WEB, STATIC)), outcomes=Outcomes(cleaned_up=frozenset({"uid-hog"}))
            )
            seen = gone
        recorded = synchronize(then, seen, old, at)
        line = encode_entry(now=at, wall="", state=then, observation=seen, config=old, step=recorded)
        step = synchronize(now, seen, new, at)
        then, now = recorded.state, step.state
        found.append(Replayed(entry=decode_entry(line), step=step))
    return found


def test_it_could_not_where_the_end_of_the_victim_reached_it() -> None:
    """`evictionMinimumReclaim can act for longer` was said where the pod's end gave back more than the minimum reclaim."""
    for policy in Policy:
        assert not may_be_met_for_longer(_replayed(GI // 2, 6 * GI, policy=policy))


def test_it_could_where_it_was_not_reached_or_the_journal_ends_before() -> None:
    assert may_be_met_for_longer(_replayed(GI // 2, 2 * GI))
    assert may_be_met_for_longer(_replayed(GI // 2))
    assert may_be_met_for_longer(_replayed(GI // 2, 2 * GI, 6 * GI)), (
        "the end of another pod that goes now is no record"
    )


def test_without_a_threshold_that_is_due_it_could_not() -> None:
    assert not may_be_met_for_longer(_replayed(4 * GI))
