"""Failures of calls are mapped to four errors of one line."""

from pathlib import Path

import pytest
from grpclib.const import Status
from grpclib.exceptions import GRPCError

from evictd.clients.cri.channel import MAX_ERROR_TEXT, Channel, mapped, socket_path
from evictd.clients.cri.client import LIST_CONTAINERS, VERSION
from evictd.errors import (
    EvictdError,
    RuntimeNotFoundError,
    RuntimeRefusedError,
    RuntimeResponseTooLargeError,
    RuntimeUnavailableError,
    RuntimeUnimplementedError,
)

EXPECTED = {
    Status.UNAVAILABLE: RuntimeUnavailableError,
    Status.DEADLINE_EXCEEDED: RuntimeUnavailableError,
    Status.CANCELLED: RuntimeUnavailableError,
    Status.NOT_FOUND: RuntimeNotFoundError,
    Status.UNIMPLEMENTED: RuntimeUnimplementedError,
    Status.RESOURCE_EXHAUSTED: RuntimeResponseTooLargeError,
}


@pytest.mark.parametrize("status", list(Status), ids=lambda status: status.name)
def test_each_status_becomes_one_of_five_errors(status: Status) -> None:
    error = mapped(GRPCError(status, "containerd's words"), "StopContainer abc")
    assert type(error) is EXPECTED.get(status, RuntimeRefusedError)
    assert str(error) == f"StopContainer abc: {status.name}: containerd's words"


def test_a_long_message_of_many_lines_becomes_one_short_line() -> None:
    error = mapped(GRPCError(Status.UNKNOWN, "a\n b" * 1000), "Version")
    assert "\n" not in str(error)
    assert len(str(error)) <= MAX_ERROR_TEXT + len("Version: UNKNOWN: ")
    assert str(error).endswith("b")
    assert " ... " in str(error)


def test_a_failure_without_details_has_a_message() -> None:
    error: EvictdError = mapped(GRPCError(Status.UNKNOWN), "Version")
    assert str(error) == "Version: UNKNOWN: no details"


def test_an_endpoint_with_and_without_its_scheme() -> None:
    assert socket_path("unix:///run/x.sock") == socket_path("/run/x.sock") == "/run/x.sock"


def test_a_concurrent_call_fails_in_the_same_way_and_calls_back(tmp_path: Path) -> None:
    from cri_api.v1 import api_pb2 as pb

    channel = Channel(f"{tmp_path}/none.sock")
    told: list[bool] = []
    pending = channel.begin(VERSION, pb.VersionRequest(), timeout=5, read=lambda answer: answer.version)
    pending.when_done(lambda: told.append(True))
    with pytest.raises(RuntimeUnavailableError):
        pending.result()
    assert pending.done()
    late = channel.begin(LIST_CONTAINERS, pb.ListContainersRequest(), timeout=5, read=lambda _: None)
    late.cancel()
    with pytest.raises(RuntimeUnavailableError, match="ListContainers: "):
        late.result()
    channel.close()
