"""Plays a world on beyond its end, to find when its thresholds are met next and the pod that is evicted next."""

from collections.abc import Iterator, Mapping
from dataclasses import field, replace

from evictd.core.frozen import frozen
from evictd.core.model.config import EvictionConfig
from evictd.core.model.signal import Signal
from evictd.core.model.threshold import Origin
from evictd.world.behaviours import takes_without_bound
from evictd.world.lifecycle import EndCause, PodEnd
from evictd.world.loop import Run, granted_evictions, play
from evictd.world.model import World
from evictd.world.tested import cycles_with_thresholds


@frozen
class PlayedOn:
    """The first eviction after the end of a world that was played on; `pod` is empty where there is none until then."""

    until: int
    at: int = 0
    pod: str = ""
    again: bool = False
    """Whether pods were evicted before the world's own end."""
    stays: tuple[str, ...] = ()
    """The pods that take more and more where the evicted one does not."""
    crossed: Mapping[Signal, int] = field(default_factory=dict)
    """When a threshold of each signal began to be met first after the world's own end, up to that eviction."""
    short: Signal | None = None
    """The first of these; of several at one time one that a configuration names, and no copy of it."""
    killed: str = ""
    """What the kernel killed first for want of memory after the world's own end and before that eviction."""
    killed_at: int = 0
    ran_out: Mapping[Signal, int] = field(default_factory=dict)
    """When nothing was left of a resource first after the world's own end and before that eviction."""

    @property
    def end(self) -> int:
        """Time of the first eviction, or where there is none the time until which it was played on."""
        return self.at if self.pod else self.until

    @property
    def calm(self) -> bool:
        """Whether nothing happens until then: no threshold begins to be met, nothing runs out, is killed or evicted."""
        return not (self.pod or self.crossed or self.killed or self.ran_out)


def goes_on(world: World) -> bool:
    """Whether something in a world takes more and more, so that what is read until its end does not say what comes."""
    behaviours = (*(each.behaviours for each in world.pods), *(each.behaviours for each in world.host))
    return any(map(takes_without_bound, behaviours))


def play_on(world: World, config: EvictionConfig, until: int) -> PlayedOn:
    """Play a world from its beginning until its first eviction after its end, or until a later time."""
    run = play(replace(world, duration=until), config, calm=True, until_eviction_after=world.duration)
    last = run.cycles[-1]
    ended = {each.event.slot for each in run.happened if isinstance(each.event, PodEnd)}
    again = any(each.at <= world.duration for each in run.happened if _is_eviction(each.event))
    granted = granted_evictions(last, run.happened) if last.at > world.duration else iter(())
    evicted = next((each.pod.full_name for each in granted), "")
    growing = [each.pod.full_name for each in world.pods if takes_without_bound(each.behaviours)]
    there = [each for each in growing if each not in ended]
    crossed = dict(_crossed(run, world.duration))
    named = {each.signal for each in config.thresholds if each.origin is not Origin.DERIVED}
    short = min(crossed, key=lambda each: (crossed[each], each not in named, each.value), default=None)
    killed_at, killed = next(((at, each.name) for at, each in run.kills if at > world.duration), (0, ""))
    return PlayedOn(
        until=until,
        at=last.at if evicted else 0,
        pod=evicted,
        again=again,
        stays=() if not evicted or evicted in growing else tuple(there),
        crossed=crossed,
        short=short,
        killed=killed,
        killed_at=killed_at,
        ran_out={signal: at for signal, at in run.ran_out.items() if at > world.duration},
    )


def _is_eviction(event: object) -> bool:
    return isinstance(event, PodEnd) and event.cause is EndCause.EVICTED


def _crossed(run: Run, after: int) -> Iterator[tuple[Signal, int]]:
    """Yield the signals of which a threshold began to be met after a time, each once."""
    before, seen = set[Signal](), set[Signal]()
    for cycle, tested in cycles_with_thresholds(run):
        met = {each.threshold.signal for each in tested if each.met}
        if cycle.at > after:
            for each in sorted(met - before - seen, key=lambda each: each.value):
                seen.add(each)
                yield each, cycle.at
        before = met
