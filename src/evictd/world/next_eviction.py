"""Plays a world on beyond its end, to find the pod that is evicted first."""

from dataclasses import replace

from evictd.core.frozen import frozen
from evictd.core.model.config import EvictionConfig
from evictd.core.model.decision import EvictPod
from evictd.world.loop import play
from evictd.world.model import World


@frozen
class PlayedOn:
    """The first eviction of a world that was played on; `pod` is empty where there is none until then."""

    until: int
    at: int = 0
    pod: str = ""


def play_on(world: World, config: EvictionConfig, until: int) -> PlayedOn:
    """Play a world from its beginning until a later time, and return its first eviction."""
    run = play(replace(world, duration=until), config)
    first = next(
        (
            (cycle.at, each.pod.full_name)
            for cycle in run.cycles
            for each in cycle.step.decisions
            if isinstance(each, EvictPod)
        ),
        None,
    )
    return PlayedOn(until=until) if first is None else PlayedOn(until=until, at=first[0], pod=first[1])
