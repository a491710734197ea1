"""Plays a world on beyond its end, to find when its thresholds are met first and the pod that is evicted first."""

from collections.abc import Mapping
from dataclasses import field, replace

from evictd.core.frozen import frozen
from evictd.core.model.config import EvictionConfig
from evictd.core.model.decision import EvictPod
from evictd.core.model.finding import ThresholdFinding
from evictd.core.model.signal import Signal
from evictd.world.behaviours import takes_without_bound
from evictd.world.loop import play
from evictd.world.model import World


@frozen
class PlayedOn:
    """The first eviction of a world that was played on; `pod` is empty where there is none until then."""

    until: int
    at: int = 0
    pod: str = ""
    stays: tuple[str, ...] = ()
    """The pods that take more and more where the evicted one does not."""
    crossed: Mapping[Signal, int] = field(default_factory=dict)
    """When a threshold of each signal was met first after the world's own end, up to the first eviction."""

    @property
    def end(self) -> int:
        """Time of the first eviction, or where there is none the time until which it was played on."""
        return self.at if self.pod else self.until


def goes_on(world: World) -> bool:
    """Whether something in a world takes more and more, so that what is read until its end does not say what comes."""
    behaviours = (*(each.behaviours for each in world.pods), *(each.behaviours for each in world.host))
    return any(map(takes_without_bound, behaviours))


def play_on(world: World, config: EvictionConfig, until: int) -> PlayedOn:
    """Play a world from its beginning until its first eviction, or until a later time."""
    run = play(replace(world, duration=until), config, calm=True, until_eviction=True)
    crossed: dict[Signal, int] = {}
    for cycle in run.cycles:
        for each in cycle.step.findings:
            if isinstance(each, ThresholdFinding) and each.met and cycle.at > world.duration:
                crossed.setdefault(each.threshold.signal, cycle.at)
    last = run.cycles[-1]
    evicted = next((each.pod.full_name for each in last.step.decisions if isinstance(each, EvictPod)), "")
    growing = [each.pod.full_name for each in world.pods if takes_without_bound(each.behaviours)]
    stays = () if not evicted or evicted in growing else tuple(growing)
    return PlayedOn(until=until, at=last.at if evicted else 0, pod=evicted, stays=stays, crossed=crossed)
