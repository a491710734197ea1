"""Compares what `evictd incident` says of an eviction with what happened in the played world."""

from functools import cache

from tests.truth.played import Played, played
from tests.truth.random_worlds import world_document


@cache
def _world(seed: int) -> Played:
    return played(world_document(seed))


def test_a_request_counts_where_the_kubelets_policy_evicts_on_the_reading_before_a_reclaim() -> None:
    """It would have gone all the same, it was said, because no other pod could go; the next one went 0.7 s later."""
    first, second = (found for _, found in _world(2006).incidents)
    assert (first.event.pod, first.with_request) == ("default/batch-0", second.event.pod)
