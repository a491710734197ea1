"""Finds the pods that an observer who knows every byte would end: the smallest set that relieves the node to the world's end.

The observer knows what every pod and the host will hold until the end of the world. It first collects what no pod uses. Where a
threshold is due all the same, it ends pods once, at that time, and keeps away their successors and those that come later. The
kernel ends a container at the memory limit of its pod. A set relieves the node if no threshold is due from then until the world
ends, and none that is met at the end becomes due when its grace period is over; what comes after that is not known, so a longer
world can need a larger set. Of the smallest such sets it takes one with culprits (`WorldPod.is_culprit`) where there is one,
because a culprit that stays takes that too; else the first in documented order: the order in which `evictd.core.eviction.rank`
puts the pods at that time. Where no set suffices, because the host or a protected pod is the cause, the observer ends nothing:
the end of a pod would not help.

A pod within its request that is no culprit stays where its priority is above that of all that exceed theirs, if the others
suffice.

Sets of one pod are all tried, sets of two of the pods that hold most. Larger ones are made by adding the largest holders until
the node is relieved, and dropping again each one that was not needed: the smallest set up to pods that are almost as large as
others.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import combinations, islice

from evictd.core.eviction.assess import configured_thresholds
from evictd.core.eviction.rank import rank
from evictd.core.eviction.reclaim import layout_of
from evictd.core.frozen import frozen
from evictd.core.model.config import EvictionConfig
from evictd.core.model.finding import RankedPod, Standing
from evictd.core.model.observation import Outcomes, signal_observations
from evictd.core.model.signal import DISK_SIGNALS, SIGNALS, Filesystem, Resource, Signal
from evictd.core.model.threshold import Threshold, ThresholdValue, thresholds_met
from evictd.core.units.duration import MILLISECOND
from evictd.core.units.quantity import of_bytes
from evictd.world.behaviours import OF_MEMORY, Exits, Usage
from evictd.world.kernel import kill_at_own_limit, no_memory_left
from evictd.world.model import DeadContainers, World, WorldPod
from evictd.world.node import SimulatedNode, SimulatedPod
from evictd.world.observe import WorldObserver
from evictd.world.process import Process

POINTS = 120
"""At how many times the node is examined."""
CHANGES = 20
"""Number of changes of each pod's growth that are examined."""
CROSSING = 100 * MILLISECOND
"""Precision of the time of the crossing."""
LARGEST = 14
"""Number of holders of which pairs are tried."""

_END_OF_MEMORY = Threshold(signal=Signal.MEMORY_AVAILABLE, value=ThresholdValue(quantity=of_bytes(0)))
"""Met when the kernel kills. It counts for a configuration without a threshold for memory, whose pods are killed all the same."""

OF_RESOURCE: dict[Resource, tuple[Usage, ...]] = {
    Resource.MEMORY: OF_MEMORY,
    Resource.SWAP: OF_MEMORY,
    Resource.PIDS: (Usage.PROCESSES,),
    Resource.EPHEMERAL_STORAGE: (Usage.LAYER, Usage.LOGS, Usage.VOLUME, Usage.UNLINKED),
    Resource.INODES: (Usage.LAYER_INODES, Usage.VOLUME_INODES),
    Resource.IO: (),
}
"""Usages that a pod's end gives back, by resource."""


@frozen
class IdealEnds:
    """The observer's choice."""

    slots: frozenset[str] = frozenset()
    """Full names of the pods that it ends."""
    crossed_at: int | None = None
    """Time at which a threshold is met although everything unused was collected, or the kernel kills; `None`: never."""
    memory_ended: bool = False
    """Whether no threshold is met then, and the kernel kills."""
    spares: bool = False
    """Whether pods of higher priority within their requests were left out: fewer with one of them may suffice too."""
    relieves: bool = True
    """Whether that relieves the node until the world ends; where not, no set of evictable pods would."""


def protected_pods(world: World, config: EvictionConfig) -> frozenset[str]:
    """Return the full names of the pods that are never evicted."""
    own = world.own_pods | config.protected_pods
    return frozenset(each.pod.full_name for each in world.pods if each.pod.critical or each.pod.uid in own)


def ideal_ends(world: World, config: EvictionConfig, signals: Collection[Signal] = tuple(Signal)) -> IdealEnds:
    """Return the smallest set of pods whose end relieves these signals until the world ends."""
    times = _times(world)
    crossing = _crossing(world, config, times, signals)
    if crossing is None:
        return IdealEnds()
    crossed_at, node, due = crossing
    ranking = _ranking(node, due[0], config, crossed_at)
    order = [*(row.pod.full_name for row in ranking), *_later_pods(world, config, crossed_at)]
    relieves, memory_ended = relief(world, config, crossed_at, signals), due == (_END_OF_MEMORY,)
    if not relieves(order):
        return IdealEnds(crossed_at=crossed_at, memory_ended=memory_ended, relieves=False)
    culprits = {each.pod.full_name for each in world.pods if each.is_culprit}
    spared = {row.pod.full_name for row in _above_all_that_exceed(ranking)} - culprits
    rest = [each for each in order if each not in spared]
    spares = bool(spared) and relieves(rest)
    order = rest if spares else order
    causes_first = sorted(order, key=lambda each: each not in culprits)
    largest = _largest(world, order, due[0])
    slots = _smallest(causes_first, largest, relieves)
    return IdealEnds(slots=slots, crossed_at=crossed_at, memory_ended=memory_ended, spares=spares and len(slots) > 1)


def on_its_disk(signal: Signal, world: World) -> Signal:
    """Return the signal of the same amount on the disk that the filesystem lies on; another signal as it is."""
    spec, node = SIGNALS[signal], world.node
    if spec.filesystem is None:
        return signal
    images = spec.filesystem is Filesystem.IMAGEFS or (
        spec.filesystem is Filesystem.CONTAINERFS and not node.split_layout
    )
    disk = Filesystem.IMAGEFS if images and node.imagefs is not None else Filesystem.NODEFS
    return DISK_SIGNALS[disk][spec.resource is Resource.INODES]


def signals_of_supply(signal: Signal, world: World) -> frozenset[Signal]:
    """Return the signals of what a signal measures: those of one disk, or those of memory and swap, are one supply."""

    def supply(of: Signal) -> Signal | tuple[Usage, ...]:
        return OF_RESOURCE[SIGNALS[of].resource] if SIGNALS[of].filesystem is None else on_its_disk(of, world)

    return frozenset(each for each in Signal if supply(each) == supply(signal))


def relief(
    world: World, config: EvictionConfig, crossed_at: int, signals: Collection[Signal] = tuple(Signal)
) -> Callable[[Iterable[str]], bool]:
    """Return a test whether the end of pods at the crossing relieves these signals until the world ends."""
    rest = [crossed_at, *(at for at in _times(world) if at > crossed_at), *_times_of_grace(world, config)]

    def relieves(slots: Iterable[str]) -> bool:
        played = _play(world, config, frozenset(slots), crossed_at, rest, signals=signals)
        return not any(_met_in_time(each, at, world) for at, _, found in played for each in found)

    return relieves


def _times(world: World) -> list[int]:
    """Return the times at which the node is examined: evenly spaced, and around each change of a growth."""
    length = world.duration - world.begin
    times = {world.begin + length * number // POINTS for number in range(POINTS + 1)}
    for pod in map(_running, world.pods):
        changes = kill_at_own_limit(pod, max(pod.spec.start, world.begin), world.duration)
        times |= {at - before for at in islice(changes, CHANGES) for before in (1, 0)}
    holders = [*((each.behaviours, each.start) for each in world.pods), *((each.behaviours, 0) for each in world.host)]
    for process in (Process(behaviours, start) for behaviours, start in holders):
        now = world.begin
        for _ in range(CHANGES):
            change = process.next_change(now)
            if change is None or change > world.duration:
                break
            times |= {change - 1, change}
            now = change
    return sorted(at for at in times if world.begin <= at <= world.duration)


def _times_of_grace(world: World, config: EvictionConfig) -> list[int]:
    """Return the times after the end until the longest grace period of a threshold that is met at the end is over."""
    longest = max((each.grace_period for each in config.thresholds), default=0)
    after = replace(world, begin=world.duration, duration=world.duration + longest)
    ends = {world.duration + each.grace_period for each in config.thresholds}
    return sorted(at for at in {*_times(after), *ends} if at > world.duration) if longest else []


def _met_in_time(due: Threshold, at: int, world: World) -> bool:
    """Whether a threshold that is due was met before the end: what is met only after it is not known."""
    return at - due.grace_period <= world.duration


def _crossing(
    world: World, config: EvictionConfig, times: Sequence[int], signals: Collection[Signal]
) -> tuple[int, SimulatedNode, tuple[Threshold, ...]] | None:
    """Return when a threshold is due first, the node then, and which ones are; to a tenth of a second where it is a hard one."""
    last = times[0]
    for at, node, due in _play(world, config, frozenset(), None, times, signals=signals):
        if not due:
            last = at
            continue
        low, found = last, (at, node, due)
        while due[0].grace_period == 0 and found[0] - low > CROSSING and found[0] > times[0]:
            middle = (low + found[0]) // 2
            ((_, then, met),) = _play(world, config, frozenset(), None, (middle,), signals=signals)
            if met:
                found = middle, then, met
            else:
                low = middle
        return found
    return None


def _smallest(
    order: Sequence[str], largest: Sequence[str], relieves: Callable[[Iterable[str]], bool]
) -> frozenset[str]:
    for one in order:
        if relieves((one,)):
            return frozenset((one,))
    near = [each for each in order if each in set(largest[:LARGEST])]
    for pair in combinations(near, 2):
        if relieves(pair):
            return frozenset(pair)
    chosen: list[str] = []
    for each in largest:
        chosen.append(each)
        if relieves(chosen):
            break
    for each in sorted(chosen, key=order.index, reverse=True):
        without = [other for other in chosen if other != each]
        if relieves(without):
            chosen = without
    return frozenset(chosen)


def _largest(world: World, order: Iterable[str], threshold: Threshold) -> list[str]:
    """Sort pods by the most that they ever hold of what is short, the largest first."""
    kinds = OF_RESOURCE[SIGNALS[threshold.signal].resource]
    known = {each.pod.full_name: each for each in world.pods}

    def most(slot: str) -> int:
        process = Process(known[slot].behaviours, known[slot].start)
        held = (process.held(world.duration * number // 10) for number in range(11))
        return max(sum(each.get(kind, 0) for kind in kinds) for each in held)

    return sorted(order, key=most, reverse=True)


def _ranking(node: SimulatedNode, threshold: Threshold, config: EvictionConfig, now: int) -> list[RankedPod]:
    """Return the pods that may be evicted, in documented order."""
    observation = WorldObserver(node, config).observe(now, Outcomes(), None)
    layout = layout_of(observation.filesystems)
    rows = rank(threshold.signal, observation.pods, observation.pod_stats, layout, config.policy)
    protected = protected_pods(node.world, config)
    return [row for row in rows if row.pod.full_name not in protected]


def _above_all_that_exceed(ranking: Iterable[RankedPod]) -> Iterator[RankedPod]:
    """Yield the pods within their requests whose priority is above that of each pod that exceeds its own."""
    rows = list(ranking)
    highest = max((row.priority for row in rows if row.standing is Standing.EXCEEDS), default=None)
    yield from (
        row for row in rows if highest is not None and row.standing is Standing.WITHIN and row.priority > highest
    )


def _later_pods(world: World, config: EvictionConfig, after: int) -> list[str]:
    """Return the full names of the pods that come after a time and may be evicted: the observer keeps them away."""
    protected = protected_pods(world, config)
    later = sorted((each for each in world.pods if each.start > after), key=lambda each: each.start)
    return [each.pod.full_name for each in later if each.pod.full_name not in protected]


def _play(
    world: World,
    config: EvictionConfig,
    ended: frozenset[str],
    end: int | None,
    times: Sequence[int],
    *,
    signals: Collection[Signal],
) -> Iterator[tuple[int, SimulatedNode, tuple[Threshold, ...]]]:
    """Yield for each time the node and the thresholds on these signals that are due; pods in `ended` are gone at `end`.

    A threshold with a grace period is due once it was met throughout that period.
    """
    node = SimulatedNode(world)
    node.dead = DeadContainers()
    observer = WorldObserver(node, config)
    thresholds = configured_thresholds(config, node.filesystems)
    last = times[0] if times else 0
    known: set[str] | None = None
    met_since: dict[Threshold, int] = {}
    settled: dict[str, int] = {}
    for now in times:
        present = [
            each
            for each in world.pods
            if each.start <= now < _end_of(each) and not (end is not None and each.pod.full_name in ended)
        ]
        if (uids := {each.pod.uid for each in present}) != known:  # the first time too, also where no pod is left
            known = uids
            node.pods = {each.pod.uid: node.pods.get(each.pod.uid) or _running(each) for each in present}
            node.left = _left(world, ended, end, now)
            used = {each.image for each in present}
            node.images = {each.name: each for each in world.node.images if each.name in used or each.pinned}
            node.changed()
        for pod in node.moving:
            since = max(settled.get(pod.pod.uid, pod.spec.start), world.begin)
            settled[pod.pod.uid] = max(kill_at_own_limit(pod, since, now), default=since)
        node.take_rest(last, now)
        last = now
        met = thresholds_met(thresholds, signal_observations(observer.node_stats(now)))
        if no_memory_left(node, now):
            met = (*met, _END_OF_MEMORY)
        met_since = {each: met_since.get(each, now) for each in met if each.signal in signals}
        yield now, node, tuple(each for each, since in met_since.items() if now - since >= each.grace_period)


def _running(spec: WorldPod) -> SimulatedPod:
    process = Process(spec.behaviours, spec.start)
    return SimulatedPod(spec=spec, pod=spec.pod, slot=spec.pod.full_name, process=process)


def _end_of(spec: WorldPod) -> int:
    """Return when a pod ends by itself."""
    exits = [spec.start + each.after for each in spec.behaviours if isinstance(each, Exits)]
    deleted = () if spec.deleted_at is None else (spec.deleted_at,)
    return min((*exits, *deleted), default=2**63)


def _left(world: World, ended: frozenset[str], end: int | None, now: int) -> dict[Usage, int]:
    """Return what the pods that are gone have left on the node's disk, ended by the observer or by themselves."""
    kinds = (Usage.HOST_PATH, Usage.HOST_PATH_INODES)
    held = []
    for each in world.pods:
        own = _end_of(each)
        at = own if end is None or each.pod.full_name not in ended else min(own, end)
        if each.start <= at <= now:
            held.append(Process(each.behaviours, each.start).held(at))
    return {kind: sum(each.get(kind, 0) for each in held) for kind in kinds}
