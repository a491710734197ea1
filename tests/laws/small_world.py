"""A world so small that everything that can happen in it is tried: two pods, two thresholds, collectors, refusals, faults.

A `Place` is what the world and the core remember, as of the next cycle. Its times are relative to that cycle, and cut off where
they no longer matter, so that the same situation at another time is the same place, and the walk ends.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any

from evictd.core.eviction.accounts.collecting import RECLAIM_TIMEOUT
from evictd.core.eviction.accounts.freshness import MEASUREMENT_TIMEOUT
from evictd.core.eviction.accounts.release import RELEASE_TIMEOUT
from evictd.core.eviction.refusals.backoff import HARD_BYPASS
from evictd.core.eviction.synchronize import synchronize
from evictd.core.model.config import EvictionConfig
from evictd.core.model.decision import EvictPod, ReclaimNode
from evictd.core.model.observation import (
    EvictionAnswer,
    EvictionAnswerKind,
    Filesystems,
    Observation,
    Outcomes,
    Reclaim,
    ReclaimOutcome,
)
from evictd.core.model.signal import Filesystem, Signal
from evictd.core.model.state import Backoff, State, Step
from evictd.core.model.stats import NodeStats, PodStats
from evictd.core.units.duration import SECOND
from tests.playbook import measured_at, node, pod, usage

LIMIT = 100
PODS = {"hog": pod("hog", grace=60), "other": pod("other", grace=60)}
USES = {"hog": 60, "other": 30}
"""Of memory and of the disk alike; both are 40 short, so the hog alone relieves them and the other does not."""
AVAILABLE = 60
PAST = RECLAIM_TIMEOUT + MEASUREMENT_TIMEOUT
"""A time before any crossing that still matters."""
ABSENCE = 90 * SECOND
EVERYWHERE = frozenset[str](PODS)
NONE = frozenset[str]()


@dataclass(frozen=True)
class Move:
    """What happens before the next cycle."""

    dies: frozenset[str] = NONE
    """The victims that end, of those that are leaving."""
    shows: bool = False
    """Whether the filesystem shows the bytes of all pods that are gone; until then they stay late."""
    ends: bool = False
    """Whether collectors end."""
    refuses: bool = False
    """A budget refuses the evictions whose grace period was not shortened."""
    restarts: bool = False
    """evictd is restarted, so its collectors are gone."""
    unread: str = ""
    """The signal that is not read."""
    unmeasured: str = ""
    """The pod of which nothing is measured."""
    unwalked: bool = False
    """The measurements are all older than any crossing."""
    absent: bool = False
    """evictd has not looked for `ABSENCE`, and nothing that it waits for has happened meanwhile."""


FAIR = Move(dies=EVERYWHERE, shows=True, ends=True)
COURSES = tuple(
    Move(dies=frozenset(dies), shows=shows, ends=ends)
    for dies in ((), ("hog",), ("other",), PODS)
    for shows in (False, True)
    for ends in (False, True)
)
_FAULTS: Mapping[str, tuple[dict[str, Any], ...]] = {
    "refusals": ({"refuses": True},),
    "restarts": ({"restarts": True},),
    "unread": ({"unread": "memory"}, {"unread": "disk"}),
    "unmeasured": ({"unmeasured": "hog"}, {"unmeasured": "other"}),
    "unwalked": ({"unwalked": True},),
}
FAULTS: Mapping[str, tuple[Move, ...]] = {
    name: tuple(dict.fromkeys((*COURSES, *(replace(course, **change) for change in changes for course in COURSES))))
    for name, changes in (
        *_FAULTS.items(),
        ("all faults", tuple(each for some in _FAULTS.values() for each in some)),
        ("absences", ({"absent": True}, {"unmeasured": "hog"})),  # the other pod goes first, which does not suffice
    )
}
"""What may happen in a cycle of a world: the course of things, with or without a fault."""


@dataclass(frozen=True)
class World:
    """The rules of a world: what is configured, how its disks lie, how long a cycle takes, and what may go wrong."""

    name: str
    config: EvictionConfig
    layout: Filesystems
    elapsed: int
    """Between two cycles."""
    fault: str
    """Of `FAULTS`."""


@dataclass(frozen=True)
class Place:
    """The world, and what the core remembers of it."""

    state: State = field(default_factory=State)
    """With its times as of the next cycle, at the time 0."""
    alive: frozenset[str] = EVERYWHERE
    unshown: frozenset[str] = NONE
    """Pods that are gone and whose bytes the filesystem does not show yet."""
    working: frozenset[Filesystem] = frozenset()
    """The devices that collectors are at work for."""
    collected: frozenset[Filesystem] = frozenset()
    """The devices that were collected since they are short, since the last victim was gone, and not in vain by a restart."""

    @property
    def key(self) -> object:
        """What tells two places apart: all that a later decision may depend on."""
        state = self.state
        return (
            self.alive,
            self.unshown,
            self.working,
            self.collected,
            tuple(
                (
                    v.uid,
                    v.cause,
                    v.until,
                    v.gone_at,
                    v.grace_period_seconds,
                    *v.owed.values(),
                    v.available_before.get(DISK),
                )
                for v in state.in_flight
            ),
            tuple((device, c.begun, c.until, c.ended_at) for device, c in state.collections.items()),
            tuple((uid, b.first_at, b.last_at, b.until, b.held_until) for uid, b in state.backoff.budgets.items()),
            tuple((t.signal, t.grace_period, at) for t, at in state.thresholds_first_observed_at.items()),
            tuple((t.signal, t.grace_period) for t in state.thresholds_met),
            state.started_at,
        )


DISK = Signal.NODEFS_AVAILABLE


@dataclass(frozen=True)
class Passage:
    """One cycle: from a place, by a move, to a place."""

    before: Place
    observation: Observation
    step: Step
    after: Place
    collected: frozenset[Filesystem]
    """The devices on which no collection may be begun."""
    absent: bool
    """Whether evictd had not looked for `ABSENCE`."""

    @property
    def chosen(self) -> tuple[EvictPod, ...]:
        """The pods evicted for pressure."""
        return tuple(d for d in self.step.decisions if isinstance(d, EvictPod) and not d.shortens)

    @property
    def rounds(self) -> tuple[Filesystem, ...]:
        """The devices on which a collection was begun."""
        return tuple(d.device for d in self.step.decisions if isinstance(d, ReclaimNode) and d.device is not None)


def passages(place: Place, world: World) -> Iterator[Passage]:
    """Every cycle that may follow, but those that differ from another one by nothing."""
    leaving = frozenset(victim.uid for victim in place.state.in_flight if victim.gone_at is None)
    for move in FAULTS[world.fault]:
        in_vain = (
            not move.dies <= leaving
            or (move.shows and not (place.unshown or move.dies))
            or (move.ends and not place.working)
            or (move.refuses and not leaving - move.dies)
            or (move.restarts and (move.ends or not place.working))
            or (move.unmeasured != "" and move.unmeasured not in place.alive - move.dies)
        )
        if not in_vain:
            yield passage(place, move, world, world.elapsed)


def passage(place: Place, move: Move, world: World, elapsed: int) -> Passage:
    """One cycle at the time 0; the next one follows after `elapsed`."""
    victims = {victim.uid: victim for victim in place.state.in_flight if victim.gone_at is None}
    dead = frozenset(victims) & move.dies
    refused = NONE
    if move.refuses:
        refused = frozenset(uid for uid, v in victims.items() if v.grace_period_seconds > 1) - dead
    alive = place.alive - dead
    unshown = NONE if move.shows else place.unshown | dead
    working = frozenset[Filesystem]() if move.ends or move.restarts else place.working
    ended = place.working if move.ends else frozenset[Filesystem]()
    gone = EVERYWHERE - alive
    disk = AVAILABLE + sum(USES[name] for name in gone - unshown)
    anew = dead or (disk >= LIMIT and move.unread != "disk")
    collected = frozenset[Filesystem]() if anew else place.collected - (place.working if move.restarts else frozenset())
    observation = Observation(
        node=_node(
            None if move.unread == "memory" else AVAILABLE + sum(USES[name] for name in gone),
            None if move.unread == "disk" else disk,
        ),
        pods=tuple(PODS[name] for name in sorted(alive)),
        pod_stats=_stats(alive - {move.unmeasured}, -PAST if move.unwalked else 0),
        filesystems=world.layout,
        outcomes=Outcomes(
            reclaimed=tuple(ReclaimOutcome(action=Reclaim.CONTAINERS, device=each) for each in sorted(ended, key=str))
            or None,
            collecting=working,
            cleaned_up=gone,
            answers=tuple(EvictionAnswer(uid=uid, kind=EvictionAnswerKind.REFUSED, at=0) for uid in sorted(refused)),
        ),
    )
    state = absent(place.state) if move.absent else place.state
    step = synchronize(state, observation, world.config, 0)
    begun = frozenset(d.device for d in step.decisions if isinstance(d, ReclaimNode) and d.device is not None)
    measured = world.fault not in {"unwalked", "all faults"}
    after = Place(
        state=shifted(step.state, elapsed, measured=measured),
        alive=alive,
        unshown=unshown,
        working=working | begun,
        collected=collected | begun,
    )
    return Passage(
        before=place, observation=observation, step=step, after=after, collected=collected, absent=move.absent
    )


@lru_cache(maxsize=64)
def _node(memory: int | None, disk: int | None) -> NodeStats:
    return node(
        memory=None if memory is None else f"{memory} of 1000",
        nodefs=None if disk is None else f"{disk} of 1000",
        imagefs="900 of 1000",
    )


@lru_cache(maxsize=64)
def _stats(measured: frozenset[str], at: int) -> Mapping[str, PodStats]:
    found = {
        name: usage(PODS[name], memory=str(USES[name]), logs=str(USES[name]), inodes=0) for name in sorted(measured)
    }
    return {name: replace(measured_at(stats, at), time=0) for name, stats in found.items()}


# --- relative time ----------------------------------------------------------------------------------------------------


def shifted(state: State, elapsed: int, *, measured: bool) -> State:
    """Return the state with its times as of a later present; times that are over for good are all the same.

    `measured`: every pod is measured in every cycle, so that it does not matter when a threshold was crossed. No collector frees
    anything here, so nothing is waited for once a collection has ended. Conditions decide nothing. What is remembered of
    measurements and effects is left out: the laws about outcomes are held over whole worlds (`test_outcomes`).
    """
    crossing = 1 if measured else MEASUREMENT_TIMEOUT

    def of(time: int, over: int = 0) -> int:
        return max(time - elapsed, -over)

    budgets = state.backoff.budgets
    order = sorted({refusal.last_at for refusal in budgets.values()})
    return replace(
        state,
        in_flight=tuple(
            replace(
                v,
                since=0,
                until=of(v.until),
                gone_at=None if v.gone_at is None else of(v.gone_at, RELEASE_TIMEOUT),
            )
            for v in state.in_flight
        ),
        collections={
            device: replace(
                c,
                begun=of(c.begun, crossing),
                until=of(c.until) if c.ended_at is None else 0,
                ended_at=None if c.ended_at is None else 0,
            )
            for device, c in state.collections.items()
        },
        backoff=Backoff(
            budgets={
                uid: replace(
                    b,
                    first_at=of(b.first_at, HARD_BYPASS),
                    last_at=order.index(b.last_at) - len(order),
                    until=of(b.until),
                    held_until=of(b.held_until),
                )
                for uid, b in budgets.items()
            }
        ),
        thresholds_first_observed_at={
            t: of(at, max(crossing, t.grace_period)) for t, at in state.thresholds_first_observed_at.items()
        },
        node_conditions_last_observed_at={},
        last_seen={},
        holdings={},
        crossings={},
        noticed={},
        effects={},
        pauses={},
        clear_since={},
        once_clear=(),
        last_cycle_at=-elapsed,
        started_at=None if state.started_at is None else of(state.started_at, crossing),
    )


def absent(state: State) -> State:
    """Return the state as `ABSENCE` later; times that the core may move are not cut off."""

    def of(time: int | None) -> int | None:
        return None if time is None else time - ABSENCE

    assert state.last_cycle_at is not None or not (state.in_flight or state.collections)
    return replace(
        shifted(state, ABSENCE, measured=False),
        in_flight=tuple(replace(v, until=v.until - ABSENCE, gone_at=of(v.gone_at)) for v in state.in_flight),
        collections={
            device: replace(c, begun=c.begun - ABSENCE, until=c.until - ABSENCE, ended_at=of(c.ended_at))
            for device, c in state.collections.items()
        },
        thresholds_first_observed_at={t: at - ABSENCE for t, at in state.thresholds_first_observed_at.items()},
        last_cycle_at=of(state.last_cycle_at),
    )
