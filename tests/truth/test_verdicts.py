"""Compares what `evictd incident` says of an eviction with what happened in the played world."""

from functools import cache

import pytest

from evictd.render.incident.relief.relief import relief_lines
from tests.truth.played import Played, played
from tests.truth.random_worlds import world_document


@cache
def _world(seed: int) -> Played:
    return played(world_document(seed))


def test_a_request_counts_where_the_kubelets_policy_evicts_on_the_reading_before_a_reclaim() -> None:
    """It would have gone all the same, it was said, because no other pod could go; the next one went 0.7 s later."""
    first, second = (found for _, found in _world(2006).incidents)
    assert (first.event.pod, first.with_request) == ("default/batch-0", second.event.pod)


@pytest.mark.parametrize("seed", [2006, 2010])
def test_what_came_back_of_a_disk_is_that_of_the_pod_that_held_it(seed: int) -> None:
    """`The eviction relieved the node` was said of a pod that held nothing, and of one of 18.3Gi that nothing came back."""
    first, second = (found for _, found in _world(seed).incidents)
    assert first.relieved
    assert first.came_back == (0 if first.victim is None else first.victim.usage)
    assert (second.came_back, second.relieved) == (0, False)
    assert "nothing of what came back was its own" in list(relief_lines(second))
