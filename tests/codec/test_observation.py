"""Observations written down: what decides is kept."""

import json

from hypothesis import given, settings

from evictd.codec.observation import (
    decode_filesystems,
    decode_observation,
    encode_filesystems,
    encode_observation,
)
from evictd.core.config import EvictionConfig
from evictd.core.observation import Filesystems, Observation, Outcomes, Problem, Reclaim, ReclaimOutcome
from evictd.core.stats import NodeGauges, NodeStats
from tests.strategies import stories


@given(stories())
@settings(max_examples=25)
def test_observations_survive(story: tuple[EvictionConfig, list[tuple[int, Observation]]]) -> None:
    """Any node, any pods, a failed reading included."""
    for _, observation in story[1]:
        assert decode_observation(json.loads(json.dumps(encode_observation(observation)))) == observation


def test_outcomes_and_problems_survive() -> None:
    """Ended collections, and those that have not."""
    outcome = ReclaimOutcome(action=Reclaim.IMAGES, freed_bytes=7, removed=2, error="one refused")
    for reclaimed in (None, (), (outcome,)):
        observation = Observation(
            node=NodeStats(),
            outcomes=Outcomes(reclaimed=reclaimed, cleaned_up=frozenset({"b", "a"})),
            problems=(Problem(source="memory", detail="EIO"),),
            filesystems=Filesystems(dedicated_image_fs=None),
        )
        assert decode_observation(encode_observation(observation)) == observation


def test_gauges_are_left_out() -> None:
    """They decide nothing."""
    observation = Observation(node=NodeStats(gauges=NodeGauges(capacity_bytes=5)))
    assert decode_observation(encode_observation(observation)) == Observation(node=NodeStats())


def test_a_layout_not_found_out_is_kept_as_such() -> None:
    """Unknown is not false."""
    unknown = Filesystems(dedicated_image_fs=None, split_container_fs=None)
    assert decode_filesystems(encode_filesystems(unknown)) == unknown
