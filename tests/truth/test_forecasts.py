"""Checks what the headline forecasts against what happens in generated worlds."""

from collections import Counter
from collections.abc import Iterator

import pytest

from evictd.commands.inputs.source import own_config
from evictd.world.file import decode_world
from evictd.world.loop import play
from tests.truth.forecasts import Judged, judged
from tests.truth.many import seeds
from tests.truth.random_worlds import world_document

_FAST = 6
_MANY = 8


@pytest.mark.parametrize("seed", range(_FAST))
def test_what_the_headline_forecasts_happens(seed: int) -> None:
    assert not [each for each in _judged(seed) if each.wrong]


@pytest.mark.slow
def test_what_the_headline_forecasts_happens_in_many_worlds() -> None:
    found = [(seed, each) for seed in seeds(_FAST, _MANY) for each in _judged(seed)]
    wrong = [(seed, *each) for seed, each in found if each.wrong]
    said = Counter(each.kind for _, each in found)
    assert all(said[kind] > 5 for kind in ("calm", "time", "next pod, 5s before", "next pod, 60s before")), said
    assert not wrong, Counter((kind, what) for _, kind, what, _ in wrong)


def _judged(seed: int) -> Iterator[Judged]:
    file = decode_world(world_document(seed))
    return judged(play(file.world, own_config(file)))
