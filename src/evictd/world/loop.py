"""Plays a world: observe, synchronize, apply the decisions, wait; as the daemon's loop does (`evictd.daemon.housekeeping`).

Time goes from stop to stop. A stop is the next cycle, something that was scheduled, a change of how fast something fills,
the crossing of a limit that the daemon's watch would notice (`watch`), or the end of memory. Between two stops everything is a
straight line, so nothing is missed and a calm minute costs nothing.

A wait ends early as the daemon's does: when a watched limit is crossed, a victim is gone or a collection has ended; a pod that
comes or goes otherwise brings the next cycle forward to a second after the last one.
"""

import gc
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import field, replace
from enum import Enum
from itertools import takewhile

from evictd.core.eviction.calm import pods_needed
from evictd.core.eviction.synchronize import synchronize
from evictd.core.frozen import frozen
from evictd.core.model.config import EvictionConfig
from evictd.core.model.decision import EvictPod, ReclaimNode, ReportConditions, Wait, WithdrawEviction
from evictd.core.model.observation import Observation, Outcomes, Reclaim, ReclaimOutcome, signal_observations
from evictd.core.model.signal import MEMORY_SIGNALS, Filesystem, Signal
from evictd.core.model.state import State, Step
from evictd.core.units.duration import MILLISECOND, SECOND
from evictd.world.api_server import SimulatedApiServer
from evictd.world.behaviours import OF_MEMORY
from evictd.world.kernel import OomKill, settle
from evictd.world.lifecycle import Collected, EndCause, EvictionRefused, Happened, Lifecycle, RanOut, Schedule
from evictd.world.model import DeadContainers, World
from evictd.world.node import SimulatedNode
from evictd.world.observe import WorldObserver
from evictd.world.watch import SimulatedWatch

PODS_INTERVAL = 1 * SECOND
"""The least time between two cycles that only changes of pods ask for (`evictd.daemon.waiter`)."""


class WakeCause(Enum):
    """Why a cycle began."""

    TIME = "time"
    ENDED = "ended"
    """A victim is gone, or a collection has ended."""
    PODS = "pods"
    CROSSED = "crossed"


@frozen
class WorldCycle:
    """One cycle: what was seen and what was decided."""

    at: int
    woken: WakeCause
    observation: Observation
    step: Step


@frozen
class Run:
    """A world that was played to its end."""

    world: World
    config: EvictionConfig
    cycles: tuple[WorldCycle, ...]
    happened: tuple[Happened, ...]
    """The events on the node in order of time."""
    least: Mapping[Signal, int] = field(default_factory=dict)
    """The least amount of each signal that ever was available, also between two cycles; only of a run without thresholds."""
    memory: Mapping[Signal, Sequence[tuple[int, int]]] = field(default_factory=dict)
    """Times and available bytes of each memory signal, a straight line from one to the next; only of a run without thresholds."""
    while_ending: Mapping[Signal, Sequence[tuple[int, int]]] = field(default_factory=dict)
    """Times and available amounts of each signal while evicted pods end, also between two cycles: a straight line from one to the
    next, so the least lies on one of them."""

    @property
    def kills(self) -> list[tuple[int, OomKill]]:
        """The kills for want of memory with their times; a pod's own limit is not the node's."""
        happened = ((each.at, each.event) for each in self.happened)
        return [(at, event) for at, event in happened if isinstance(event, OomKill) and not event.own_limit]

    @property
    def ran_out(self) -> dict[Signal, int]:
        """When first nothing was left of a disk's bytes or inodes, or of the PIDs; those of containerfs are its disk's."""
        found: dict[Signal, int] = {}
        for each in self.happened:
            if isinstance(each.event, RanOut):
                found.setdefault(each.event.signal, each.at)
        return found


def play(
    world: World,
    config: EvictionConfig,
    state: State | None = None,
    *,
    calm: bool = False,
    until_eviction_after: int | None = None,
) -> Run:
    """Play a world to its end, or to its first eviction after a time. The same world and configuration always give the same run.

    With `calm` pods are read only in the cycles in which the daemon reads them (`core.eviction.calm`); without it in each one,
    which decides the same.
    """
    with _without_garbage_collection():
        return _Player(world, config, state or State(), calm=calm).play(until_eviction_after)


@contextmanager
def _without_garbage_collection() -> Iterator[None]:
    """Switch garbage collection off: a run keeps all its cycles, and searching them for garbage takes a third of its time."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def granted_evictions(cycle: WorldCycle, happened: Sequence[Happened]) -> Iterator[EvictPod]:
    """Yield the evictions of a cycle that the API server did not refuse at once; `happened` ends with that cycle."""
    then = takewhile(lambda each: each.at >= cycle.at, reversed(happened))
    refused = {each.event.uid for each in then if isinstance(each.event, EvictionRefused) and each.at == cycle.at}
    return (each for each in cycle.step.decisions if isinstance(each, EvictPod) and each.pod.uid not in refused)


class _Player:
    def __init__(self, world: World, config: EvictionConfig, state: State, *, calm: bool) -> None:
        self._world = world
        self._config = config
        self._state = state
        self._node = SimulatedNode(world)
        self._schedule = Schedule()
        self._lifecycle = Lifecycle(self._node, self._schedule)
        self._api = SimulatedApiServer(world.api_server, config.eviction_timeout)
        self._observer = WorldObserver(self._node, config)
        self._collecting: dict[Filesystem | None, int] = {}
        self._reclaimed: dict[Filesystem | None, tuple[ReclaimOutcome, ...]] = {}
        self._page_cache: ReclaimOutcome | None = None
        self._watch = SimulatedWatch(self._node, self._observer)
        self._least: dict[Signal, int] = {}
        self._memory: dict[Signal, list[tuple[int, int]]] = {}
        self._while_ending: dict[Signal, list[tuple[int, int]]] = {}
        self._evicted: set[str] = set()
        """Uids of the evicted pods that are not gone yet."""
        self._ended = False
        """Whether a collection has ended since the last cycle."""
        self._calm = calm
        self._last: tuple[int, Observation] | None = None
        """The last reading of the pods, and its time."""

    def play(self, until_eviction_after: int | None) -> Run:
        self._lifecycle.begin()
        self._node.changed()
        now, woken, cycles = self._world.begin, WakeCause.TIME, list[WorldCycle]()
        self._settle(now)
        self._bound_growth(now, now)
        self._note_least(now)
        while now <= self._world.duration:
            cycle = self._cycle(now, woken)
            cycles.append(cycle)
            if until_eviction_after is not None and now > until_eviction_after and self._evicts(cycle):
                break
            wait = next(each.nanoseconds for each in cycle.step.decisions if isinstance(each, Wait))
            now, woken = self._wait(now, now + max(wait, MILLISECOND))
        return Run(
            world=self._world,
            config=self._config,
            cycles=tuple(cycles),
            happened=tuple(self._lifecycle.happened),
            least=self._least,
            memory=self._memory,
            while_ending=self._while_ending,
        )

    def _evicts(self, cycle: WorldCycle) -> bool:
        """Whether a cycle evicts a pod, and not only asks for it and is refused."""
        return any(granted_evictions(cycle, self._lifecycle.happened))

    # --- one cycle ----------------------------------------------------------------------------------------------------

    def _cycle(self, now: int, woken: WakeCause) -> WorldCycle:
        observation = self._observe(now, woken)
        step = synchronize(self._state, observation, self._config, now)
        self._state = step.state
        for decision in step.decisions:
            match decision:
                case ReportConditions():
                    self._node.conditions = decision.conditions
                case EvictPod():
                    self._evict(decision, now)
                case WithdrawEviction():
                    self._api.withdraw(decision.pod.uid, now)
                case ReclaimNode():
                    self._reclaim(decision, now)
                case _:
                    pass
        self._note_ending(now)
        self._watch.set_thresholds(step.findings if self._world.watch else (), now, self._stop_time)
        return WorldCycle(at=now, woken=woken, observation=observation, step=step)

    def _observe(self, now: int, woken: WakeCause) -> Observation:
        full = self._observer.observe(now, self._outcomes(), self._stop_time)
        if self._calm and self._last is not None and woken is WakeCause.TIME:
            read_at, last = self._last
            calm = replace(full, pods=last.pods, pod_stats=last.pod_stats, pods_read=False)
            if not pods_needed(self._state, calm, self._config, read_at=read_at, now=now):
                return calm
        self._last = now, full
        return full

    @property
    def _stop_time(self) -> int | None:
        """The longest of the last stops, as the daemon measures it."""
        return max(self._lifecycle.stop_times, default=None)

    def _outcomes(self) -> Outcomes:
        victims = {victim.uid for victim in self._state.in_flight}
        reclaimed = tuple(outcome for each in self._reclaimed.values() for outcome in each)
        answers = self._api.answers
        return Outcomes(
            reclaimed=reclaimed or None,
            collecting=frozenset(device for device in self._collecting if device is not None),
            page_cache=self._page_cache,
            cleaned_up=frozenset(victims & self._lifecycle.gone),
            unanswered=frozenset(victims & self._api.unanswered.keys()),
            answers=tuple(answer for uid in sorted(victims) if (answer := answers.get(uid)) is not None),
        )

    def _evict(self, decision: EvictPod, now: int) -> None:
        running = self._node.pods.get(decision.pod.uid)
        if running is None:
            return
        decision = replace(decision, shortens=False) if decision.shortens else decision
        self._evicted.add(decision.pod.uid)
        if self._api.evict(decision, running.slot, now):
            self._stop(decision, now)
        elif decision.pod.uid not in self._api.unanswered:
            self._evicted.discard(decision.pod.uid)
            self._lifecycle.note(now, EvictionRefused(uid=decision.pod.uid, name=decision.pod.full_name))

    def _stop(self, decision: EvictPod, now: int) -> None:
        running = self._node.pods[decision.pod.uid]
        if self._world.api_server.kubelet:
            self._lifecycle.mark_deleted(running, decision.grace_period_seconds)
        self._lifecycle.stop(running, decision.grace_period_seconds * SECOND, EndCause.EVICTED, now)

    def _reclaim(self, decision: ReclaimNode, now: int) -> None:
        if Reclaim.PAGE_CACHE in decision.actions:
            (self._page_cache,) = collect(self._node, decision)
            return
        self._reclaimed.pop(decision.device, None)
        due = self._collecting[decision.device] = now + self._world.node.collection_time
        used, _ = self._node.disk_used(now, images=True)
        self._schedule.at(due, lambda at: self._collected(decision, used, at))

    def _collected(self, decision: ReclaimNode, used: int, now: int) -> None:
        outcomes = collect(self._node, decision, self._node.disk_used(now, images=True)[0] - used)
        self._collecting.pop(decision.device, None)
        self._reclaimed[decision.device] = outcomes
        self._observer.collect_time = self._world.node.collection_time
        self._ended = True
        freed, removed = sum(each.freed_bytes for each in outcomes), sum(each.removed for each in outcomes)
        self._lifecycle.note(now, Collected(freed_bytes=freed, removed=removed))

    # --- the wait -----------------------------------------------------------------------------------------------------

    def _wait(self, began: int, due: int) -> tuple[int, WakeCause]:
        """Move the time to the next cycle; return its time and why it begins then."""
        now, woken, pods = began, WakeCause.TIME, tuple(self._node.pods)
        while True:
            now = self._advance(now, self._next_stop(now, due))
            if self._ended or self._victim_gone():
                self._ended = False
                return now, WakeCause.ENDED
            if (
                woken is WakeCause.TIME
                and tuple(self._node.pods) != pods
                and (earlier := max(began + PODS_INTERVAL, now)) < due
            ):
                woken, due = WakeCause.PODS, earlier
            if now >= due:
                return now, woken
            if self._watch.crossed(now):
                return now, WakeCause.CROSSED

    def _advance(self, now: int, then: int) -> int:
        self._schedule.run(now)
        self._node.take_rest(now, then)
        self._bound_growth(now, then - 1)  # what a change gives back is held until then
        self._note_least(then - 1)
        self._note_ending(then - 1)
        self._bound_growth(then - 1, then)
        self._schedule.run(then)
        if self._api.unanswered:
            slots = {uid: each.slot for uid, each in self._node.pods.items()}
            for decision in self._api.ask_again(slots, then):
                self._stop(decision, then)
        self._settle(then)
        self._bound_growth(then, then)
        self._note_least(then)
        self._note_ending(then)
        return then

    def _note_least(self, now: int) -> None:
        if self._config.thresholds or now > self._world.duration:
            return
        for signal, seen in signal_observations(self._observer.node_stats(now)).items():
            available = seen.available.value()
            self._least[signal] = min(self._least.get(signal, available), available)
            if signal in MEMORY_SIGNALS:
                self._memory.setdefault(signal, []).append((now, available))

    def _note_ending(self, now: int) -> None:
        self._evicted -= self._lifecycle.gone
        if self._evicted:
            for signal, seen in signal_observations(self._observer.node_stats(now)).items():
                self._while_ending.setdefault(signal, []).append((now, seen.available.value()))

    def _bound_growth(self, since: int, now: int) -> None:
        for at, signal in self._node.bound_growth(since, now):
            if at <= self._world.duration:
                self._lifecycle.note(at, RanOut(signal=signal))

    def _settle(self, now: int) -> None:
        for kill in settle(self._node, now):
            self._lifecycle.note(now, kill)

    def _victim_gone(self) -> bool:
        gone = self._lifecycle.gone
        return any(victim.gone_at is None and victim.uid in gone for victim in self._state.in_flight)

    def _next_stop(self, now: int, due: int) -> int:
        stops = [due, self._schedule.next, self._node.next_change(now), *self._watch.next_times(now)]
        memory, growth = self._node.memory(now), self._node.growth(OF_MEMORY, now)
        if growth > 0:
            spec = self._world.node
            distances = [spec.memory - spec.unusable_memory + spec.swap - memory.anonymous]
            if spec.allocatable_memory is not None:
                distances.append(spec.allocatable_memory - memory.pods)
            stops += [now + each * SECOND // growth + 1 for each in distances if each >= 0]
        return min(due, max(min(each for each in stops if each is not None), now + MILLISECOND))


def collect(node: SimulatedNode, decision: ReclaimNode, grown: int = 0) -> tuple[ReclaimOutcome, ...]:
    """Carry out a collection as the daemon's collectors do; return one outcome for each action.

    `grown` is what was taken from the disk of the images since the collection began: enough images go for that as well.
    """
    return tuple(_collected(node, action, decision, grown) for action in decision.actions)


def _collected(node: SimulatedNode, action: Reclaim, decision: ReclaimNode, grown: int) -> ReclaimOutcome:
    freed = removed = 0
    if action is Reclaim.CONTAINERS:
        freed, removed = node.dead.size, int(node.dead != DeadContainers())
        node.dead = DeadContainers()
    elif action is Reclaim.IMAGES:
        for image in node.unused_images():
            if decision.wanted_bytes is not None and freed - grown >= decision.wanted_bytes:
                break
            del node.images[image.name]
            freed, removed = freed + image.size, removed + 1
    # Nothing else is freed: a simulated pod has one log, and reads its file again at once.
    return ReclaimOutcome(action=action, freed_bytes=freed, removed=removed, device=decision.device)
