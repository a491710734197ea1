"""Finds the signals that no threshold covers although they came close to a useful one, and who would have gone first with it."""

from collections.abc import Iterable, Iterator
from dataclasses import replace

from evictd.advice.evidence import NodeEvidence, Uncovered
from evictd.codec.records.journal import decode_entry
from evictd.core.eviction.next_up import first_to_go
from evictd.core.frozen import frozen
from evictd.core.model.finding import RankedPod
from evictd.core.model.signal import Signal
from evictd.core.model.threshold import Threshold
from evictd.core.model.threshold_config import parse_threshold_value


@frozen
class MissingThreshold:
    """A signal that was close to a useful threshold on nodes that have none."""

    worst: Uncovered
    """Of the node with the least part of its capacity left, of those on which the kernel killed if it did."""
    nodes: tuple[str, ...]
    below: int
    """Readings of these nodes that would have met the threshold."""
    occasions: int
    readings: int
    killed: int
    """Readings of these nodes that follow kills by the kernel."""


def missing_thresholds(nodes: Iterable[NodeEvidence]) -> Iterator[MissingThreshold]:
    """Yield one for each signal and threshold: for memory the threshold depends on the node's size."""
    found = [each for node in nodes for each in node.uncovered]
    for signal, line in sorted({(each.signal, each.line) for each in found}, key=lambda key: (key[0].value, key[1])):
        of_line = [each for each in found if (each.signal, each.line) == (signal, line)]
        yield MissingThreshold(
            worst=min(of_line, key=lambda each: (not each.killed, each.available / each.capacity)),
            nodes=tuple(sorted(each.node for each in of_line)),
            below=sum(each.below for each in of_line),
            occasions=sum(each.occasions for each in of_line),
            readings=sum(each.readings for each in of_line),
            killed=sum(each.killed for each in of_line),
        )


@frozen
class Unguarded:
    """A signal without a threshold on nodes whose readings were not close to a useful one."""

    signal: Signal
    line: str
    """The hard threshold that the documentation begins with."""
    nodes: tuple[str, ...]


def unguarded_signals(nodes: Iterable[NodeEvidence]) -> Iterator[Unguarded]:
    """Yield one for each signal and threshold: for memory the threshold depends on the node's size."""
    found = [(signal, line, node.node) for node in nodes for signal, line in node.unguarded.items()]
    for signal, line in sorted({each[:2] for each in found}, key=lambda key: (list(Signal).index(key[0]), key[1])):
        names = sorted(name for *of, name in found if of == [signal, line])
        yield Unguarded(signal=signal, line=line, nodes=tuple(names))


def recorded_first_to_go(line: bytes, uncovered: Uncovered, before_kills: bytes | None = None) -> RankedPod | None:
    """Return the pod that the threshold would have evicted first by a journal line; `None` where that is not known.

    A pod that the kernel had killed in it uses little; what it used before is in the last line without a kill, `before_kills`.
    Raises `InputError` where a line is damaged.
    """
    entry, value = decode_entry(line), parse_threshold_value(uncovered.signal, uncovered.line)
    if value is None:
        return None
    killed = {str(each.get("uid")) for each in (entry.extra or {}).get("kernelKilled", ()) if each.get("uid")}
    earlier = {} if before_kills is None else decode_entry(before_kills).observation.pod_stats
    if not killed <= earlier.keys():
        return None
    stats = {**entry.observation.pod_stats, **{uid: earlier[uid] for uid in killed}}
    threshold, seen = Threshold(signal=uncovered.signal, value=value), replace(entry.observation, pod_stats=stats)
    return first_to_go(threshold, entry.state, seen, entry.config, entry.now)
