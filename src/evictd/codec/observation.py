"""Encodes and decodes observations as plain values: pods as v1.Pod, statistics as a stats summary, the rest beside them.

The times of a pod's statistics, disk walk and writable layers are stored beside the summary, which lacks fields for two of them.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from evictd.codec.pod import decode_pod, encode_pod
from evictd.codec.summary import decode_summary, encode_summary
from evictd.core.model.observation import (
    EvictionAnswer,
    EvictionAnswerKind,
    Filesystems,
    Observation,
    Outcomes,
    Problem,
    Reclaim,
    ReclaimOutcome,
)
from evictd.core.model.signal import Filesystem, Signal
from evictd.core.model.stats import NodeStats, PodStats

Plain = dict[str, Any]

_FILLED = (Signal.MEMORY_AVAILABLE, Signal.ALLOCATABLE_MEMORY_AVAILABLE, Signal.PID_AVAILABLE)


def encode_observation(observation: Observation) -> Plain:
    """Encode everything that decisions depend on; gauges are left out, because no decision uses them."""
    outcomes = observation.outcomes
    plain: Plain = {
        "summary": encode_summary(observation.node or NodeStats(), observation.pod_stats),
        "summaryFailed": observation.node is None,
        "pods": [encode_pod(pod) for pod in observation.pods],
        "filesystems": encode_filesystems(observation.filesystems),
        "measuredAt": {
            uid: [stats.time, stats.disk_time, stats.layers_time] for uid, stats in observation.pod_stats.items()
        },
        "fillRates": _fill_rates(observation.node),
        "stopTime": None if observation.node is None else observation.node.stop_time,
        "cleanedUp": sorted(outcomes.cleaned_up),
        "collecting": None if outcomes.collecting is None else sorted(d.value for d in outcomes.collecting),
        "answers": [_encode_answer(answer) for answer in outcomes.answers],
        "dryRun": outcomes.dry_run,
        "apiPodsStandalone": observation.api_pods_standalone,
        "ownPods": sorted(observation.own_pods),
        "problems": [{"source": problem.source, "detail": problem.detail} for problem in observation.problems],
    }
    if outcomes.reclaimed is not None:
        plain["reclaimed"] = [_encode_outcome(outcome) for outcome in outcomes.reclaimed]
    return plain


def decode_observation(plain: Mapping[str, Any]) -> Observation:
    """Decode an observation; raises `InputError` for its Kubernetes parts, `KeyError` and `ValueError` for the others."""
    node, pod_stats = decode_summary(plain["summary"])
    return Observation(
        node=None if plain["summaryFailed"] else _with_measured(node, plain),
        pods=tuple(decode_pod(pod) for pod in plain["pods"]),
        pod_stats=_with_times(pod_stats, plain.get("measuredAt", {})),
        filesystems=decode_filesystems(plain["filesystems"]),
        outcomes=_outcomes(plain),
        own_pods=frozenset(plain.get("ownPods", ())),
        api_pods_standalone=plain.get("apiPodsStandalone", False),
        problems=tuple(Problem(source=p["source"], detail=p["detail"]) for p in plain["problems"]),
    )


def _with_times(pod_stats: Mapping[str, PodStats], times: Mapping[str, Any]) -> dict[str, PodStats]:
    result = {}
    for uid, stats in pod_stats.items():
        time, disk_time, layers_time = times.get(uid, (stats.time, stats.disk_time, stats.layers_time))
        result[uid] = replace(stats, time=time, disk_time=disk_time, layers_time=layers_time)
    return result


def _fill_rates(node: NodeStats | None) -> Plain:
    """Encode the fill rates that were measured, in bytes per second, by signal; a stats summary has no field for them."""
    parts = () if node is None else zip(_FILLED, (node.memory, node.pods_memory, node.rlimit), strict=True)
    return {signal.value: part.fill_rate for signal, part in parts if part is not None and part.fill_rate is not None}


def _with_measured(node: NodeStats, plain: Mapping[str, Any]) -> NodeStats:
    rates: Mapping[str, int] = plain.get("fillRates", {})
    memory, pods, pids = (rates.get(signal.value) for signal in _FILLED)
    return replace(
        node,
        memory=node.memory and replace(node.memory, fill_rate=memory),
        pods_memory=node.pods_memory and replace(node.pods_memory, fill_rate=pods),
        rlimit=node.rlimit and replace(node.rlimit, fill_rate=pids),
        stop_time=plain.get("stopTime"),
    )


def _outcomes(plain: Mapping[str, Any]) -> Outcomes:
    reclaimed, collecting = plain.get("reclaimed"), plain.get("collecting")
    return Outcomes(
        reclaimed=None if reclaimed is None else tuple(_outcome(outcome) for outcome in reclaimed),
        collecting=None if collecting is None else frozenset(Filesystem(device) for device in collecting),
        cleaned_up=frozenset(plain["cleanedUp"]),
        answers=tuple(_answer(answer) for answer in plain.get("answers", ())),
        dry_run=plain.get("dryRun", False),
    )


def _encode_outcome(outcome: ReclaimOutcome) -> Plain:
    return {
        "action": outcome.action.value,
        "freedBytes": outcome.freed_bytes,
        "removed": outcome.removed,
        "error": outcome.error,
        "device": None if outcome.device is None else outcome.device.value,
    }


def _outcome(plain: Mapping[str, Any]) -> ReclaimOutcome:
    device = plain.get("device")
    return ReclaimOutcome(
        action=Reclaim(plain["action"]),
        freed_bytes=plain["freedBytes"],
        removed=plain["removed"],
        error=plain["error"],
        device=None if device is None else Filesystem(device),
    )


def _encode_answer(answer: EvictionAnswer) -> Plain:
    return {
        "uid": answer.uid,
        "kind": answer.kind.value,
        "at": answer.at,
        "retryAfter": answer.retry_after,
        "detail": answer.detail,
    }


def _answer(plain: Mapping[str, Any]) -> EvictionAnswer:
    return EvictionAnswer(
        uid=plain["uid"],
        kind=EvictionAnswerKind(plain["kind"]),
        at=plain["at"],
        retry_after=plain["retryAfter"],
        detail=plain["detail"],
    )


def encode_filesystems(filesystems: Filesystems) -> Plain:
    """Encode the filesystem layout."""
    return {
        "dedicatedImageFs": filesystems.dedicated_image_fs,
        "splitContainerFs": filesystems.split_container_fs,
    }


def decode_filesystems(plain: Mapping[str, Any]) -> Filesystems:
    """Decode the filesystem layout."""
    return Filesystems(dedicated_image_fs=plain["dedicatedImageFs"], split_container_fs=plain["splitContainerFs"])
