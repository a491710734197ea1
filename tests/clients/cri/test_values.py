"""States that may run, and enum values as in the messages."""

from cri_api.v1 import api_pb2 as pb

from evictd.clients.cri.values import SandboxState
from evictd.core.gc.container_gc import ContainerState


def test_enums_are_spelled_as_on_the_wire() -> None:
    assert {state.value for state in ContainerState} == set(pb.ContainerState.keys())
    assert {state.value for state in SandboxState} == set(pb.PodSandboxState.keys())


def test_only_running_and_unknown_containers_may_run() -> None:
    assert {state for state in ContainerState if state.may_run} == {
        ContainerState.RUNNING,
        ContainerState.UNKNOWN,
    }
