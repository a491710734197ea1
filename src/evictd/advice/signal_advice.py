"""Finds the thresholds for one signal that would have been early enough and no earlier, from what nodes recorded.

**Early enough.** The shortage goes on from the crossing of a hard threshold to the decision, because evictd reads, reclaims and
measures first, and from the decision until the victim is gone. What is used up in both times is recorded: the distance from the
threshold to the amount at the decision, and from there the fall to the lowest reading, or the fill rate times the time,
whichever is more. A hard threshold is early enough where a reserve is left after that. Where the decision waited until pods were
measured, or for the next cycle, a higher threshold can wait as long and gain nothing: the longest such wait counts then. Where a
pod was killed without grace because too little was left, a higher threshold can give it one: what it takes in that counts then.

The time of a soft eviction has its grace period, which a hard one has not: of its use counts the part of `QUICK`. No threshold
is advised below one with which an eviction was too late, and none that is enough for no node. None is advised below those that
nodes have, also without an eviction for the signal: recorded evictions do not show how fast the next fill is. Where none was too
late, and none needed more than one step (`round_up`) above the threshold of its node, each node keeps its own.

**By the threshold's formula.** The kubelet's `memory.available` counts memory that no process can allocate, and so does a
threshold by it: that part counts in addition to the reserve.

**On these nodes.** A reserve is at most a tenth of the capacity. No hard threshold, with its minimum reclaim, and no reservation
is above half of the least capacity of the nodes that it comes from.

**No pod more.** A minimum reclaim is proposed only where every recorded end of a victim would have reached it, or the pod that
was next in the ranking went within ten minutes.

**No earlier.** Each node has its own greatest need, and the advice is the least amount that is enough for the asked share of the
nodes that had an eviction. The rest are named, so that a few nodes do not make all others evict too early.

No hard threshold is raised on a node beyond all that was ever available there, or beyond a soft one that is kept
(`advice.unfit`). None is proposed where memory outside pods leaked on each node with an eviction: pods that do not grow
would go earlier.

**Enough evidence.** Nothing is proposed for a signal with fewer shortages than `LEAST_EVICTIONS`: what one eviction needed says
little of the next.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from evictd.advice.enough import covers, least_hard, neediest, needs_with, not_above, quantile, round_up, suffices
from evictd.advice.episode import Episode, other_first, shortages_of, still_met
from evictd.advice.evidence import AtRest, NodeEvidence
from evictd.advice.soft import SOFT_GRACE, HardActs, fast_nodes, hard_acts, met_at_rest, soft_need, time_to_hard
from evictd.advice.unfit import Unfit, unfit
from evictd.core.frozen import frozen
from evictd.core.model.signal import Resource, Signal
from evictd.core.units.duration import SECOND

LEAST_EVICTIONS = 5
"""Evictions of all nodes together from which a setting is proposed; the greatest need of fewer is exceeded too easily.

For a threshold shortages are counted instead: several evictions for one shortage are one piece of evidence."""
_MOST_SOFT = 0.25
"""Part of the capacity above which a soft threshold would cost more than it gives."""


@frozen
class SignalAdvice:
    """The advice for one signal; amounts in its unit."""

    signal: Signal
    needs: tuple[int, ...]
    """The most that each node with an eviction needed, ascending."""
    hard: int
    now: tuple[int, int] | None
    """The least and the greatest hard threshold, of the nodes with an eviction where they keep it, else of all."""
    episodes: int
    shortages: int
    """How often the node was short, of the evictions whose use was measured (`advice.episode.shortages_of`)."""
    unmeasured: int
    """Evictions of which it is not known what was used up until the pod was gone."""
    too_late: int
    """Evictions after which less than the reserve was left."""
    worst: Episode
    not_covered: tuple[str, ...]
    """Nodes that needed more."""
    soft: int | None
    """`None` where the signal falls too fast for one, or how fast it falls was not measured."""
    rate: int
    """How fast it falls, in units a second; 0: not measured."""
    unallocatable: int
    """What the soft threshold counts as available although no process can allocate it."""
    kept_soft: int | None
    """The greatest soft threshold of these nodes, where none is proposed; `None` without one above the hard one."""
    kept: bool
    """Whether less would be advised, but an eviction was too late with a threshold as high as this."""
    keeps: bool
    """Whether each node keeps its hard threshold, because no eviction was too late; `hard` is the greatest of them then."""
    covers: bool
    """Whether the threshold is enough for one of the nodes at least that had an eviction (`enough.covers`)."""
    empty: int
    """Evictions at whose decision nothing was left, so that how much they needed is not known."""
    not_lower: bool
    """Whether less would be advised, but for the hard thresholds that nodes have."""
    came_back: int
    """The minimum reclaim that would have kept shortages from coming back; 0 if none did."""
    one_more: Episode | None
    """An eviction after which that would have cost one pod more, so that none is proposed."""
    enough: int
    """Evictions after which this hard threshold would have left the reserve, of those whose use was measured."""
    without_worst: int
    """The hard threshold that would be advised without the node of the worst eviction; of one node without that eviction."""
    earlier: int
    """The most nanoseconds by which an eviction would have begun earlier at its measured rate; 0 if none would have."""
    limited_by: str
    """The node of the least capacity, if half of that capacity limits the threshold; empty if the advice fits every node."""
    no_room: str
    """That node, if the minimum reclaim does not fit into the half; else empty."""
    apart: tuple[int, int] | None
    """The least capacity and that of the node that needed the most, if what fits this one is above half of the other."""

    in_vain: tuple[tuple[str, str], ...] = ()
    """The nodes on which evictions did not help, each with the time at which they were paused first."""
    most_of_owner: tuple[tuple[str, ...], str, int] | None = None
    """The nodes and owner of which most evictions are, and their number, if pods of one owner went again and again."""
    other_first: Episode | None = None
    """An eviction in which the hard threshold would have evicted another pod, or one more (`other_first`, `still_met`)."""
    soft_other_first: tuple[int, Episode | AtRest] | None = None
    """A soft threshold and such an eviction, or a reading at rest that meets it, so that it is not proposed."""
    copied: bool = False
    """Whether a node has a copy of the hard threshold for the memory of all pods, which is raised with it."""
    fast: tuple[str, ...] = ()
    """The nodes on which alone the signal falls too fast for a soft threshold."""
    hard_first: HardActs | None = None
    """Where the hard threshold acts on a node, if a soft one above that would be too high."""
    unfit: Unfit | None = None
    """A node that the hard threshold does not fit, so that none is proposed."""
    lowers: tuple[str, ...] = ()
    """The nodes that have a higher hard threshold."""
    leaked: tuple[str, ...] = ()
    """The nodes with an eviction for memory, if on each of them what is used outside pods grew: no threshold ends that."""

    @property
    def enough_evidence(self) -> bool:
        """Whether enough shortages were recorded to propose a setting."""
        return self.shortages >= LEAST_EVICTIONS

    @property
    def proposed(self) -> bool:
        """Whether there is enough evidence, and one value for all nodes that is enough for one of them."""
        fits = self.apart is None and self.unfit is None and not self.leaked
        return self.enough_evidence and fits and self.covers

    @property
    def min_reclaim(self) -> int:
        """The minimum reclaim that is proposed; 0 without one."""
        return 0 if self.no_room or self.one_more is not None else self.came_back

    @property
    def enough_before(self) -> int:
        """Evictions that left the reserve, of those whose use was measured."""
        return self.episodes - self.unmeasured - self.too_late

    @property
    def raised(self) -> bool:
        """Whether another hard threshold is proposed than nodes have."""
        return self.proposed and not self.keeps


def signal_advice(signal: Signal, nodes: Sequence[NodeEvidence], cover: int, pod_grace: int) -> SignalAdvice:
    """Return the advice for a signal, of the evidence of all nodes; `pod_grace` is the grace period of pods in seconds."""
    advice = _by_evictions(signal, nodes, cover, pod_grace)
    return replace(
        advice,
        copied=signal is Signal.MEMORY_AVAILABLE and any(node.copies_memory for node in nodes),
        in_vain=tuple((node.node, node.in_vain[signal]) for node in nodes if signal in node.in_vain),
        lowers=tuple(node.node for node in nodes if _configured(signal, node) > advice.hard),
        leaked=_leaked(signal, nodes),
    )


def _by_evictions(signal: Signal, nodes: Sequence[NodeEvidence], cover: int, pod_grace: int) -> SignalAdvice:
    all_of = {node.node: node.episodes_of(signal) for node in nodes}
    every = [episode for each in all_of.values() for episode in each]
    by_node = {name: [e for e in each if e.known] for name, each in all_of.items()}
    known = [each for each in by_node.values() if each]
    wanted = least_hard(known, cover)
    capacities = {node.node: node.capacity[signal] for node in nodes if node.capacity.get(signal)}
    smallest = min(capacities, key=capacities.__getitem__, default="")
    most = capacities[smallest] // 2 if smallest else None
    found, late = [e for each in known for e in each], _too_late_with(every)
    floor, largest = _floor(signal, nodes, cover)
    keeps = bool(known) and not any(e.too_late for e in every) and all(map(suffices, all_of.values()))
    asked = max(e.threshold for e in every) if keeps else least_hard(known, cover, max(late, floor))
    hard = asked if keeps else not_above(asked, most)
    worst = neediest(found or every, hard)
    rate = quantile(filter(None, (max(e.rate for e in each) for each in known)), cover)
    usable, acts = hard + rate * time_to_hard(signal, pod_grace) // SECOND, hard_acts(signal, nodes, hard, keeps=keeps)
    need, unallocatable = soft_need(signal, nodes, usable, acts)
    soft = round_up(need)
    fits_soft = bool(rate) and smallest != "" and soft <= capacities[smallest] * _MOST_SOFT
    soft_other = met_at_rest(signal, soft, nodes) or other_first(every, soft, SOFT_GRACE) or still_met(every, soft)
    has_soft = fits_soft and soft_other is None
    came_back = round_up(quantile(filter(None, (node.came_back.get(signal, 0) for node in nodes)), cover))
    fits = most is None or (soft if has_soft else hard) + came_back <= most
    kept_soft = None if has_soft else _greatest_soft(signal, nodes, hard)
    return SignalAdvice(
        signal=signal,
        needs=tuple(needs_with(known, hard)),
        hard=hard,
        now=_hard_now(signal, nodes, only_evicting=keeps),
        episodes=len(every),
        shortages=sum(map(shortages_of, all_of.values())),
        unmeasured=len(every) - len(found),
        too_late=sum(e.too_late for e in every),
        worst=worst,
        not_covered=_not_covered(by_node, hard),
        soft=soft if has_soft else None,
        rate=rate,
        fast=() if fits_soft else fast_nodes(signal, nodes, hard, pod_grace, capacities.get(smallest, 0) * _MOST_SOFT),
        unallocatable=unallocatable,
        hard_first=acts if rate and not fits_soft and need == acts.at + 1 else None,
        kept_soft=kept_soft,
        kept=wanted < hard == late,
        keeps=keeps,
        covers=any(covers(each, hard) for each in known),
        empty=sum(not e.left for e in found),
        not_lower=max(wanted, late) < hard == floor,
        came_back=came_back,
        one_more=_one_more(every, (hard, soft if has_soft else hard), came_back),
        enough=sum(e.leaves_reserve(hard) for e in found),
        without_worst=not_above(_least_without(worst, known, cover, floor), most),
        earlier=max((max(0, hard - e.available - e.fell) * SECOND // e.rate for e in found if e.rate), default=0),
        limited_by=smallest if hard < asked else "",
        no_room="" if fits else smallest,
        most_of_owner=_most_of_owner(every),
        other_first=None if keeps else other_first(every, hard) or still_met(every, hard),
        soft_other_first=(soft, soft_other) if fits_soft and soft_other is not None else None,
        unfit=None if keeps else unfit(signal, hard, nodes, keeps_soft=kept_soft is not None),
        apart=_apart(capacities, hard, asked, worst.capacity if wanted >= floor else largest),
    )


def _configured(signal: Signal, node: NodeEvidence) -> int:
    """Return the hard threshold that the configuration of a node names; 0 without one."""
    return 0 if signal in node.derived else node.hard.get(signal, 0)


def _leaked(signal: Signal, nodes: Iterable[NodeEvidence]) -> tuple[str, ...]:
    """Return the nodes with an eviction if the use of memory outside pods grew on each of them, else none."""
    evicting = [node for node in nodes if node.episodes_of(signal)] if signal is Signal.MEMORY_AVAILABLE else []
    used = [node.outside_pods.get(Resource.MEMORY) for node in evicting]
    return tuple(node.node for node in evicting) if all(each is not None and each.grew for each in used) else ()


def _floor(signal: Signal, nodes: Iterable[NodeEvidence], cover: int) -> tuple[int, int]:
    """Return the hard threshold that the asked share of the nodes does not exceed, and the capacity of a node that has it.

    Of those with an eviction and of all: what is proposed is for all, and some evict by a copy of theirs alone.
    """
    evicting, others = list[tuple[int, int]](), list[tuple[int, int]]()
    for node in nodes:
        capacity = node.capacity.get(signal, 0)
        if found := node.episodes_of(signal):
            evicting.append((max(each.threshold for each in found), capacity))
        elif signal in node.hard and signal not in node.derived:
            others.append((node.hard[signal], capacity))
    amount = max(quantile((each for each, _ in some), cover) for some in (evicting, evicting + others))
    return amount, next(capacity for each, capacity in evicting + others if each == amount)


def _least_without(worst: Episode, known: Sequence[Sequence[Episode]], cover: int, floor: int) -> int:
    """Return the least hard threshold that is enough without the node of an eviction, or of one node without the eviction."""
    rest = [each for each in known if each[0].node != worst.node]
    rest = rest or [[each for each in episodes if each is not worst] for episodes in known]
    return least_hard(rest, cover, max(floor, *map(_too_late_with, rest), 0))


def _apart(capacities: Mapping[str, int], hard: int, asked: int, largest: int) -> tuple[int, int] | None:
    """Return the least capacity, and `largest`, that of the node that asks for the most, if half of this alone is enough."""
    return (min(capacities.values()), largest) if hard < asked <= largest // 2 else None


def _not_covered(by_node: Mapping[str, Sequence[Episode]], hard: int) -> tuple[str, ...]:
    """Return the nodes with an eviction for which this hard threshold is not enough."""
    return tuple(sorted(name for name, each in by_node.items() if not all(e.leaves_reserve(hard) for e in each)))


def _hard_now(signal: Signal, nodes: Iterable[NodeEvidence], *, only_evicting: bool) -> tuple[int, int] | None:
    """Return the least and the greatest hard threshold of the nodes, or of those with an eviction; `None` without one."""
    has = [node for node in nodes if node.episodes_of(signal) or not (only_evicting or signal in node.derived)]
    limits = [node.hard[signal] for node in has if signal in node.hard]
    return (min(limits), max(limits)) if limits else None


def _too_late_with(episodes: Iterable[Episode]) -> int:
    """Return the highest threshold with which an eviction was too late; 0 without one."""
    return max((each.limit for each in episodes if each.too_late), default=0)


def _greatest_soft(signal: Signal, nodes: Iterable[NodeEvidence], above: int) -> int | None:
    """Return the greatest soft threshold of the nodes; `None` without one above that amount."""
    found = (node.soft[signal] for node in nodes if signal in node.soft)
    return max((each for each in found if each > above), default=None)


def _most_of_owner(episodes: Sequence[Episode]) -> tuple[tuple[str, ...], str, int] | None:
    """Return the nodes and the owner whose pods are most of the evictions, if they went again and again on each of these."""
    counts = Counter((each.owner, each.node) for each in episodes if each.owner)
    loops = {pair: count for pair, count in counts.items() if count >= LEAST_EVICTIONS}
    for owner in {owner for owner, _ in loops}:
        of_it = {node: count for (each, node), count in loops.items() if each == owner}
        if sum(of_it.values()) * 2 > len(episodes):
            return tuple(sorted(of_it)), owner, sum(of_it.values())
    return None


def _one_more(episodes: Iterable[Episode], thresholds: Iterable[int], min_reclaim: int) -> Episode | None:
    """Return an eviction after which the thresholds were clear, and this minimum reclaim would have kept one of them met."""
    kept = (
        each
        for each in episodes
        for limit in thresholds
        if each.recovered is not None and limit <= each.recovered < limit + min_reclaim
    )
    return min(kept, key=lambda each: each.recovered or 0, default=None)
