"""The fields that the pods of a scenario can have, and the resources of their containers."""

from dataclasses import replace
from typing import Any

import kubernetes.client
import pytest

from evictd.codec.pods.pod_fields import resource_problems, resource_remedy, unknown_pod_fields
from evictd.core.model.resources import Container
from evictd.core.units.quantity import parse_quantity
from tests.playbook import pod


def texts(**parts: Any) -> list[str]:
    """What is found in a scenario with one pod."""
    return [str(each) for each in unknown_pod_fields({"pods": [parts], "steps": [{"at": "0s"}]})]


@pytest.mark.parametrize(
    ("parts", "text"),
    [
        (
            {"spec": {"containers": [{"resources": {"request": {"memory": "1Gi"}}}]}},
            "pods[0].spec.containers[0].resources.request: unknown field; did you mean requests?",
        ),
        ({"metadata": {"label": {}}}, "pods[0].metadata.label: unknown field; did you mean labels?"),
        ({"spec": {"prioritty": 1}}, "pods[0].spec.prioritty: unknown field; did you mean priority?"),
        (
            {"spec": {"volumes": [{"emptyDir": {"sizelimit": "1Gi"}}]}},
            "pods[0].spec.volumes[0].emptyDir.sizelimit: unknown field; did you mean sizeLimit?",
        ),
        ({"status": {"fase": ""}}, "pods[0].status.fase: unknown field; did you mean phase?"),
    ],
)
def test_a_misspelt_field_has_its_place_and_the_one_that_was_meant(parts: dict[str, Any], text: str) -> None:
    assert texts(**parts) == [text]


def test_pods_of_every_part_of_a_scenario_are_looked_at() -> None:
    plain: dict[str, Any] = {"sec": {}}
    steps = [{"at": "0s"}, {"at": "1s", "pods": [plain]}]
    paths = [each.path for each in unknown_pod_fields({"pods": [plain], "admit": [{}, plain], "steps": steps})]
    assert paths == ["pods[0].sec", "admit[1].sec", "steps[1].pods[0].sec"]


@pytest.mark.parametrize(
    ("model", "below"),
    [
        ("V1Pod", lambda fields: fields),
        ("V1ObjectMeta", lambda fields: {"metadata": fields}),
        ("V1OwnerReference", lambda fields: {"metadata": {"ownerReferences": [fields]}}),
        ("V1PodSpec", lambda fields: {"spec": fields}),
        ("V1Container", lambda fields: {"spec": {"containers": [fields], "initContainers": [fields]}}),
        ("V1ResourceRequirements", lambda fields: {"spec": {"containers": [{"resources": fields}]}}),
        ("V1Toleration", lambda fields: {"spec": {"tolerations": [fields]}}),
        ("V1Volume", lambda fields: {"spec": {"volumes": [fields]}}),
        ("V1EmptyDirVolumeSource", lambda fields: {"spec": {"volumes": [{"emptyDir": fields}]}}),
        ("V1HostPathVolumeSource", lambda fields: {"spec": {"volumes": [{"hostPath": fields}]}}),
        ("V1PodStatus", lambda fields: {"status": fields}),
        ("V1ContainerStatus", lambda fields: {"status": {"containerStatuses": [fields]}}),
    ],
)
def test_every_field_of_kubernetes_is_known(model: str, below: Any) -> None:
    """Whether evictd reads it or not."""
    names = getattr(kubernetes.client, model).attribute_map.values()
    assert texts(**below(dict.fromkeys(names))) == []


@pytest.mark.parametrize("name", ["cpu", "memory", "ephemeral-storage", "hugepages-2Mi", "nvidia.com/gpu"])
def test_resources_of_containers_are_known(name: str) -> None:
    assert resource_remedy(name) == ""


def test_a_name_that_is_misspelt_has_the_one_that_was_meant() -> None:
    assert resource_remedy("mem") == "did you mean memory?"
    assert resource_remedy("ephemeralStorage") == "did you mean ephemeral-storage?"
    assert resource_remedy("x") == "give cpu, memory, ephemeral-storage, hugepages-SIZE, or a name as example.com/gpu"


def test_a_problem_has_the_place() -> None:
    container = Container(name="main", limits={"memroy": parse_quantity("1Gi")})
    assert list(resource_problems([pod("a"), replace(pod("b"), containers=(container,))])) == [
        "pods[1].spec.containers[0].resources.limits.memroy: 1Gi: is an unknown resource; did you mean memory?"
    ]
