"""Summaries made of Prometheus' answers."""

import json
from pathlib import Path
from typing import Any

import pytest

from evictd.cli import main
from evictd.commands.inputs.raw_files import prometheus_scenario
from evictd.core.units.duration import SECOND
from evictd.errors import InputError
from tests.commands.raw_node import GI, pods_json

START = 1_767_225_600.5


def answer(folder: Path, name: str, *series: tuple[dict[str, str], list[float]]) -> Path:
    result = [
        {"metric": labels, "values": [[START + 15 * step, str(value)] for step, value in enumerate(values)]}
        for labels, values in series
    ]
    path = folder / name
    path.write_text(json.dumps({"status": "success", "data": {"resultType": "matrix", "result": result}}))
    return path


def node(name: str, signal: str, *values: float) -> tuple[dict[str, str], list[float]]:
    return {"__name__": f"evictd_signal_{name}", "eviction_signal": signal}, list(values)


def container(pod: str, name: str, *values: float) -> tuple[dict[str, str], list[float]]:
    labels = {"__name__": "container_memory_working_set_bytes", "namespace": "default", "pod": pod, "container": name}
    return labels, list(values)


def test_evictds_own_signals_and_the_kubelets_pods(tmp_path: Path) -> None:
    """Containers are added up; the pod's own cgroup (an empty container) is not counted again."""
    nodes = answer(
        tmp_path, "node.json",
        node("available", "memory.available", 3 * GI, GI), node("capacity", "memory.available", 8 * GI, 8 * GI),
        node("available", "nodefs.available", 80 * GI, 79 * GI), node("capacity", "nodefs.available", 100 * GI, 100 * GI),
    )  # fmt: skip
    pods = answer(
        tmp_path, "pods.json.answer",
        container("web", "main", GI, 2 * GI), container("web", "side", 5, float("nan")), container("web", "", 9 * GI, 9 * GI),
    )  # fmt: skip
    scenario = prometheus_scenario(pods_json(tmp_path, node="node-2"), [nodes, pods])
    assert [step.at for step in scenario.steps] == [0, 15 * SECOND]
    summaries = [step.summary for step in scenario.steps]
    assert summaries[0] is not None
    assert summaries[1] is not None
    memory, stats = summaries[1][0].memory, summaries[0][1]["uid-web"].memory
    assert memory is not None
    assert (memory.available_bytes, memory.working_set_bytes) == (GI, 7 * GI)
    assert stats is not None
    assert stats.working_set_bytes == GI + 5


def test_the_machine_and_the_root_cgroup_will_do(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    root = ({"__name__": "container_memory_working_set_bytes", "id": "/"}, [float(GI), 8 * GI - 1.0])
    machine = ({"__name__": "machine_memory_bytes"}, [8.0 * GI] * 2)
    path = answer(
        tmp_path, "a.json", root, machine, container("web", "main", GI, 5 * GI), container("db", "main", 1, 1)
    )
    pods = pods_json(tmp_path)
    assert main(["simulate", "--pods", str(pods), "--prometheus", str(path), "--output", "json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert [step["evicted"] for step in document["steps"]] == [[], ["default/web"]]


@pytest.mark.parametrize(
    "plain", [{}, {"data": {"result": [3]}}, {"data": {"result": [{"metric": {}, "values": [["x", "1"]]}]}}]
)
def test_another_file_is_a_clear_error(tmp_path: Path, plain: dict[str, Any]) -> None:
    path = tmp_path / "a.json"
    path.write_text(json.dumps(plain))
    with pytest.raises(InputError, match="is no answer of Prometheus"):
        prometheus_scenario(pods_json(tmp_path), [path])
    with pytest.raises(InputError, match="no time has the node's memory"):
        prometheus_scenario(pods_json(tmp_path), [answer(tmp_path, "b.json", container("web", "main", 1))])
