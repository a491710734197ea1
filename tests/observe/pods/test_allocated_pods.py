"""The requests of pods that only the runtime knows, from the kubelet's checkpoint."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from evictd.core.model.pod import Pod
from evictd.core.model.resources import Container
from evictd.core.units.quantity import of_bytes, parse_quantity
from evictd.observe.pods.allocated_pods import CHECKPOINT, AllocatedPods
from evictd.observe.reading.problems import Problems

GI = 1 << 30
DEDUCED = Container(name="main", requests={"memory": of_bytes(16 * GI)})
POD = Pod(name="web", namespace="ns", uid="u1", containers=(DEDUCED,), spec_known=False)
RECORDED = (
    '{"data":"{\\"entries\\":{\\"u1\\":{\\"ContainerResources\\":{\\"main\\":{\\"limits\\":{\\"memory\\":\\"2Gi\\"},'
    '\\"requests\\":{\\"cpu\\":\\"10m\\",\\"ephemeral-storage\\":\\"1Mi\\",\\"memory\\":\\"1Gi\\"}}},'
    '\\"PodLevelResources\\":null},\\"u2\\":{\\"ContainerResources\\":{\\"main\\":{}},\\"PodLevelResources\\":null}}}",'
    '"checksum":1454238097}'
)
"""As kubelet 1.36.2 writes it, with other uids and amounts."""


def complete(folder: Path, *pods: Pod) -> tuple[tuple[Pod, ...], list[str]]:
    problems = Problems()
    found = AllocatedPods(folder).complete(pods, problems)
    return found, [each.source for each in problems.found()]


def checkpoint(folder: Path, entries: Any) -> None:
    """Replace the file as the kubelet does."""
    (folder / "new").write_text(json.dumps({"data": json.dumps({"entries": entries}), "checksum": 1}))
    (folder / "new").rename(folder / CHECKPOINT)


def test_requests_and_limits_are_the_allocated_ones(tmp_path: Path) -> None:
    (tmp_path / CHECKPOINT).write_text(RECORDED)
    bare, other = replace(POD, name="bare", uid="u2"), replace(POD, name="other", uid="u3")
    found, problems = complete(tmp_path, POD, bare, other)
    (first,), (second,), (third,) = (pod.containers for pod in found)
    amounts = {"cpu": "10m", "ephemeral-storage": "1Mi", "memory": "1Gi"}
    assert first.requests == {name: parse_quantity(text) for name, text in amounts.items()}
    assert first.limits == {"memory": parse_quantity("2Gi")}
    assert second == Container(name="main")
    assert third == DEDUCED
    assert problems == []
    assert not any(pod.spec_known for pod in found), "priority and volumes are not in the file"


def test_pod_level_resources_are_read(tmp_path: Path) -> None:
    level = {"requests": {"memory": "1Gi"}}
    checkpoint(tmp_path, {"u1": {"ContainerResources": {"main": {}}, "PodLevelResources": level}})
    (pod,), _ = complete(tmp_path, POD)
    assert pod.resources is not None
    assert pod.resource_totals.memory_request == of_bytes(GI).nano


def test_a_pod_whose_spec_is_known_stays_as_it_is(tmp_path: Path) -> None:
    (tmp_path / CHECKPOINT).write_text(RECORDED)
    known = replace(POD, spec_known=True)
    assert complete(tmp_path, known) == ((known,), [])


def test_without_a_file_nothing_is_allocated_and_nothing_is_wrong(tmp_path: Path) -> None:
    assert complete(tmp_path, POD) == ((POD,), [])


@pytest.mark.parametrize(
    "text",
    ["", "{", "[]", '{"data": 7}', '{"data": "{"}', '{"data": "[]"}', '{"data": "{\\"entries\\": 7}"}',
     json.dumps({"data": json.dumps({"entries": {"u1": {"ContainerResources": {"main": {"requests": {"memory": "x"}}}}}})}),
     '{"data":' + "[" * 100_000],
)  # fmt: skip
def test_a_file_of_another_form_is_a_problem(tmp_path: Path, text: str) -> None:
    (tmp_path / CHECKPOINT).write_text(text)
    assert complete(tmp_path, POD) == ((POD,), ["allocated resources"])


def test_neither_a_symlink_nor_a_directory_nor_a_huge_file_is_read(tmp_path: Path) -> None:
    path = tmp_path / CHECKPOINT
    (tmp_path / "elsewhere").write_text(RECORDED)
    path.symlink_to("elsewhere")
    assert complete(tmp_path, POD) == ((POD,), ["allocated resources"])
    path.unlink()
    path.mkdir()
    assert complete(tmp_path, POD) == ((POD,), ["allocated resources"])
    path.rmdir()
    with path.open("wb") as file:
        file.truncate(17 << 20)
    assert complete(tmp_path, POD) == ((POD,), ["allocated resources"])


def test_a_file_that_was_replaced_is_read_again(tmp_path: Path) -> None:
    reader = AllocatedPods(tmp_path)
    seen = []
    for amount in ("1Gi", "2Gi"):
        checkpoint(tmp_path, {"u1": {"ContainerResources": {"main": {"requests": {"memory": amount}}}}})
        for _ in range(2):
            (pod,) = reader.complete([POD], Problems())
            seen.append(pod.containers[0].requests["memory"])
    assert seen == [parse_quantity(text) for text in ("1Gi", "1Gi", "2Gi", "2Gi")]
    (tmp_path / CHECKPOINT).unlink()
    assert reader.complete([POD], Problems()) == (POD,)
