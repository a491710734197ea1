"""Checks which pod is said to go, or that none does, in worlds in which a static pod grows."""

import pytest

from tests.truth.many import seeds
from tests.truth.played import run_of
from tests.truth.refusals import wrong_of
from tests.truth.static_worlds import changes, static_world

_FAST = 8
_MANY = 20


@pytest.mark.parametrize("seed", range(_FAST))
def test_what_is_said_of_the_next_pod_beside_a_static_one_is_done(seed: int) -> None:
    """`batch/worker would be evicted first`, and no pod went; `evictd evicts no pod`, and 16 s later that pod went."""
    assert _wrong(seed) == []


@pytest.mark.slow
def test_what_is_said_of_the_next_pod_beside_a_static_one_is_done_in_many_worlds() -> None:
    assert {seed: wrong for seed in seeds(_FAST, _MANY) if (wrong := _wrong(seed))} == {}


def _wrong(seed: int) -> list[str]:
    document = static_world(seed)
    return list(wrong_of(run_of(document), changes(document)))
