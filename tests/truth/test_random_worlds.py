"""Checks that generated world files can be read and played."""

import pytest

from evictd.commands.inputs.source import own_config
from evictd.world.file import decode_world
from evictd.world.loop import play
from tests.truth.random_worlds import larger_world, mixed_world, world_document


@pytest.mark.parametrize("seed", [*range(40), 301])
def test_a_generated_world_is_a_valid_file_and_equal_for_equal_seeds(seed: int) -> None:
    for made in (world_document, larger_world, mixed_world):
        document = made(seed)
        assert document == made(seed)
        file = decode_world(document)
        own_config(file)
        assert file.world.pods


def test_most_generated_worlds_have_an_eviction() -> None:
    files = [decode_world(world_document(seed)) for seed in range(20)]
    assert sum(bool(play(file.world, own_config(file)).happened) for file in files) > 10
