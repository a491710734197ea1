"""An observation as plain values: pods as v1.Pod, numbers as a stats summary, the rest beside them."""

from collections.abc import Mapping
from typing import Any

from evictd.codec.pod import decode_pod, encode_pod
from evictd.codec.summary import decode_summary, encode_summary
from evictd.core.observation import (
    Filesystems,
    Observation,
    Outcomes,
    Problem,
    Reclaim,
    ReclaimOutcome,
)
from evictd.core.stats import NodeStats

Plain = dict[str, Any]


def encode_observation(observation: Observation) -> Plain:
    """Write all that decisions look at; gauges are left out, they decide nothing."""
    outcomes = observation.outcomes
    plain: Plain = {
        "summary": encode_summary(observation.node or NodeStats(), observation.pod_stats),
        "summaryFailed": observation.node is None,
        "pods": [encode_pod(pod) for pod in observation.pods],
        "filesystems": encode_filesystems(observation.filesystems),
        "cleanedUp": sorted(outcomes.cleaned_up),
        "problems": [{"source": problem.source, "detail": problem.detail} for problem in observation.problems],
    }
    if outcomes.reclaimed is not None:
        plain["reclaimed"] = [
            {"action": o.action.value, "freedBytes": o.freed_bytes, "removed": o.removed, "error": o.error}
            for o in outcomes.reclaimed
        ]
    return plain


def decode_observation(plain: Mapping[str, Any]) -> Observation:
    """Read an observation back. Raises `InputError` for its Kubernetes parts, `KeyError` and `ValueError` for the others."""
    node, pod_stats = decode_summary(plain["summary"])
    reclaimed = plain.get("reclaimed")
    return Observation(
        node=None if plain["summaryFailed"] else node,
        pods=tuple(decode_pod(pod) for pod in plain["pods"]),
        pod_stats=pod_stats,
        filesystems=decode_filesystems(plain["filesystems"]),
        outcomes=Outcomes(
            reclaimed=None if reclaimed is None else tuple(_outcome(outcome) for outcome in reclaimed),
            cleaned_up=frozenset(plain["cleanedUp"]),
        ),
        problems=tuple(Problem(source=p["source"], detail=p["detail"]) for p in plain["problems"]),
    )


def _outcome(plain: Mapping[str, Any]) -> ReclaimOutcome:
    return ReclaimOutcome(
        action=Reclaim(plain["action"]),
        freed_bytes=plain["freedBytes"],
        removed=plain["removed"],
        error=plain["error"],
    )


def encode_filesystems(filesystems: Filesystems) -> Plain:
    """Write the layout."""
    return {
        "dedicatedImageFs": filesystems.dedicated_image_fs,
        "splitContainerFs": filesystems.split_container_fs,
    }


def decode_filesystems(plain: Mapping[str, Any]) -> Filesystems:
    """Read the layout back."""
    return Filesystems(dedicated_image_fs=plain["dedicatedImageFs"], split_container_fs=plain["splitContainerFs"])
