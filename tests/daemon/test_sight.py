"""A sight is a frozen value."""

import dataclasses

import pytest

from evictd.daemon.sight import Sight
from tests.daemon.world import GI, NOW, WALL, observe


def test_nothing_about_a_look_changes_afterwards() -> None:
    sight = Sight(now=NOW, wall=WALL, observation=observe(GI))
    assert not sight.held
    with pytest.raises(dataclasses.FrozenInstanceError):
        sight.now = 0  # type: ignore[misc]
