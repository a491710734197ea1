"""Checks what is said of a shortage that would have ended by itself."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from evictd.core.units.duration import MINUTE, SECOND
from evictd.render.simulation.worlds.by_itself import by_itself_text, ended_by_itself
from evictd.render.simulation.worlds.world_outcome import PlayedWorld, outcome_text
from evictd.world.account import account_of
from evictd.world.behaviours import Burst, Usage
from evictd.world.kernel import OomKill
from evictd.world.lifecycle import Happened
from evictd.world.loop import play
from evictd.world.model import WorldPod
from tests.playbook import config
from tests.world.worlds import GI, hog, holder, quiet, world

_ENDED = "The shortage would have ended by itself"


def _spike(length: int) -> WorldPod:
    """A pod that takes 3Gi for a time."""
    burst = Burst(of=Usage.MEMORY, amount=3 * GI, start=10 * SECOND, duration=length, rate=GI)
    return replace(holder("spike", 1 << 20), behaviours=(burst,))


def _side(pods: Sequence[WorldPod], **thresholds: Any) -> PlayedWorld:
    story = world(*pods, duration=20 * MINUTE)
    run = play(story, config(**thresholds))
    return PlayedWorld(name="w", run=run, account=account_of(run), unattended=play(story, config()))


def _soft(pods: Sequence[WorldPod], grace: str = "10s") -> PlayedWorld:
    return _side(pods, soft={"memory.available": ("1500Mi", grace)})


def test_the_grace_period_is_named_with_which_no_pod_would_have_been_evicted() -> None:
    """`needed to clear the threshold` was said of an eviction that a longer grace period makes unnecessary."""
    side = _soft((_spike(MINUTE), *quiet(3)))
    first, second, *_ = outcome_text(side.run, side.account, side.unattended)
    assert first.endswith(" for memory.available: needed only for earlier relief.")
    assert second == f"{_ENDED}; with a grace period of 1m0s no pod would have been evicted."
    assert not _soft((_spike(MINUTE), *quiet(3)), "1m").account.losses


@pytest.mark.parametrize(
    "side",
    [
        _side((_spike(MINUTE), *quiet(3)), hard={"memory.available": "1500Mi"}),
        _soft((_spike(15 * MINUTE), *quiet(3))),
    ],
    ids=["hard", "long"],
)
def test_no_grace_period_is_named_for_a_hard_threshold_and_for_a_long_shortage(side: PlayedWorld) -> None:
    assert side.unattended is not None
    assert by_itself_text(side.run, side.unattended) == f"{_ENDED}."


def test_no_shortage_ends_by_itself_that_goes_on_or_that_the_kernel_ended() -> None:
    side = _soft((_spike(MINUTE), *quiet(3)))
    assert side.unattended is not None
    assert ended_by_itself(side.run, side.account, side.unattended)
    killed = replace(side.unattended, happened=(Happened(at=MINUTE, event=OomKill(uid="", name="sshd")),))
    growing = _soft((hog(), *quiet(3)))
    assert not ended_by_itself(side.run, side.account, None)
    assert not ended_by_itself(side.run, side.account, killed)
    assert not ended_by_itself(side.run, replace(side.account, losses=()), side.unattended)
    assert not ended_by_itself(growing.run, growing.account, growing.unattended)
