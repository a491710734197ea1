"""Encodes and decodes observations as plain values: pods as v1.Pod, statistics as a stats summary, the rest beside them.

A summary has no field for some of what is measured; that stands beside it. The outcomes of earlier decisions stand beside the
other fields of the observation.
"""

from collections.abc import Mapping
from dataclasses import field, replace
from typing import Any, NamedTuple

from evictd.codec.plain import Form, View
from evictd.codec.pods.pod import decode_pod, encode_pod
from evictd.codec.scalars import Plain, check_texts
from evictd.codec.summary import decode_summary, encode_summary
from evictd.core.frozen import frozen
from evictd.core.model.observation import Observation, Outcomes
from evictd.core.model.pod import Pod
from evictd.core.model.signal import Signal
from evictd.core.model.stats import DiskUsage, NodeStats, PodStats

_FILLED = (
    (Signal.MEMORY_AVAILABLE, "memory", "fill_rate"),
    (Signal.ALLOCATABLE_MEMORY_AVAILABLE, "pods_memory", "fill_rate"),
    (Signal.PID_AVAILABLE, "rlimit", "fill_rate"),
    (Signal.NODEFS_AVAILABLE, "fs", "fill_rate"),
    (Signal.NODEFS_INODES_FREE, "fs", "inodes_fill_rate"),
    (Signal.IMAGEFS_AVAILABLE, "image_fs", "fill_rate"),
    (Signal.IMAGEFS_INODES_FREE, "image_fs", "inodes_fill_rate"),
    (Signal.CONTAINERFS_AVAILABLE, "container_fs", "fill_rate"),
    (Signal.CONTAINERFS_INODES_FREE, "container_fs", "inodes_fill_rate"),
)
"""Signal, field of `NodeStats`, and the field of that with its rate."""


class _Hidden(NamedTuple):
    """A pod's disk usage for which a summary has no field."""

    deleted_layer: DiskUsage | None = None
    deleted_local: DiskUsage | None = None
    disk_at_least: bool = False


@frozen
class _Statistics:
    """The node's and the pods' statistics as they stand in the plain form."""

    summary: Mapping[str, object]
    summary_failed: bool
    measured_at: Mapping[str, tuple[int | None, ...]] = field(default_factory=dict)
    """By pod uid: when memory, disk and writable layers were read."""
    fill_rates: Mapping[Signal, int] = field(default_factory=dict)
    """Units per second, of the signals whose rate was measured."""
    stop_time: int | None = None
    collect_time: int | None = None
    hidden: Mapping[str, _Hidden] | None = None
    """By uid of the pods with such."""


_FORM = Form(
    {
        Pod: View(encode=encode_pod, decode=decode_pod),
        Observation: View(
            apart=frozenset({"node", "pod_stats", "outcomes"}),
            brief=frozenset({"drops_page_cache", "pods_read", "removed_pods"}),
        ),
        _Statistics: View(brief=frozenset({"hidden", "collect_time"})),
        Outcomes: View(brief=frozenset({"reclaimed", "page_cache", "unused_images"})),
    }
)


def encode_observation(observation: Observation) -> Plain:
    """Encode everything that decisions depend on; gauges are left out, because no decision uses them."""
    return {
        **_FORM.encode(_Statistics, _statistics(observation.node, observation.pod_stats)),
        **_FORM.encode(Outcomes, observation.outcomes),
        **_FORM.encode(Observation, observation),
    }


def _statistics(node: NodeStats | None, pod_stats: Mapping[str, PodStats]) -> _Statistics:
    return _Statistics(
        summary=encode_summary(node or NodeStats(), pod_stats),
        summary_failed=node is None,
        measured_at={uid: (each.time, each.disk_time, each.layers_time) for uid, each in pod_stats.items()},
        fill_rates=_fill_rates(node),
        stop_time=None if node is None else node.stop_time,
        collect_time=None if node is None else node.collect_time,
        hidden={uid: each for uid, stats in pod_stats.items() if (each := _hidden(stats)) != _Hidden()} or None,
    )


def encode_beside(node: NodeStats, pod_stats: Mapping[str, PodStats]) -> Plain:
    """Encode what was measured and has no field in a summary; times of measurements are left out."""
    plain = _FORM.encode(_Statistics, _statistics(node, pod_stats))
    return {key: plain[key] for key in ("fillRates", "stopTime", "collectTime", "hidden") if plain.get(key)}


def add_beside(
    node: NodeStats, pod_stats: Mapping[str, PodStats], plain: Plain
) -> tuple[NodeStats, Mapping[str, PodStats]]:
    """Return the statistics of a summary with what `encode_beside` wrote; raises `InputError`."""
    known = {
        "fillRates": {},
        "stopTime": None,
        "collectTime": None,
        **plain,
        "summary": {},
        "summaryFailed": False,
        "measuredAt": {},
    }
    beside: _Statistics = _FORM.decode(_Statistics, known, "measured")
    hidden = beside.hidden or {}
    return _with_measured(node, beside), {
        uid: _completed(stats, (), hidden.get(uid)) for uid, stats in pod_stats.items()
    }


def decode_observation(plain: Any) -> Observation:
    """Decode an observation; raises `InputError` for anything that no `encode_observation` would have written."""
    check_texts(plain, "observation")
    statistics: _Statistics = _FORM.decode(_Statistics, plain, "observation")
    node, pod_stats = decode_summary(statistics.summary)
    hidden = statistics.hidden or {}
    observation: Observation = _FORM.decode(
        Observation,
        plain,
        "observation",
        node=None if statistics.summary_failed else _with_measured(node, statistics),
        pod_stats={
            uid: _completed(stats, statistics.measured_at.get(uid, ()), hidden.get(uid))
            for uid, stats in pod_stats.items()
        },
        outcomes=_FORM.decode(Outcomes, plain, "observation"),
    )
    return observation


def _hidden(stats: PodStats) -> _Hidden:
    return _Hidden(stats.deleted_layer, stats.deleted_local, stats.disk_at_least)


def _completed(stats: PodStats, times: tuple[int | None, ...], hidden: _Hidden | None) -> PodStats:
    """Add what stands beside the summary; without all three `times` those of the summary stay."""
    if len(times) == 3:
        stats = replace(stats, time=times[0], disk_time=times[1], layers_time=times[2])
    return stats if hidden is None else replace(stats, **hidden._asdict())


def _fill_rates(node: NodeStats | None) -> dict[Signal, int]:
    found = {}
    for signal, statistic, rate in _FILLED:
        part = None if node is None else getattr(node, statistic)
        if part is not None and (measured := getattr(part, rate)) is not None:
            found[signal] = measured
    return found


def _with_measured(node: NodeStats, statistics: _Statistics) -> NodeStats:
    parts: dict[str, Any] = {}
    for signal, statistic, rate in _FILLED:
        part = parts.get(statistic, getattr(node, statistic))
        if part is not None:
            parts[statistic] = replace(part, **{rate: statistics.fill_rates.get(signal)})
    return replace(node, **parts, stop_time=statistics.stop_time, collect_time=statistics.collect_time)
