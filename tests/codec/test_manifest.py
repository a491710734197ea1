"""Manifests of `staticPodPath`, with the kubelet's defaults."""

from collections.abc import Mapping

import pytest

from evictd.codec.pods.manifest import decode_manifest
from evictd.core.model.pod import PodSource
from evictd.core.model.resources import QOSClass
from evictd.errors import InputError


def manifest(metadata: Mapping[str, object], **spec: object) -> dict[str, object]:
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": {"containers": [{"name": "c"}], **spec}}


def test_a_manifest_is_a_static_pod_in_the_default_namespace() -> None:
    found = decode_manifest(manifest({"name": "web"}))
    assert (found.pod.full_name, found.pod.source, found.pod.uid) == ("default/web", PodSource.STATIC, "")
    assert found.restart_policy == "Always"


def test_a_manifest_that_says_api_may_be_evicted() -> None:
    annotations = {"kubernetes.io/config.source": "api", "kubernetes.io/config.hash": "h1"}
    found = decode_manifest(manifest({"name": "web", "annotations": annotations}, restartPolicy="Never"))
    assert (found.pod.source, found.config_hash, found.restart_policy) == (PodSource.API, "h1", "Never")


def test_requests_priority_and_volumes_are_read() -> None:
    resources = {"requests": {"memory": "64Mi"}, "limits": {"memory": "128Mi"}}
    data = manifest(
        {"name": "web", "namespace": "shop", "uid": "u1"},
        containers=[{"name": "c", "resources": resources}],
        priority=7,
        volumes=[{"name": "cache", "emptyDir": {"sizeLimit": "1Gi"}}],
    )
    pod = decode_manifest(data).pod
    assert (pod.uid, pod.priority, pod.resource_totals.memory_request) == ("u1", 7, (64 << 20) * 10**9)
    assert [volume.name for volume in pod.volumes] == ["cache"]
    assert pod.spec_known


def test_a_limit_is_a_request_where_there_is_none() -> None:
    """Else a pod of limits alone would not be Guaranteed, and would exceed a request of nothing."""
    amounts = {"cpu": "100m", "memory": "64Mi"}
    containers = [{"name": "c", "resources": {"limits": amounts}}]
    pod = decode_manifest(manifest({"name": "web"}, containers=containers, initContainers=containers)).pod
    assert (pod.qos_class, pod.resource_totals.memory_request) == (QOSClass.GUARANTEED, (64 << 20) * 10**9)
    part = [{"name": "c", "resources": {"limits": amounts, "requests": {"memory": "16Mi"}}}]
    pod = decode_manifest(manifest({"name": "web"}, containers=part)).pod
    assert (pod.qos_class, pod.resource_totals.memory_request) == (QOSClass.BURSTABLE, (16 << 20) * 10**9)
    assert pod.containers[0].requests.keys() == {"cpu", "memory"}


@pytest.mark.parametrize(
    ("data", "words"),
    [
        ({}, "kind Pod"),
        ({"apiVersion": "apps/v1", "kind": "Deployment"}, "Deployment"),
        ({"apiVersion": "v1", "kind": "Pod"}, "metadata.name"),
        ({"apiVersion": "v1", "kind": "Pod", "metadata": []}, "metadata: want a mapping"),
        ({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a", "annotations": "x"}}, "annotations"),
        (manifest({"name": "a"}, priority="high"), "priority"),
        (manifest({"name": "a"}, containers=[{"resources": {"requests": {"memory": "lots"}}}]), "quantity"),
        (manifest({"name": "a"}, containers="none"), "containers"),
    ],
)
def test_what_is_no_manifest_is_refused_with_its_fault(data: dict[str, object], words: str) -> None:
    with pytest.raises(InputError, match=words):
        decode_manifest(data)
