"""Fixtures of the tests inside the machine; elsewhere these tests are skipped."""

import os
from collections.abc import Iterator

import pytest

from tests.vm.guest import service
from tests.vm.guest import workload as workloads
from tests.vm.guest.node import Node
from tests.vm.guest.waiting import wait_for

INSIDE = os.environ.get("EVICTD_VM") == "1"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with the checks that share one set of pods: starting pods is what takes long under emulation."""
    if INSIDE:
        items.sort(key=lambda item: "workload" not in getattr(item, "fixturenames", ()))


@pytest.fixture(autouse=True, scope="session")
def inside_the_machine() -> None:
    if not INSIDE:
        pytest.skip("runs inside the test machine: make test-vm")


@pytest.fixture(scope="session")
def machine(inside_the_machine: None) -> Iterator[Node]:
    """The node with its images."""
    node = Node()
    node.import_images()
    yield node
    node.close()


@pytest.fixture(scope="session")
def workload(machine: Node) -> workloads.Workload:
    """One busy pod of each QoS class, after its start; removed when a test requests `node`."""
    pods = workloads.start(machine)
    for pod in pods.values():
        wait_for((pod.volumes["data"] / "done").exists, 120, f"{pod.name} to have written its files")
    os.sync()
    return pods


@pytest.fixture
def node(machine: Node) -> Iterator[Node]:
    """The node without a pod, before and after."""
    machine.remove_all_pods()
    yield machine
    machine.remove_all_pods()


@pytest.fixture(scope="session")
def installed(machine: Node) -> None:
    """Evictd's units, launcher and folders."""
    service.install()


@pytest.fixture(scope="session")
def evictd(installed: None) -> Iterator[None]:
    """The service, started once for all tests: a start takes long under emulation, a reload does not."""
    service.configure({})
    service.start()
    service.wait_until_watching()
    yield
    service.stop()
