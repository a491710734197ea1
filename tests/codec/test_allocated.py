"""Requests and limits of pods that were resized in place."""

from typing import Any

import pytest

from evictd.codec.pod import decode_pod, encode_pod
from evictd.core.units.quantity import parse_quantity


def wire(**spec: Any) -> dict[str, Any]:
    """A v1.Pod with this spec."""
    return {"metadata": {"name": "p", "namespace": "default", "uid": "u"}, "spec": spec}


MEMORY_AND_DISK = {"memory": "64Gi", "ephemeral-storage": "1Gi"}


@pytest.mark.parametrize(
    ("status", "request_", "limit"),
    [
        ({}, "64Gi", "64Gi"),
        ({"allocatedResources": {"memory": "1Gi"}}, "1Gi", "64Gi"),
        ({"allocatedResources": {"memory": "1Gi"}, "resources": {"limits": {"memory": "2Gi"}}}, "1Gi", "2Gi"),
        ({"resources": {"requests": {"memory": "1Gi"}}}, "1Gi", None),
        ({"resources": {}}, None, None),
        ({"allocatedResources": {"cpu": "1"}, "resources": {"requests": {"cpu": "1"}}}, None, None),
    ],
    ids=[
        "not reported",
        "requests only",
        "both",
        "without allocatedResources",
        "nothing allocated",
        "memory was added",
    ],
)
@pytest.mark.parametrize("init", [False, True], ids=["container", "sidecar"])
def test_the_requests_are_the_allocated_ones(
    status: dict[str, Any], request_: str | None, limit: str | None, *, init: bool
) -> None:
    """As the kubelet's `getAllocatedPods`; only memory and cpu can be resized (`updatePodFromAllocation`)."""
    resources = {"requests": MEMORY_AND_DISK, "limits": {"memory": "64Gi"}}
    container = {"name": "main", "resources": resources, "restartPolicy": "Always"}
    document = wire(**{"initContainers" if init else "containers": [container]})
    statuses = [{"name": "other", "allocatedResources": {"memory": "9Gi"}}, {"name": "main", **status}]
    document["status"] = {"initContainerStatuses" if init else "containerStatuses": statuses}
    pod = decode_pod(document)
    (found,) = pod.init_containers if init else pod.containers
    assert found.requests.get("memory") == (request_ and parse_quantity(request_))
    assert found.limits.get("memory") == (limit and parse_quantity(limit))
    assert found.requests["ephemeral-storage"] == parse_quantity("1Gi")
    assert decode_pod(encode_pod(pod)) == pod


def test_pod_level_requests_are_the_allocated_ones() -> None:
    """Recorded from kubelet 1.36.2: where a pod has none of its own, its status has the sum of its containers."""
    status = {
        "allocatedResources": {"cpu": "10m", "ephemeral-storage": "1Mi", "memory": "1Gi"},
        "resources": {"limits": {"memory": "2Gi"}, "requests": {"memory": "1Gi"}},
    }
    resized = {**wire(resources={"requests": {"memory": "64Gi"}, "limits": {"memory": "64Gi"}}), "status": status}
    level = decode_pod(resized).resources
    assert level is not None
    assert level.requests == {"memory": parse_quantity("1Gi")}
    assert level.limits == {"memory": parse_quantity("2Gi")}
    assert decode_pod({**wire(), "status": status}).resources is None
