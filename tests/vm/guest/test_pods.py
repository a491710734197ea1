"""Pods with the systemd cgroup driver: the slices that the runtime reports, and their QoS classes."""

import pytest

from evictd.core.model.resources import QOSClass
from evictd.observe.pods.manifests import ManifestReader
from evictd.observe.pods.node_pods import node_pods
from evictd.observe.runtime.runtime_view import RuntimeReader
from tests.vm.guest.node import CGROUPS, MANIFESTS, Node, pod_cgroup
from tests.vm.guest.workload import Workload

pytestmark = pytest.mark.vm


def test_the_runtime_reports_each_pods_slice(machine: Node, workload: Workload) -> None:
    told = RuntimeReader(machine.client).read(0).pod_cgroups
    for pod in workload.values():
        assert CGROUPS / told[pod.uid].lstrip("/") == pod_cgroup(pod)
        assert (pod_cgroup(pod) / f"cri-containerd-{pod.container_id}.scope").is_dir()


def test_the_class_follows_from_the_slice_where_there_is_no_manifest(machine: Node, workload: Workload) -> None:
    found = node_pods(RuntimeReader(machine.client).read(0), ManifestReader(None).read()).active
    assert {pod.uid: pod.qos_class for pod in found} == {pod.uid: qos for qos, pod in workload.items()}
    assert not any(pod.spec_known for pod in found)


def test_the_manifest_adds_requests_without_making_the_pod_static(machine: Node, workload: Workload) -> None:
    pods = node_pods(RuntimeReader(machine.client).read(0), ManifestReader(MANIFESTS).read()).active
    found = {pod.uid: pod for pod in pods}
    burstable = found[workload[QOSClass.BURSTABLE].uid]
    assert burstable.resource_totals.memory_request == (32 << 20) * 10**9
    assert not any(pod.critical for pod in pods)
