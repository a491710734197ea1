"""Plays worlds for the tests of what is shown of them."""

from collections.abc import Mapping

from evictd.core.model.config import Policy
from evictd.render.world_outcome import PlayedWorld
from evictd.world.account import account_of
from evictd.world.loop import play
from evictd.world.model import World
from tests.playbook import config
from tests.world.worlds import HARD


def played(of: World, policy: Policy = Policy.STANDARD, hard: Mapping[str, str] = HARD) -> PlayedWorld:
    """A world that was played."""
    run = play(of, config(hard=dict(hard), policy=policy))
    unattended = play(of, config())
    return PlayedWorld(name=f"policy {policy.value}", run=run, account=account_of(run), unattended=unattended)
