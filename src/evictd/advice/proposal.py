"""Finds the thresholds and reservations that would have been early enough and no earlier, from what nodes recorded.

**Sooner.** A lead is proposed only where it is off, and an eviction that was too late would have begun at a tenth more available
with it, which is more than the proposed threshold; none for a leak outside pods, as no threshold.

**Reservations** are for the asked share of the nodes too (`advice.reservation`).

`evictd.advice.evidence` evaluates one node's readings. Whether a pod would go under the new values, `evictd simulate` says.
"""

from collections.abc import Sequence

from evictd.advice.episode import Episode
from evictd.advice.evidence import NodeEvidence
from evictd.advice.lead import calm_nodes, led_most
from evictd.advice.missing import MissingThreshold, Unguarded, missing_thresholds, unguarded_signals
from evictd.advice.pod_grace import PodGrace, pod_grace
from evictd.advice.reservation import COVERED, Reservation, highest_threshold, reservation
from evictd.advice.signal_advice import LEAST_EVICTIONS, SignalAdvice, signal_advice
from evictd.core.frozen import frozen
from evictd.core.model.signal import SIGNALS, Resource, Signal


@frozen
class Advice:
    """The advice for all nodes together."""

    nodes: int
    readings: int
    cover: int
    """Percent of the nodes for which the advice is enough."""
    signals: tuple[SignalAdvice, ...]
    max_pod_grace_seconds: int | None
    """`None` if none is proposed."""
    grace: PodGrace
    led: Episode | None
    """The eviction that was too late and would have begun the earliest with `memory.lead: Auto`; `None` if none would have."""
    reserved: tuple[Reservation, ...]
    missing: tuple[MissingThreshold, ...]
    unguarded: tuple[Unguarded, ...]
    kept_hard: tuple[Signal, ...]
    """Signals with a hard threshold on a node of which none is proposed; a list without them would drop them."""
    kept_soft: tuple[Signal, ...]
    """The same of soft thresholds."""
    stalls: int
    """Evictions for stalled tasks on all nodes; nothing is advised for them."""
    problems: tuple[str, ...]
    killed: tuple[tuple[str, str, int], ...] = ()
    """Node, and pod or cgroup, of which the kernel killed processes for want of memory of the node, and how many."""
    calm: tuple[str, ...] = ()
    """The nodes without an eviction for memory, whose journals do not show how fast it fills."""

    @property
    def lead(self) -> bool:
        """Whether `memory.lead: Auto` is proposed."""
        return self.led is not None

    @property
    def settings(self) -> "tuple[SignalAdvice | Reservation, ...]":
        """The advice for signals and the reservations."""
        return (*self.signals, *self.reserved)


def advise(nodes: Sequence[NodeEvidence], cover: int) -> Advice:
    """Merge the evidence of all nodes."""
    episodes = [episode for node in nodes for episode in node.episodes]
    grace = pod_grace(nodes, cover, LEAST_EVICTIONS)
    signals = tuple(
        signal_advice(signal, nodes, cover, grace.seconds)
        for signal in Signal
        if any(episode.signal is signal for episode in episodes)
    )
    leaked = {each.signal for each in signals if each.leaked}
    memory = [e for e in episodes if SIGNALS[e.signal].resource is Resource.MEMORY and e.signal not in leaked]
    has_soft = any(each.proposed and each.soft is not None for each in signals)
    raised = {each.signal for each in signals if each.raised}
    hard = {each.signal: each.hard for each in signals if each.proposed}
    return Advice(
        nodes=sum(node.readings > 0 for node in nodes),
        readings=sum(node.readings for node in nodes),
        cover=cover,
        signals=signals,
        max_pod_grace_seconds=grace.seconds if (grace.raises or has_soft) and not grace.unlimited else None,
        grace=grace,
        led=led_most(memory, hard) if len(memory) >= LEAST_EVICTIONS else None,
        reserved=tuple(
            reservation(resource, found, cover, _thresholds(resource, signals, nodes))
            for resource in Resource
            if (found := [node for node in nodes if resource in node.outside_pods])
        ),
        missing=tuple(missing_thresholds(nodes)),
        unguarded=tuple(unguarded_signals(nodes)),
        kept_hard=tuple(
            signal
            for signal in Signal
            if signal not in raised
            and not SIGNALS[signal].own
            and any(signal in node.hard and signal not in node.derived for node in nodes)
        ),
        kept_soft=tuple(
            signal
            for signal in Signal
            if signal not in {each.signal for each in signals if each.proposed and each.kept_soft is None}
            and not SIGNALS[signal].own
            and any(signal in node.soft and signal not in node.soft_derived for node in nodes)
        ),
        stalls=sum(node.stalls for node in nodes),
        problems=tuple(f"{node.node}: {problem}" for node in nodes for problem in node.problems),
        calm=calm_nodes(nodes),
        killed=tuple((node.node, where, count) for node in nodes for where, count in node.killed.items()),
    )


def _thresholds(resource: Resource, signals: Sequence[SignalAdvice], nodes: Sequence[NodeEvidence]) -> dict[str, int]:
    """Return the highest threshold of the resource that each node has with what is proposed; 0 where none is to be reserved."""
    highest = dict.fromkeys((node.node for node in nodes), 0)
    for signal in COVERED.get(resource, ()):
        advised = next((each for each in signals if each.signal is signal and each.proposed), None)
        hard, soft = (None, None) if advised is None else (advised.hard, advised.soft)
        keeps = advised is None or advised.kept_soft is not None
        hard = None if advised is None or advised.keeps else hard
        for node in nodes:
            limit = highest_threshold(node, signal, hard, soft, keeps_soft=keeps)
            highest[node.node] = max(highest[node.node], limit)
    return highest
