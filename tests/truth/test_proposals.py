"""Tries what incidents propose: changes generated worlds as a user would, plays them again, and counts what did not come."""

import pytest

from tests.truth.many import seeds
from tests.truth.played import played
from tests.truth.proposals import Case, Claim, claims_of
from tests.truth.random_worlds import larger_world, returning_world, world_document

_FALSE = 10
"""The most proposals of a hundred that may fail: of pods whose growth was not measured whole, or that others overtake."""


def _tried(seed: int) -> list[Claim]:
    found = list[Claim]()
    for document in (world_document(seed), larger_world(seed)):
        world = played(document, most=2)
        for decided, incident in world.incidents:
            found += claims_of(Case(world, decided, incident))
    return _without_untried(found)


def _without_untried(found: list[Claim]) -> list[Claim]:
    return [each for each in found if not each.kind.startswith("untried")]


def _tried_of_returning(seed: int) -> list[Claim]:
    world = played(returning_world(seed))
    return _without_untried([each for case in world.incidents for each in claims_of(Case(world, *case))])


def _check(claims: list[Claim]) -> None:
    wrong = [each for each in claims if each.wrong]
    listed = "\n".join(f"{each.kind}: {each.text}: {each.wrong}" for each in wrong)
    assert len(wrong) * 100 <= len(claims) * _FALSE, listed


@pytest.mark.parametrize("seed", [0, 1, 4, 8, 12])
def test_what_is_proposed_for_an_incident_would_have_come(seed: int) -> None:
    """A limit that leaves no room for the growth of others, and "the owner mended" of pods that did not grow, failed."""
    claims = _tried(seed)
    assert claims
    assert not [each for each in claims if each.wrong]


@pytest.mark.parametrize("seed", range(6))
def test_what_is_proposed_for_a_pod_that_returns_would_have_come(seed: int) -> None:
    """Its owner was to be mended, and less use by it was proposed, where a pod had grown beside it before the first one went."""
    claims = _tried_of_returning(seed)
    assert claims
    assert not [each for each in claims if each.wrong]
    assert not [each for each in claims if each.kind == "owner mended"]


@pytest.mark.slow
def test_nearly_all_that_is_proposed_for_pods_that_return_would_have_come() -> None:
    _check([claim for seed in seeds(0, 5) for claim in _tried_of_returning(seed)])


@pytest.mark.slow
def test_nearly_all_that_is_proposed_would_have_come() -> None:
    _check([claim for seed in seeds(0, 15) for claim in _tried(seed)])
