"""The fields that the pods of a scenario can have."""

from typing import Any

import kubernetes.client
import pytest

from evictd.codec.pod_fields import unknown_pod_fields


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
    pod: dict[str, Any] = {"sec": {}}
    steps = [{"at": "0s"}, {"at": "1s", "pods": [pod]}]
    paths = [each.path for each in unknown_pod_fields({"pods": [pod], "admit": [{}, pod], "steps": steps})]
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
