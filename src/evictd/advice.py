"""Finds the thresholds and reservations that would have been early enough and no earlier, from what nodes recorded.

**Early enough.** From the decision to evict until the victim is gone the shortage goes on. What is used up meanwhile is
measured: the fall to the lowest reading, or the fill rate times the time, whichever is more. A hard threshold is early enough
where a reserve is left after that.

**On these nodes.** A reserve is at most a tenth of the capacity, and no hard threshold is above half of the least capacity
of the nodes that it comes from.

**No earlier.** Each node has its own greatest need, and the advice is the least amount that is enough for the asked share of the
nodes that had an eviction. The rest are named, so that a few nodes do not make all others evict too early.

**Enough evidence.** Nothing is proposed for a signal with fewer than `LEAST_EVICTIONS`, and no reservation from fewer than
`LEAST_READINGS`: what one eviction needed says little of the next.

**Reservations.** The scheduler gives pods what is left of the node after systemReserved and kubeReserved. Together these are the
most that was in use outside pods, again for the asked share of the nodes.

`node_evidence` evaluates one node's readings, and `advise` merges the evidence of all nodes. Nothing here decides: whether a
pod would go under the new values is for `evictd replay --config` and `evictd simulate --config` to say.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import field

from evictd.codec.reading_record import Chosen, RecordedCycle
from evictd.core.frozen import frozen
from evictd.core.model.signal import SIGNALS, STALLS, Resource, Signal
from evictd.core.units.duration import MINUTE, SECOND

RESERVE = {
    # The kubelet's default hard threshold; below it the kernel's own reclaim stalls everything.
    Resource.MEMORY: 100 * 2**20,
    Resource.EPHEMERAL_STORAGE: 500 * 2**20,  # for logs and state while pods end
    Resource.INODES: 5_000,
    Resource.PIDS: 400,  # the kernel never assigns the first 300 again
}
"""The reserve of a resource that should be left at the worst moment; at most a `_PART` of the capacity."""
_PART = 10
LEAST_EVICTIONS = 5
"""Evictions of all nodes together from which a setting is proposed; the greatest need of fewer is exceeded too easily."""
LEAST_READINGS = 100
"""Readings of all nodes together from which a reservation is proposed."""
_AGAIN = 10 * MINUTE
"""Two evictions for a signal so close together count as one shortage that came back."""
_NEAR = 2 * MINUTE
"""Two readings so close together give a rate."""
SOFT_GRACE = 30 * SECOND
"""The grace period that is advised for a soft threshold: three cycles, so that one high reading does not count."""
_MOST_SOFT = 0.25
"""Part of the capacity above which a soft threshold would cost more than it gives."""
_RATE_HOLDS = 30 * SECOND
"""How long a fill rate counts after its reading; later only the measured fall counts."""
_QUICK = 5 * SECOND
"""A hard eviction that took no longer was as quick as possible; only an earlier start helps."""


@frozen
class Episode:
    """One eviction for a signal; amounts in its unit, times in nanoseconds."""

    node: str
    wall: str
    pod: str
    signal: Signal
    hard: bool
    available: int
    used: int
    """Amount used up from the decision until the pod was gone."""
    took: int
    rate: int
    """Fall of the available amount in units per second; 0: not measured, or it did not fall."""
    ended: bool
    """Whether the end of the pod was recorded; never in a dry run."""
    capacity: int = 0
    """Capacity of the node; 0 if it was not recorded."""

    @property
    def needed(self) -> int:
        """The hard threshold that would have left the reserve."""
        reserve = RESERVE[SIGNALS[self.signal].resource]
        return self.used + (min(reserve, self.capacity // _PART) if self.capacity else reserve)

    @property
    def too_late(self) -> bool:
        """Whether less than the reserve was left."""
        return self.available < self.needed


@frozen
class OutsidePods:
    """The use that belonged to no pod in one reading of a node."""

    node: str
    wall: str
    amount: int


@frozen
class NodeEvidence:
    """The recorded evidence of one node."""

    node: str
    readings: int = 0
    episodes: tuple[Episode, ...] = ()
    came_back: dict[Signal, int] = field(default_factory=dict)
    """The most that was used up again between two evictions of one shortage."""
    hard: dict[Signal, int] = field(default_factory=dict)
    """The hard thresholds of the last reading."""
    capacity: dict[Signal, int] = field(default_factory=dict)
    outside_pods: dict[Resource, OutsidePods] = field(default_factory=dict)
    """The most that the system and the Kubernetes daemons used."""
    outside_readings: dict[Resource, int] = field(default_factory=dict)
    """The readings in which that was measured."""
    stalls: int = 0
    """Evictions for stalled tasks, which are no amount that is used up: no threshold follows from them."""
    problems: tuple[str, ...] = ()


def node_evidence(node: str, readings: Sequence[RecordedCycle], problems: Iterable[str] = ()) -> NodeEvidence:
    """Collect the evidence of one node from its readings, oldest first."""
    episodes: list[Episode] = []
    came_back: dict[Signal, int] = {}
    ends: dict[Signal, RecordedCycle] = {}
    stalls = 0
    for index, reading in enumerate(readings):
        for chosen in reading.chosen:
            stalls += chosen.signal in STALLS
            if chosen.signal not in reading.levels or SIGNALS[chosen.signal].own:
                continue
            before = ends.get(chosen.signal)
            if (
                before is not None
                and not chosen.stays
                and 0 <= reading.at - before.at <= _AGAIN
                and chosen.signal in before.levels
            ):
                again = before.levels[chosen.signal].available - reading.levels[chosen.signal].available
                came_back[chosen.signal] = max(again, came_back.get(chosen.signal, 0))
            end, episode = _episode(node, readings, index, chosen)
            episodes.append(episode)
            ends[chosen.signal] = end
    levels = {signal: level for reading in readings for signal, level in reading.levels.items()}
    return NodeEvidence(
        node=node,
        readings=len(readings),
        episodes=tuple(episodes),
        came_back=came_back,
        hard={signal: level.hard for signal, level in levels.items() if level.hard is not None},
        capacity={signal: level.capacity for signal, level in levels.items()},
        outside_pods=_most_outside_pods(node, readings),
        outside_readings=Counter(resource for reading in readings for resource in reading.outside_pods),
        stalls=stalls,
        problems=tuple(problems),
    )


def _most_outside_pods(node: str, readings: Iterable[RecordedCycle]) -> dict[Resource, OutsidePods]:
    most: dict[Resource, OutsidePods] = {}
    for reading in readings:
        for resource, amount in reading.outside_pods.items():
            if resource not in most or amount > most[resource].amount:
                most[resource] = OutsidePods(node=node, wall=reading.wall, amount=amount)
    return most


def _episode(node: str, readings: Sequence[RecordedCycle], index: int, chosen: Chosen) -> tuple[RecordedCycle, Episode]:
    """Follow one victim until it is gone, or the clock begins anew; return the last reading and the episode."""
    first = end = readings[index]
    signal, at_first = chosen.signal, readings[index].levels[chosen.signal].available
    lowest, ended = at_first, False
    # A dry run stops no pod, so later usage says nothing about eviction time.
    for later in () if chosen.stays else readings[index + 1 :]:
        if later.at < end.at or later.at - first.at > _AGAIN:  # another boot, or its end was not recorded
            break
        end = later
        if signal in later.levels:
            lowest = min(lowest, later.levels[signal].available)
        if chosen.uid in later.gone:
            ended = True
            break
    rate = max(chosen.fill_rate, _rate(readings[max(0, index - 1)], first, signal))
    took = end.at - first.at
    used = max(at_first - lowest, rate * min(took, _RATE_HOLDS) // SECOND)
    episode = Episode(
        node=node, wall=first.wall, pod=chosen.pod, signal=signal, hard=chosen.hard,
        available=at_first, used=used, took=took, rate=rate, ended=ended, capacity=first.levels[signal].capacity,
    )  # fmt: skip
    return end, episode


def _rate(before: RecordedCycle, after: RecordedCycle, signal: Signal) -> int:
    if not 0 < after.at - before.at <= _NEAR or signal not in before.levels:
        return 0
    return max(0, (before.levels[signal].available - after.levels[signal].available) * SECOND // (after.at - before.at))


# --- advice -----------------------------------------------------------------------------------------------------------


@frozen
class SignalAdvice:
    """The advice for one signal; amounts in its unit."""

    signal: Signal
    needs: tuple[int, ...]
    """The most that each node with an eviction needed, ascending."""
    hard: int
    now: tuple[int, int] | None
    """The least and the greatest hard threshold of these nodes."""
    episodes: int
    too_late: int
    """Evictions after which less than the reserve was left."""
    worst: Episode
    not_covered: tuple[str, ...]
    """Nodes that needed more."""
    soft: int | None
    """`None` where the signal falls too fast for one, or how fast it falls was not measured."""
    min_reclaim: int
    enough: int
    """Evictions after which this hard threshold would have left the reserve; `episodes` less `too_late` did."""
    earlier: int
    """The most nanoseconds by which an eviction would have begun earlier at its measured rate; 0 if none would have."""
    limited_by: str
    """The node of the least capacity, if half of that capacity limits the advice; empty if the advice fits every node."""

    @property
    def proposed(self) -> bool:
        """Whether enough evictions were recorded to propose a setting."""
        return self.episodes >= LEAST_EVICTIONS


@frozen
class Reservation:
    """The advice for one resource: the sum that systemReserved and kubeReserved should have."""

    resource: Resource
    amount: int
    needs: tuple[int, ...]
    """The most that each node used outside pods, ascending."""
    worst: OutsidePods
    not_covered: tuple[str, ...]
    """Nodes that used more."""
    readings: int

    @property
    def proposed(self) -> bool:
        """Whether enough readings were recorded to propose a setting."""
        return self.readings >= LEAST_READINGS


@frozen
class Advice:
    """The advice for all nodes together."""

    nodes: int
    readings: int
    cover: int
    """Percent of the nodes for which the advice is enough."""
    signals: tuple[SignalAdvice, ...]
    max_pod_grace_seconds: int | None
    """Seconds that pods took to end; `None` if too few ended for a soft threshold."""
    soft_ends: int
    """The pods whose end for a soft threshold was recorded."""
    lead: bool
    """Whether memory filled too fast for any hard threshold that is acted on only when it is crossed."""
    reserved: tuple[Reservation, ...]
    stalls: int
    """Evictions for stalled tasks on all nodes; nothing is advised for them."""
    problems: tuple[str, ...]


def advise(nodes: Sequence[NodeEvidence], cover: int) -> Advice:
    """Merge the evidence of all nodes."""
    episodes = [episode for node in nodes for episode in node.episodes]
    soft = [episode.took for episode in episodes if episode.ended and not episode.hard]
    grace = -(-_quantile(soft, cover) // (5 * SECOND)) * 5 if len(soft) >= LEAST_EVICTIONS else None
    memory = [e for e in episodes if SIGNALS[e.signal].resource is Resource.MEMORY]
    return Advice(
        nodes=len(nodes),
        readings=sum(node.readings for node in nodes),
        cover=cover,
        signals=tuple(
            _signal_advice(signal, nodes, cover, grace or 0)
            for signal in Signal
            if any(episode.signal is signal for episode in episodes)
        ),
        max_pod_grace_seconds=grace,
        soft_ends=len(soft),
        lead=len(memory) >= LEAST_EVICTIONS
        and any(e.hard and e.too_late and 0 < e.took <= _QUICK and e.rate for e in memory),
        reserved=tuple(
            _reservation(resource, [node for node in nodes if resource in node.outside_pods], cover)
            for resource in Resource
            if any(resource in node.outside_pods for node in nodes)
        ),
        stalls=sum(node.stalls for node in nodes),
        problems=tuple(f"{node.node}: {problem}" for node in nodes for problem in node.problems),
    )


def _signal_advice(signal: Signal, nodes: Sequence[NodeEvidence], cover: int, pod_grace: int) -> SignalAdvice:
    by_node = {node.node: [e for e in node.episodes if e.signal is signal] for node in nodes}
    worst = {name: max(found, key=lambda e: e.needed) for name, found in by_node.items() if found}
    needs = sorted(episode.needed for episode in worst.values())
    wanted = round_up(_quantile(needs, cover))
    smallest = min((e for e in worst.values() if e.capacity), key=lambda e: e.capacity, default=None)
    # `evictd check` refuses more than half of a capacity, and a line is checked on every node that it came from.
    hard = wanted if smallest is None else min(wanted, smallest.capacity // 2)
    found = [episode for each in by_node.values() for episode in each]
    limits = [node.hard[signal] for node in nodes if node.node in worst and signal in node.hard]
    rates = [max(e.rate for e in by_node[name]) for name in worst]
    rate = _quantile([each for each in rates if each], cover)
    soft = round_up(hard + rate * (SOFT_GRACE // SECOND + pod_grace))
    least = min((node.capacity[signal] for node in nodes if signal in node.capacity), default=0)
    back = [node.came_back[signal] for node in nodes if node.came_back.get(signal, 0) > 0]
    return SignalAdvice(
        signal=signal,
        needs=tuple(needs),
        hard=hard,
        now=(min(limits), max(limits)) if limits else None,
        episodes=len(found),
        too_late=sum(e.too_late for e in found),
        worst=max(worst.values(), key=lambda e: e.needed),
        not_covered=tuple(sorted(name for name, episode in worst.items() if episode.needed > hard)),
        soft=soft if rate and soft <= least * _MOST_SOFT else None,
        min_reclaim=round_up(_quantile(back, cover)) if back else 0,
        enough=sum(hard >= e.needed for e in found),
        earlier=max((max(0, hard - e.available) * SECOND // e.rate for e in found if e.rate), default=0),
        limited_by=smallest.node if smallest is not None and hard < wanted else "",
    )


def _reservation(resource: Resource, nodes: Sequence[NodeEvidence], cover: int) -> Reservation:
    found = [node.outside_pods[resource] for node in nodes]
    needs = sorted(each.amount for each in found)
    amount = round_up(_quantile(needs, cover))
    return Reservation(
        resource=resource,
        amount=amount,
        needs=tuple(needs),
        worst=max(found, key=lambda each: each.amount),
        not_covered=tuple(sorted(each.node for each in found if each.amount > amount)),
        readings=sum(node.outside_readings.get(resource, 0) for node in nodes),
    )


def _quantile(values: Iterable[int], percent: int) -> int:
    """Return the least value that at least this percentage of the values does not exceed; 0 without values."""
    ordered = sorted(values)
    return ordered[max(0, -(-len(ordered) * percent // 100) - 1)] if ordered else 0


def round_up(amount: int) -> int:
    """Round up to a number that is easy to read, by an eighth at the most."""
    step = 1 << max(0, amount.bit_length() - 4)
    return -(-amount // step) * step
