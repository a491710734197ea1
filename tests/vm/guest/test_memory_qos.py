"""Memory QoS on real cgroups: the documented values are written once, and the kernel takes them."""

import pytest

from evictd.act.memory_qos import enforce_memory_qos
from evictd.core.model.oom import MemoryQoSDifference, MemoryQoSRules, MemoryReservationPolicy
from evictd.core.model.resources import QOSClass
from evictd.observe.pods.manifests import ManifestReader
from evictd.observe.pods.memory_qos import memory_qos_differences
from evictd.observe.pods.node_pods import node_pods
from evictd.observe.runtime.runtime_view import RuntimeReader
from tests.vm.guest.node import CGROUPS, MANIFESTS, Node, pod_cgroup
from tests.vm.guest.workload import Workload

pytestmark = pytest.mark.vm

MIB = 1 << 20


def differences(machine: Node) -> tuple[MemoryQoSDifference, ...]:
    view = RuntimeReader(machine.client).read(0)
    pods = node_pods(view, ManifestReader(MANIFESTS).read()).active
    rules = MemoryQoSRules(policy=MemoryReservationPolicy.TIERED_RESERVATION)
    return memory_qos_differences(pods, view, rules, memory_capacity=1728 * MIB, cgroup_root=CGROUPS)


def test_the_documented_values_are_written_and_differ_no_more(machine: Node, workload: Workload) -> None:
    found = differences(machine)
    done, problems = enforce_memory_qos(found, cgroup_root=CGROUPS)
    assert (done, problems) == (found, ())
    burstable, guaranteed = workload[QOSClass.BURSTABLE], workload[QOSClass.GUARANTEED]
    container = pod_cgroup(burstable) / f"cri-containerd-{burstable.container_id}.scope"
    high = (32 * MIB + int(96 * MIB * 0.9)) // 4096 * 4096
    assert (container / "memory.high").read_text() == f"{high}\n"
    assert (container / "memory.low").read_text() == f"{32 * MIB}\n"
    assert (pod_cgroup(guaranteed) / "memory.min").read_text() == f"{64 * MIB}\n"
    assert (CGROUPS / "kubepods.slice/memory.min").read_text() == f"{96 * MIB}\n"
    assert differences(machine) == ()
    for each in found:
        (CGROUPS / each.cgroup.lstrip("/") / each.file).write_text("max" if each.found is None else str(each.found))
