"""Pods under the systemd cgroup driver: where the runtime says they are, and what class they have there."""

import pytest

from evictd.core.qos import QOSClass
from evictd.observe.manifests import ManifestReader
from evictd.observe.pods import active_pods
from evictd.observe.runtime_view import RuntimeReader
from tests.vm.guest.node import CGROUPS, MANIFESTS, Node, pod_cgroup
from tests.vm.guest.workload import Workload

pytestmark = pytest.mark.vm


def test_the_runtime_tells_each_pods_slice(machine: Node, workload: Workload) -> None:
    told = RuntimeReader(machine.client).read(0).pod_cgroups
    for pod in workload.values():
        assert CGROUPS / told[pod.uid].lstrip("/") == pod_cgroup(pod)
        assert (pod_cgroup(pod) / f"cri-containerd-{pod.container_id}.scope").is_dir()


def test_the_class_follows_from_the_slice_where_there_is_no_manifest(machine: Node, workload: Workload) -> None:
    found = active_pods(RuntimeReader(machine.client).read(0), ManifestReader(None).read())
    assert {pod.uid: pod.qos_class for pod in found} == {pod.uid: qos for qos, pod in workload.items()}
    assert not any(pod.spec_known for pod in found)


def test_the_manifest_adds_requests_without_making_the_pod_static(machine: Node, workload: Workload) -> None:
    pods = active_pods(RuntimeReader(machine.client).read(0), ManifestReader(MANIFESTS).read())
    found = {pod.uid: pod for pod in pods}
    burstable = found[workload[QOSClass.BURSTABLE].uid]
    assert burstable.accounts.memory_request == (32 << 20) * 10**9
    assert not any(pod.critical for pod in pods)
