"""A scenario: a node's story as data, to be decided again by the core.

The format is Kubernetes' own JSON (KubeletConfiguration fields, v1.Pod, stats/summary v1alpha1) in a frame of steps; `capture`
writes it, `simulate`, `explain` and the comparison with the kubelet read it (docs/scenarios.md).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import msgspec

from evictd.codec.pod import decode_pod, encode_pod
from evictd.codec.summary import decode_summary, encode_summary
from evictd.core.duration import format_duration, parse_duration
from evictd.core.observation import Filesystems
from evictd.core.pod import Pod
from evictd.core.stats import NodeStats, PodStats
from evictd.errors import InputError, InvalidValueError

Summary = tuple[NodeStats, Mapping[str, PodStats]]


@dataclass(frozen=True, slots=True, kw_only=True)
class ScenarioStep:
    """One reading of the node; `at` in nanoseconds since the start of the story."""

    at: int
    summary: Summary | None
    """`None`: the reading failed."""
    summary_after_reclaim: Summary | None = None
    """What the node looks like once a node-level reclaim has run in this step; `None`: as before."""
    absent: frozenset[str] = frozenset()
    """Uids of pods that are not active in this step."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """The whole story."""

    name: str
    config: Mapping[str, Any]
    """KubeletConfiguration fields by their YAML names."""
    evictd: Mapping[str, Any]
    """EvictdConfiguration fields by their YAML names; may be empty."""
    filesystems: Filesystems
    pods: tuple[Pod, ...]
    admit: tuple[Pod, ...] = ()
    """Pods that ask for admission after every step."""
    steps: tuple[ScenarioStep, ...] = ()
    evicted_pods_stay_active: bool = False


class _Wire(msgspec.Struct, rename="camel", frozen=True, forbid_unknown_fields=True):
    """A part of a scenario file: a misspelt field is an error, not a silence."""


class _WireFilesystems(_Wire, frozen=True):
    dedicated_image_fs: bool = False
    split_container_fs: bool = False


class _WireStep(_Wire, frozen=True):
    at: str
    summary: dict[str, Any] | None = None
    summary_after_reclaim: dict[str, Any] | None = None
    absent: tuple[str, ...] = ()


class _WireScenario(_Wire, frozen=True):
    steps: tuple[_WireStep, ...]
    kind: str = "scenario"
    name: str = ""
    config: dict[str, Any] = {}
    evictd: dict[str, Any] = {}
    filesystems: _WireFilesystems = _WireFilesystems()
    pods: tuple[dict[str, Any], ...] = ()
    admit: tuple[dict[str, Any], ...] = ()
    evicted_pods_stay_active: bool = False
    expect: Any = None


def decode_scenario(document: Mapping[str, Any]) -> Scenario:
    """Make a scenario of plain values (JSON or YAML already read); raises `InputError` with every path that is wrong."""
    try:
        wire = msgspec.convert(document, _WireScenario)
    except msgspec.ValidationError as error:
        raise InputError(f"scenario: {error}") from error
    if wire.kind != "scenario":
        raise InputError(f"kind: {wire.kind}: not a scenario; a scenario says `kind: scenario`")
    if not wire.steps:
        raise InputError("steps: there is none; a scenario needs at least one")
    pods = _pods("pods", wire.pods)
    _check_unique(pods)
    return Scenario(
        name=wire.name,
        config=wire.config,
        evictd=wire.evictd,
        filesystems=Filesystems(
            dedicated_image_fs=wire.filesystems.dedicated_image_fs,
            split_container_fs=wire.filesystems.split_container_fs,
        ),
        pods=pods,
        admit=_pods("admit", wire.admit),
        steps=_steps(wire.steps),
        evicted_pods_stay_active=wire.evicted_pods_stay_active,
    )


def _pods(path: str, documents: tuple[dict[str, Any], ...]) -> tuple[Pod, ...]:
    pods: list[Pod] = []
    problems: list[str] = []
    for index, document in enumerate(documents):
        try:
            pods.append(decode_pod(document))
        except InputError as error:
            problems.extend(f"{path}[{index}]: {problem}" for problem in error.problems)
    if problems:
        raise InputError(tuple(problems))
    return tuple(pods)


def _check_unique(pods: tuple[Pod, ...]) -> None:
    seen: set[str] = set()
    for index, pod in enumerate(pods):
        if not pod.uid:
            raise InputError(f"pods[{index}].metadata.uid: there is none; every pod needs one")
        if pod.uid in seen:
            raise InputError(f"pods[{index}].metadata.uid: {pod.uid}: another pod has it already; a uid names one pod")
        seen.add(pod.uid)


def _steps(wires: tuple[_WireStep, ...]) -> tuple[ScenarioStep, ...]:
    steps: list[ScenarioStep] = []
    for index, wire in enumerate(wires):
        path = f"steps[{index}]"
        try:
            at = parse_duration(wire.at)
            step = ScenarioStep(
                at=at,
                summary=_summary(wire.summary),
                summary_after_reclaim=_summary(wire.summary_after_reclaim),
                absent=frozenset(wire.absent),
            )
        except InvalidValueError as error:
            raise InputError(f"{path}.at: {wire.at}: {error}; a duration looks like 90s or 1m30s") from error
        except InputError as error:
            raise InputError(tuple(f"{path}.{problem}" for problem in error.problems)) from error
        if steps and at < steps[-1].at:
            before = format_duration(steps[-1].at)
            raise InputError(f"{path}.at: {wire.at}: a step back in time, after {before}; steps go forward")
        steps.append(step)
    return tuple(steps)


def _summary(document: dict[str, Any] | None) -> Summary | None:
    return None if document is None else decode_summary(document)


def encode_scenario(scenario: Scenario) -> dict[str, Any]:
    """Write a scenario as plain values; `decode_scenario` gives the same one back."""
    steps = []
    for step in scenario.steps:
        plain: dict[str, Any] = {"at": format_duration(step.at)}
        if step.summary is not None:
            plain["summary"] = encode_summary(*step.summary)
        if step.summary_after_reclaim is not None:
            plain["summaryAfterReclaim"] = encode_summary(*step.summary_after_reclaim)
        if step.absent:
            plain["absent"] = sorted(step.absent)
        steps.append(plain)
    return {
        "kind": "scenario",
        "name": scenario.name,
        "config": dict(scenario.config),
        "evictd": dict(scenario.evictd),
        "filesystems": {
            "dedicatedImageFs": bool(scenario.filesystems.dedicated_image_fs),
            "splitContainerFs": bool(scenario.filesystems.split_container_fs),
        },
        "pods": [encode_pod(pod) for pod in scenario.pods],
        "admit": [encode_pod(pod) for pod in scenario.admit],
        "steps": steps,
        "evictedPodsStayActive": scenario.evicted_pods_stay_active,
    }
