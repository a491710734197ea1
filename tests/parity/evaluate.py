"""What evictd says to the kubelet's inputs: `python tests/parity/evaluate.py FILE...`.

Reads vector files (JSON lines, gzip or plain; tests/data/vectors/README.md), evaluates each line under `decisionPolicy:
Kubelet` without looking at `expect`, and prints one JSON line for each, in the same order. Comparing is `compare.py`'s task.
"""

# ruff: noqa: E402 - run as a file, it has to find the project first
import gzip
import json
import math
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

sys.path[:0] = [str(Path(__file__).parents[2]), str(Path(__file__).parents[2] / "src")]

from evictd.codec.config.kubelet_config import eviction_config
from evictd.codec.pods.pod import decode_pod
from evictd.codec.scenario import decode_scenario
from evictd.core.model.config import Policy
from evictd.core.model.decision import EvictPod, ReclaimNode, RecordEvent
from evictd.core.model.oom import oom_score_adj
from evictd.core.model.pod import Pod
from evictd.core.model.threshold import Threshold, ThresholdValue
from evictd.core.units.duration import format_duration, parse_duration
from evictd.core.units.quantity import NANO, parse_quantity
from evictd.errors import EvictdError, InvalidValueError
from evictd.simulation import SimulatedCycle, simulate
from tests.parity import gc

Document = dict[str, Any]


def read_lines(path: Path) -> Iterator[Document]:
    """Yield the documents of a vector file."""
    data = path.read_bytes()
    text = gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data
    for line in text.splitlines():
        if line.strip():
            yield json.loads(line)


def evaluate(document: Document) -> Document:
    """Answer one document in the form of its `expect`."""
    answer = EVALUATORS.get(document["kind"])
    result: Document = {"name": document.get("name", "")}
    if answer is None:
        return {**result, "error": f"unknown kind {document['kind']!r}"}
    try:
        return {**result, **answer(document)}
    except EvictdError as error:
        return {**result, "error": str(error)}


def _scenario(document: Document) -> Document:
    scenario = decode_scenario({key: value for key, value in document.items() if key != "expect"})
    config = eviction_config(scenario.config, policy=Policy.KUBELET)
    return {
        "outcome": [
            _cycle(step["at"], cycle, "admit" in document)
            for step, cycle in zip(document["steps"], simulate(scenario, config), strict=True)
        ]
    }


def _cycle(at: str, cycle: SimulatedCycle, with_admissions: bool) -> Document:
    outcome: Document = {
        "at": at,
        "conditions": sorted(condition.value for condition in cycle.state.node_conditions),
        "reclaimed": [action.value for d in cycle.decisions if isinstance(d, ReclaimNode) for action in d.actions],
        "evicted": sorted(
            (_eviction(d) for d in cycle.decisions if isinstance(d, EvictPod)), key=lambda e: str(e["uid"])
        ),
        "nodeEvents": [f"{d.type} {d.reason} {d.message}" for d in cycle.decisions if isinstance(d, RecordEvent)],
    }
    if with_admissions:
        outcome["admit"] = {
            pod.name: "admit" if answer.admitted else f"reject {answer.reason}" for pod, answer in cycle.admissions
        }
    return outcome


def _eviction(decision: EvictPod) -> Document:
    condition = decision.condition
    eviction: Document = {
        "pod": decision.pod.full_name,
        "uid": decision.pod.uid,
        "gracePeriodSeconds": decision.grace_period_seconds,
        "phase": "Failed",
        "reason": "Evicted",
        "message": decision.message,
    }
    if decision.annotations:
        eviction["annotations"] = dict(decision.annotations)
    if condition is not None:
        eviction["disruptionTarget"] = f"{condition.type}={condition.status} {condition.reason}"
    return eviction


def _quantities(document: Document) -> Document:
    for value in document["expect"]["values"]:
        value.pop("milliValue", None)  # Go's `MilliValue()`, which nothing here needs
    return {"values": [_or_error(_quantity, text) for text in document["inputs"]]}


def _quantity(text: str) -> Document:
    quantity = parse_quantity(text)
    return {
        "string": str(quantity),
        "value": quantity.value(),
        "sign": quantity.sign,
    }


def _durations(document: Document) -> Document:
    return {"values": [_or_error(_duration, text) for text in document["inputs"]]}


def _duration(text: str) -> Document:
    nanoseconds = parse_duration(text)
    return {"nanoseconds": nanoseconds, "string": format_duration(nanoseconds)}


def _or_error(read: Callable[[str], Document], text: str) -> Document:
    try:
        return read(text)
    except InvalidValueError:
        return {"error": True}


def _thresholds(document: Document) -> Document:
    config = eviction_config({"evictionHard": {}, **document["config"]}, policy=Policy.KUBELET)
    values = sorted(_threshold(threshold) for threshold in config.thresholds)
    return {"values": values} if values else {}


def _threshold(threshold: Threshold) -> str:
    reclaim = "-" if threshold.min_reclaim is None else _threshold_value(threshold.min_reclaim)
    grace = format_duration(threshold.grace_period)
    value = _threshold_value(threshold.value)
    return f"{threshold.signal.value} {threshold.operator.value} {value} grace={grace} reclaim={reclaim}"


def _threshold_value(value: ThresholdValue) -> str:
    if value.quantity is not None:
        return str(value.quantity)
    return "NaN" if math.isnan(value.fraction) else f"{value.fraction:.6f}"


def _pods(document: Document) -> Document:
    return {"values": [_pod(decode_pod(pod), document["memoryCapacity"]) for pod in document["pods"]]}


def _pod(pod: Pod, memory_capacity: int) -> Document:
    limit = pod.resource_totals.storage_limit
    return {
        "qosClass": pod.qos_class.value,
        "memoryRequest": -(-pod.resource_totals.memory_request // NANO),
        "ephemeralStorageRequest": -(-pod.resource_totals.storage_request_as_kubelet // NANO),
        "ephemeralStorageLimit": "" if limit is None else str(limit),
        "priority": pod.priority,
        "critical": pod.critical,
        "oomScoreAdj": {
            c.name: oom_score_adj(pod, c, memory_capacity) for c in (*pod.containers, *pod.init_containers)
        },
    }


EVALUATORS: dict[str, Callable[[Document], Document]] = {
    "scenario": _scenario,
    "quantity": _quantities,
    "duration": _durations,
    "thresholds": _thresholds,
    "pod": _pods,
    "image-gc": gc.evaluate,
    "container-gc": gc.evaluate,
}


def main(paths: list[str]) -> int:
    """Evaluate every line of every file."""
    for path in paths:
        for document in read_lines(Path(path)):
            print(json.dumps(evaluate(document), sort_keys=True))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
