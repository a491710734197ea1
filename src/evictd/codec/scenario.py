"""Encodes and decodes scenarios: a configuration and readings of a node over time, for the core to decide.

The format consists of Kubernetes' own JSON (KubeletConfiguration fields, v1.Pod, stats/summary v1alpha1) in a list of steps.
`capture` writes it; `simulate`, `explain` and the comparison with the kubelet read it (docs/scenarios.md).
"""

from collections.abc import Mapping
from dataclasses import field
from typing import Any

import msgspec
from msgspec.structs import asdict

from evictd.codec.observation import add_beside, encode_beside
from evictd.codec.pods.pod import decode_pod, encode_pod
from evictd.codec.state import decode_state, encode_state
from evictd.codec.strict import unknown_fields
from evictd.codec.summary import decode_summary, encode_summary
from evictd.core.frozen import frozen
from evictd.core.model.observation import Filesystems, Problem
from evictd.core.model.pod import Pod
from evictd.core.model.state import State
from evictd.core.model.stats import NodeStats, PodStats
from evictd.core.units.duration import format_duration, parse_duration
from evictd.errors import InputError, InvalidValueError

KIND = "scenario"
Summary = tuple[NodeStats, Mapping[str, PodStats]]


@frozen
class MeasurementAges:
    """Ages of the parts of one pod's statistics in a step, in nanoseconds; `None`: never measured."""

    stats: int | None = 0
    """Memory and processes."""
    walk: int | None = 0
    """Logs and volumes."""
    layers: int | None = 0
    """Writable layers."""


@frozen
class BudgetAnswer:
    """A refusal by a PodDisruptionBudget of an eviction that an earlier step decided."""

    uid: str
    retry_after: int | None = None
    """In nanoseconds; `None` where the server names no time."""
    message: str = ""


@frozen
class ScenarioStep:
    """One reading of the node; `at` in nanoseconds since the start of the scenario."""

    at: int
    summary: Summary | None
    """`None`: the reading failed."""
    summary_after_reclaim: Summary | None = None
    """The node's statistics after a node-level reclaim in this step; `None`: unchanged."""
    absent: frozenset[str] = frozenset()
    """Uids of pods that are not active in this step."""
    ages: Mapping[str, MeasurementAges] = field(default_factory=dict)
    """By pod uid; pods that are not named were measured at the step's own time."""
    refusals: tuple[BudgetAnswer, ...] = ()
    """Evictions that budgets have refused since the last step: these pods stay."""
    pods: tuple[Pod, ...] = ()
    """Pods that are new or have changed, for example were deleted; they stay so in later steps."""
    ending: frozenset[str] = frozenset()
    """Uids of evicted pods that have not ended yet."""
    problems: tuple[Problem, ...] = ()
    """What could not be read; without pods a problem of the container runtime says that they are unknown."""
    state: State | None = None
    """The recorded state before this step. Of a later step only what was measured counts (`evictd.simulation`)."""


@frozen
class Scenario:
    """A complete scenario."""

    name: str
    config: Mapping[str, Any]
    """KubeletConfiguration fields by their YAML names."""
    evictd: Mapping[str, Any]
    """EvictdConfiguration fields by their YAML names; may be empty."""
    filesystems: Filesystems
    pods: tuple[Pod, ...]
    """Pods of the node that the summaries describe; pods bound to another node are left out."""
    admit: tuple[Pod, ...] = ()
    """Pods whose admission is decided after every step."""
    steps: tuple[ScenarioStep, ...] = ()
    evicted_pods_stay_active: bool = False
    begin: int | None = None
    """Wall clock of time 0 in nanoseconds, where it is known; not in a file."""

    @property
    def last_pods(self) -> tuple[Pod, ...]:
        """The pods as they are in the last step."""
        return tuple(
            {pod.uid: pod for pods in (self.pods, *(step.pods for step in self.steps)) for pod in pods}.values()
        )


class _Wire(msgspec.Struct, rename="camel", frozen=True):
    """A part of a scenario file; an unknown field is an error (`unknown_fields`)."""


class _WireFilesystems(_Wire, frozen=True):
    dedicated_image_fs: bool = False
    split_container_fs: bool = False


class _WireAges(_Wire, frozen=True):
    stats: str | None = "0s"
    walk: str | None = "0s"
    layers: str | None = "0s"


class _WireRefusal(_Wire, frozen=True):
    uid: str
    retry_after: str | None = None
    message: str = ""


class _WireProblem(_Wire, frozen=True):
    source: str
    detail: str = ""


class _WireStep(_Wire, frozen=True):
    at: str
    summary: dict[str, Any] | None = None
    summary_after_reclaim: dict[str, Any] | None = None
    absent: tuple[str, ...] = ()
    ages: dict[str, _WireAges] = {}
    refusals: tuple[_WireRefusal, ...] = ()
    measured: dict[str, Any] = {}
    measured_after_reclaim: dict[str, Any] = {}
    pods: tuple[dict[str, Any], ...] = ()
    ending: tuple[str, ...] = ()
    problems: tuple[_WireProblem, ...] = ()
    state: dict[str, Any] | None = None


class _WireScenario(_Wire, frozen=True):
    steps: tuple[_WireStep, ...]
    kind: str = KIND
    name: str = ""
    config: dict[str, Any] = {}
    evictd: dict[str, Any] = {}
    filesystems: _WireFilesystems = _WireFilesystems()
    pods: tuple[dict[str, Any], ...] = ()
    admit: tuple[dict[str, Any], ...] = ()
    evicted_pods_stay_active: bool = False
    expect: Any = None


def decode_scenario(document: Mapping[str, Any]) -> Scenario:
    """Decode a scenario from plain values (parsed JSON or YAML); raises `InputError` with the path of every fault."""
    if problems := tuple(map(str, unknown_fields(_WireScenario, document))):
        raise InputError(problems)
    try:
        wire = msgspec.convert(document, _WireScenario)
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        raise InputError(f"scenario: {error}") from error
    if wire.kind != KIND:
        raise InputError(f"kind: {wire.kind}: not a scenario; a scenario has `kind: {KIND}`")
    if not wire.steps:
        raise InputError("steps: there is none; a scenario needs at least one")
    pods = _pods("pods", wire.pods)
    _check_unique(pods)
    nodes = _node_names(wire.steps)
    return Scenario(
        name=wire.name,
        config=wire.config,
        evictd=wire.evictd,
        filesystems=Filesystems(**asdict(wire.filesystems)),
        pods=_here(pods, wire.pods, nodes),
        admit=_pods("admit", wire.admit),
        steps=_steps(wire.steps, nodes),
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


def _here(pods: tuple[Pod, ...], documents: tuple[dict[str, Any], ...], nodes: frozenset[str]) -> tuple[Pod, ...]:
    """Return the pods that their documents do not bind to another node."""
    return tuple(pod for pod, plain in zip(pods, documents, strict=True) if _is_here(plain, nodes))


def _node_names(steps: tuple[_WireStep, ...]) -> frozenset[str]:
    """Return the node names of the summaries; more than one if they describe several nodes."""
    nodes = (step.summary.get("node") for step in steps if step.summary is not None)
    names = (node.get("nodeName") for node in nodes if isinstance(node, Mapping))
    return frozenset(name for name in names if isinstance(name, str) and name)


def _is_here(pod: Mapping[str, Any], nodes: frozenset[str]) -> bool:
    """Whether a pod is bound to one of these nodes; true if either is unknown."""
    spec = pod.get("spec")
    bound_to = spec.get("nodeName") if isinstance(spec, Mapping) else None
    return not bound_to or not nodes or bound_to in nodes


def _check_unique(pods: tuple[Pod, ...]) -> None:
    seen: set[str] = set()
    for index, pod in enumerate(pods):
        if not pod.uid:
            raise InputError(f"pods[{index}].metadata.uid: there is none; every pod needs one")
        if pod.uid in seen:
            raise InputError(f"pods[{index}].metadata.uid: {pod.uid}: another pod has it already; a uid names one pod")
        seen.add(pod.uid)


def _steps(wires: tuple[_WireStep, ...], nodes: frozenset[str]) -> tuple[ScenarioStep, ...]:
    steps: list[ScenarioStep] = []
    for index, wire in enumerate(wires):
        path = f"steps[{index}]"
        try:
            at = _duration("at", wire.at) or 0
            step = ScenarioStep(
                at=at,
                summary=_summary(wire.summary, wire.measured),
                summary_after_reclaim=_summary(wire.summary_after_reclaim, wire.measured_after_reclaim),
                absent=frozenset(wire.absent),
                ages={uid: _ages(f"ages.{uid}", ages) for uid, ages in wire.ages.items()},
                refusals=tuple(_refusal(f"refusals[{i}]", each) for i, each in enumerate(wire.refusals)),
                pods=_here(_pods("pods", wire.pods), wire.pods, nodes),
                ending=frozenset(wire.ending),
                problems=tuple(Problem(**asdict(each)) for each in wire.problems),
                state=None if wire.state is None else decode_state(wire.state),
            )
        except InputError as error:
            raise InputError(tuple(f"{path}.{problem}" for problem in error.problems)) from error
        if steps and at < steps[-1].at:
            before = format_duration(steps[-1].at)
            raise InputError(f"{path}.at: {wire.at}: a step back in time, after {before}; steps go forward")
        steps.append(step)
    return tuple(steps)


def _duration(path: str, text: str | None) -> int | None:
    try:
        return None if text is None else parse_duration(text)
    except InvalidValueError as error:
        raise InputError(f"{path}: {text}: {error}; a duration looks like 90s or 1m30s") from error


def _ages(path: str, wire: _WireAges) -> MeasurementAges:
    return MeasurementAges(**{name: _duration(f"{path}.{name}", text) for name, text in asdict(wire).items()})


def _refusal(path: str, wire: _WireRefusal) -> BudgetAnswer:
    after = _duration(f"{path}.retryAfter", wire.retry_after)
    return BudgetAnswer(uid=wire.uid, retry_after=after, message=wire.message)


def _summary(document: dict[str, Any] | None, measured: dict[str, Any]) -> Summary | None:
    return None if document is None else add_beside(*decode_summary(document), measured)


def encode_scenario(scenario: Scenario) -> dict[str, Any]:
    """Encode a scenario as plain values; `decode_scenario` gives an equal one."""
    return {
        "kind": KIND,
        "name": scenario.name,
        "config": dict(scenario.config),
        "evictd": dict(scenario.evictd),
        "filesystems": {
            "dedicatedImageFs": bool(scenario.filesystems.dedicated_image_fs),
            "splitContainerFs": bool(scenario.filesystems.split_container_fs),
        },
        "pods": [encode_pod(pod) for pod in scenario.pods],
        "admit": [encode_pod(pod) for pod in scenario.admit],
        "steps": [_encode_step(step) for step in scenario.steps],
        "evictedPodsStayActive": scenario.evicted_pods_stay_active,
    }


def _encode_step(step: ScenarioStep) -> dict[str, Any]:
    parts = {
        "summary": step.summary and encode_summary(*step.summary),
        "summaryAfterReclaim": step.summary_after_reclaim and encode_summary(*step.summary_after_reclaim),
        "absent": sorted(step.absent),
        "ages": {
            uid: {name: _plain_duration(getattr(ages, name)) for name in _WireAges.__struct_fields__}
            for uid, ages in step.ages.items()
        },
        "refusals": [
            {"uid": each.uid, "retryAfter": _plain_duration(each.retry_after), "message": each.message}
            for each in step.refusals
        ],
        "measured": step.summary and encode_beside(*step.summary),
        "measuredAfterReclaim": step.summary_after_reclaim and encode_beside(*step.summary_after_reclaim),
        "pods": [encode_pod(pod) for pod in step.pods],
        "ending": sorted(step.ending),
        "problems": [{"source": each.source, "detail": each.detail} for each in step.problems],
        "state": None if step.state is None else encode_state(step.state),
    }
    return {"at": format_duration(step.at), **{name: part for name, part in parts.items() if part}}


def _plain_duration(duration: int | None) -> str | None:
    return None if duration is None else format_duration(duration)
