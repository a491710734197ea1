"""Small stories for the tests of this room, and the files they are compared with."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from evictd.codec.scenario import Scenario, decode_scenario
from evictd.commands.inputs.source import own_config, read_scenario
from evictd.core.model.config import Policy
from evictd.simulation import SimulatedCycle, simulate

ROOT = Path(__file__).parents[1]
SCENARIOS = ROOT / "config" / "scenarios"
GOLDEN = ROOT / "tests" / "golden"
GI = 2**30
MI = 2**20


def check_golden(name: str, text: str) -> None:
    """Compare with a golden file; UPDATE_GOLDEN=1 writes it anew (docs/development.md)."""
    path = GOLDEN / name
    if os.environ.get("UPDATE_GOLDEN"):
        path.write_text(text)
    assert text == path.read_text(), f"{path.name} differs; UPDATE_GOLDEN=1 writes it anew"


def played(name: str, policy: Policy | None = None) -> tuple[Scenario, tuple[SimulatedCycle, ...]]:
    """Play one of the scenarios that ship with the project."""
    scenario = read_scenario(SCENARIOS / f"{name}.yaml")
    return scenario, tuple(simulate(scenario, own_config(scenario, policy)))


def pod(name: str, *, priority: int = 0, memory: str = "", **metadata: Any) -> dict[str, Any]:
    """Make a v1.Pod of one container."""
    requests = {"memory": memory} if memory else {}
    return {
        "metadata": {"name": name, "namespace": "default", "uid": name, **metadata},
        "spec": {"priority": priority, "containers": [{"name": "main", "resources": {"requests": requests}}]},
    }


def memory_step(at: str, available: int, usage: dict[str, int]) -> dict[str, Any]:
    """Make a step of a node with 8 GiB of memory, and of pods by what they use."""
    pods = [
        {"podRef": {"name": name, "namespace": "default", "uid": name}, "memory": {"workingSetBytes": used}}
        for name, used in usage.items()
    ]
    node = {"memory": {"availableBytes": available, "workingSetBytes": 8 * GI - available}}
    return {"at": at, "summary": {"node": node, "pods": pods}}


def memory_story(steps: Sequence[dict[str, Any]], pods: Sequence[dict[str, Any]], **config: Any) -> Scenario:
    """Make a scenario with a hard memory threshold of 500Mi, unless told otherwise."""
    fields = {"evictionHard": {"memory.available": "500Mi"}, "enforceNodeAllocatable": ["none"], **config}
    return decode_scenario({"name": "story", "config": fields, "pods": list(pods), "steps": list(steps)})
