"""The values: which states may run, and that enums carry the wire's spelling."""

from cri_api.v1 import api_pb2 as pb

from evictd.clients.cri.values import ContainerEventType, ContainerState, SandboxState


def test_enums_are_spelled_as_on_the_wire() -> None:
    assert {state.value for state in ContainerState} == set(pb.ContainerState.keys())
    assert {state.value for state in SandboxState} == set(pb.PodSandboxState.keys())
    assert {kind.value for kind in ContainerEventType} == set(pb.ContainerEventType.keys())


def test_only_running_and_unknown_containers_may_run() -> None:
    assert {state for state in ContainerState if state.may_run} == {ContainerState.RUNNING, ContainerState.UNKNOWN}
