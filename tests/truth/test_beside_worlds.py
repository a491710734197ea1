"""Tries what is proposed for a pod above its request that went for what another one holds."""

from typing import Any

import pytest

from tests.truth.beside_worlds import early_leak_beside_host, leak_within_request, static_pod_before, two_jobs
from tests.truth.played import ended_of, played, run_of
from tests.truth.proposals import Case, claims_of


@pytest.mark.parametrize("document", [leak_within_request(), early_leak_beside_host()])
def test_the_limit_of_a_leak_within_its_request_avoids_the_eviction(document: dict[str, Any]) -> None:
    """Nothing was proposed, or less use by the host, which did not grow; a request of what the pod used was in vain."""
    world = played(document, most=1)
    claims = [each for case in world.incidents for each in claims_of(Case(world, *case))]
    assert "outside pods" not in {each.kind for each in claims}
    assert [each.kind for each in claims if not each.wrong].count("limit of another") == 1
    assert not [each for each in claims if each.wrong]


def test_the_limit_of_a_static_pod_that_grew_long_before_avoids_the_eviction() -> None:
    """Only the pod that grew in the last minute was named, and nothing would have avoided it."""
    world = played(static_pod_before(), most=1)
    claims = [each for case in world.incidents for each in claims_of(Case(world, *case))]
    assert [each.kind for each in claims if not each.wrong].count("limit of a protected pod") == 1
    assert not [each for each in claims if each.wrong]


def test_the_requests_of_two_jobs_that_request_too_little_avoid_the_evictions() -> None:
    """Twice the use was proposed for one of them, because the other one does not request what it uses."""
    found = played(two_jobs("100Mi", 8), most=20).incidents[-1][1]
    over = found.overcommit
    assert over is not None
    assert over.beside == ("Job/ci-b",)
    assert over.most < over.request <= over.most * 11 // 10
    assert not ended_of(run_of(two_jobs(f"{over.request}", over.fit)))
