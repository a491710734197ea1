"""Observations written down: what decides is kept."""

import json

from hypothesis import given

from evictd.codec.observation import decode_observation, encode_observation
from evictd.core.model.config import EvictionConfig
from evictd.core.model.observation import (
    EvictionAnswer,
    EvictionAnswerKind,
    Filesystems,
    Observation,
    Outcomes,
    Problem,
    Reclaim,
    ReclaimOutcome,
)
from evictd.core.model.signal import Filesystem
from evictd.core.model.stats import DiskUsage, FsStats, MemoryStats, NodeGauges, NodeStats, PodStats, RlimitStats
from tests.strategies import stories


@given(stories())
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


def test_answers_ages_and_own_pods_survive() -> None:
    """What the API server answered, when each part of a pod was measured, and whether anything is carried out."""
    stats = PodStats(name="p", namespace="d", uid="u", time=3, disk_time=None, layers_time=2)
    answers = (
        EvictionAnswer(uid="u", kind=EvictionAnswerKind.REFUSED, at=5, retry_after=7, detail="budget"),
        EvictionAnswer(uid="v", kind=EvictionAnswerKind.AGREED),
    )
    outcome = ReclaimOutcome(action=Reclaim.IMAGES, device=Filesystem.IMAGEFS)
    for collecting in (None, frozenset[Filesystem](), frozenset({Filesystem.NODEFS})):
        observation = Observation(
            node=NodeStats(),
            pod_stats={"u": stats},
            outcomes=Outcomes(
                reclaimed=(outcome,),
                collecting=collecting,
                answers=answers,
                dry_run=True,
                unkillable=frozenset({"u"}),
                unused_images=5,
            ),
            own_pods=frozenset({"me"}),
        )
        assert decode_observation(json.loads(json.dumps(encode_observation(observation)))) == observation


def test_gauges_are_left_out() -> None:
    """They decide nothing."""
    observation = Observation(node=NodeStats(gauges=NodeGauges(capacity_bytes=5)))
    assert decode_observation(encode_observation(observation)) == Observation(node=NodeStats())


def test_a_layout_not_found_out_is_kept_as_such() -> None:
    """Unknown is not false."""
    unknown = Observation(node=None, filesystems=Filesystems(dedicated_image_fs=None, split_container_fs=None))
    assert decode_observation(encode_observation(unknown)) == unknown


def test_deleted_files_and_lower_bounds_survive() -> None:
    hidden = PodStats(
        name="a",
        namespace="ns",
        uid="u",
        deleted_layer=DiskUsage(70, 1),
        deleted_local=DiskUsage(5),
        disk_at_least=True,
    )
    seen = Observation(node=NodeStats(), pod_stats={"u": hidden, "v": PodStats(name="b", namespace="ns", uid="v")})
    assert decode_observation(json.loads(json.dumps(encode_observation(seen)))).pod_stats == seen.pod_stats
    assert "hidden" not in encode_observation(Observation(node=NodeStats()))


def test_fill_rates_survive() -> None:
    for memory, pods in ((None, None), (MemoryStats(fill_rate=5), None), (MemoryStats(), MemoryStats(fill_rate=-7))):
        observation = Observation(
            node=NodeStats(
                memory=memory,
                pods_memory=pods,
                fs=FsStats(fill_rate=3, inodes_fill_rate=-4),
                container_fs=FsStats(inodes_fill_rate=0),
                stop_time=7,
                collect_time=8,
                rlimit=RlimitStats(fill_rate=9),
            )
        )
        assert decode_observation(json.loads(json.dumps(encode_observation(observation)))) == observation
