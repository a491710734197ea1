"""What every check inside the machine may ask for; outside of it all of them are skipped."""

import os
from collections.abc import Iterator

import pytest
from tests.vm.guest import workload as workloads
from tests.vm.guest.node import Node
from tests.vm.guest.waiting import wait_for


@pytest.fixture(autouse=True, scope="session")
def inside_the_machine() -> None:
    if os.environ.get("EVICTD_VM") != "1":
        pytest.skip("runs inside the test machine: make test-vm")


@pytest.fixture(scope="session")
def machine(inside_the_machine: None) -> Node:
    """The node with its images."""
    node = Node()
    node.import_images()
    return node


@pytest.fixture
def node(machine: Node) -> Iterator[Node]:
    """The node without a pod, before and after."""
    yield machine
    machine.remove_all_pods()


@pytest.fixture(scope="module")
def workload(machine: Node) -> Iterator[workloads.Workload]:
    """One busy pod of each QoS class, settled."""
    pods = workloads.start(machine)
    for pod in pods.values():
        wait_for((pod.volumes["data"] / "done").exists, 120, f"{pod.name} to have written its files")
    os.sync()
    yield pods
    machine.remove_all_pods()
