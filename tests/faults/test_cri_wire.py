"""Faults of HTTP/2 and of gRPC's framing: each is one error of one line, and the next call works."""

import socket
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from h2.errors import ErrorCodes
from h2.events import Event

from evictd.clients.cri import api_pb2 as pb
from evictd.clients.cri.channel import MAX_RECEIVE_BYTES
from evictd.clients.cri.client import CriClient
from evictd.errors import (
    EvictdError,
    RuntimeRefusedError,
    RuntimeResponseTooLargeError,
    RuntimeUnavailableError,
    RuntimeUnimplementedError,
)
from evictd_testnode.tool import wait_for
from tests.faults.cri_server import fake_runtime, foreign_server
from tests.faults.h2_server import HEADERS, Respond, Served, http2, was_reset
from tests.threads import no_thread_to_give

VERSION = pb.VersionResponse(runtime_name="fake", runtime_version="1", runtime_api_version="v1").SerializeToString()


def correct(served: Served) -> None:
    served.answer(VERSION)
    served.finish()


def cut(served: Served) -> None:
    served.connection.shutdown(socket.SHUT_RDWR)


def cut_in_a_message(served: Served) -> None:
    served.answer(VERSION[:5], length=len(VERSION))
    served.send()
    cut(served)


def reset(served: Served) -> None:
    served.http.reset_stream(served.stream, ErrorCodes.INTERNAL_ERROR)


def reset_in_a_message(served: Served) -> None:
    served.answer(VERSION[:5], length=len(VERSION))
    reset(served)


def go_away(served: Served) -> None:
    served.http.close_connection(ErrorCodes.NO_ERROR)


def go_away_in_a_message(served: Served) -> None:
    served.answer(VERSION[:5], length=len(VERSION))
    go_away(served)


def ended_in_a_message(served: Served) -> None:
    served.answer(VERSION[:5], length=len(VERSION))
    served.finish()


def no_message(served: Served) -> None:
    served.http.send_headers(served.stream, HEADERS)
    served.finish()


def compressed(served: Served) -> None:
    served.answer(VERSION, flag=1)
    served.finish()


def not_grpc(served: Served) -> None:
    served.http.send_headers(served.stream, [(":status", "200"), ("content-type", "text/html")], end_stream=True)


def status_404(served: Served) -> None:
    served.http.send_headers(served.stream, [(":status", "404")], end_stream=True)


def status_503(served: Served) -> None:
    served.http.send_headers(served.stream, [(":status", "503")], end_stream=True)


def unknown_status(served: Served) -> None:
    served.http.send_headers(served.stream, [*HEADERS, ("grpc-status", "4711")], end_stream=True)


def larger_than_allowed(served: Served) -> None:
    """The length alone is refused: the message itself never comes."""
    served.answer(b"", length=MAX_RECEIVE_BYTES + 1)


def unknown_frame(served: Served) -> None:
    served.send()
    served.connection.sendall(bytes([0, 0, 1, 0xEE, 0, 0, 0, 0, 0, 7]))
    correct(served)


def forbidden_frame(served: Served) -> None:
    """DATA that belongs to no stream."""
    served.send()
    served.connection.sendall(bytes([0, 0, 1, 0, 0, 0, 0, 0, 0, 7]))


FAULTS: dict[Respond, tuple[type[EvictdError], ...]] = {
    cut: (RuntimeUnavailableError,),
    cut_in_a_message: (RuntimeUnavailableError,),
    reset: (RuntimeUnavailableError,),
    reset_in_a_message: (RuntimeUnavailableError,),
    go_away: (RuntimeUnavailableError,),
    go_away_in_a_message: (RuntimeUnavailableError,),
    ended_in_a_message: (RuntimeRefusedError,),
    no_message: (RuntimeRefusedError,),
    compressed: (RuntimeRefusedError,),
    not_grpc: (RuntimeRefusedError,),
    status_404: (RuntimeUnimplementedError,),
    status_503: (RuntimeUnavailableError,),
    unknown_status: (RuntimeRefusedError,),
    larger_than_allowed: (RuntimeResponseTooLargeError,),
    forbidden_frame: (RuntimeUnavailableError,),
}


def first(fault: Respond) -> Respond:
    """Build a runtime that answers correctly from the second call on."""
    met: list[None] = []

    def respond(served: Served) -> None:
        met.append(None)
        (fault if len(met) == 1 else correct)(served)

    return respond


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.__name__)
def test_a_fault_of_the_wire_is_one_error_and_the_next_call_works(
    tmp_path: Path, fault: Respond, capfd: pytest.CaptureFixture[str]
) -> None:
    events: list[Event] = []
    with (
        foreign_server(tmp_path / "s", http2(first(fault), events)) as endpoint,
        CriClient(endpoint, timeout_seconds=30) as client,
    ):
        with pytest.raises(FAULTS[fault]) as error:
            client.version()
        assert str(error.value).startswith("Version: ")
        assert "\n" not in str(error.value)
        assert client.version().runtime_name == "fake"
    assert capfd.readouterr().err == "", "the library reported on its own"


def test_a_frame_of_an_unknown_type_is_ignored_or_a_lost_connection(tmp_path: Path) -> None:
    with (
        foreign_server(tmp_path / "s", http2(first(unknown_frame), [])) as endpoint,
        CriClient(endpoint, timeout_seconds=30) as client,
    ):
        try:
            client.version()
        except RuntimeUnavailableError:
            assert client.version().runtime_name == "fake"


def test_all_calls_under_way_end_with_their_connection(tmp_path: Path) -> None:
    arrived: list[int] = []

    def respond(served: Served) -> None:
        arrived.append(served.stream)
        if len(arrived) == 8:
            go_away(served)

    with foreign_server(tmp_path / "s", http2(respond, [])) as endpoint, CriClient(endpoint) as client:
        calls = [client.begin_stop_container(f"c{number}", 30) for number in range(8)]
        for number, call in enumerate(calls):
            with pytest.raises(RuntimeUnavailableError, match=f"StopContainer c{number}: UNAVAILABLE"):
                call.result()


@pytest.mark.parametrize("end", ["cancel", "deadline"])
def test_a_call_that_is_given_up_is_cancelled_at_the_runtime(tmp_path: Path, end: str) -> None:
    asked, events = threading.Event(), list[Event]()
    with (
        foreign_server(tmp_path / "s", http2(lambda _: asked.set(), events)) as endpoint,
        CriClient(endpoint, timeout_seconds=1 if end == "deadline" else 60) as client,
    ):
        call = client.begin_list_containers()
        assert asked.wait(60)
        if end == "cancel":
            call.cancel()
        with pytest.raises(RuntimeUnavailableError, match="CANCELLED" if end == "cancel" else "DEADLINE_EXCEEDED"):
            call.result()
        assert wait_for(lambda: was_reset(events), seconds=60)


def rows(size: int) -> Callable[..., bytes]:
    """Build a listing of exactly `size` bytes."""
    row = pb.Container(
        id="c",
        pod_sandbox_id="s",
        metadata=pb.ContainerMetadata(name="c"),
        image=pb.ImageSpec(image="i"),
        image_ref="i",
    )
    base = len(pb.ListContainersResponse(containers=[row]).SerializeToString())
    row.image_id = "x" * (size - base - 10)
    text = pb.ListContainersResponse(containers=[row]).SerializeToString()
    row.image_id += "x" * (size - len(text))
    text = pb.ListContainersResponse(containers=[row]).SerializeToString()
    assert len(text) == size
    return lambda *_: text


def test_a_message_of_16_mib_is_the_largest(tmp_path: Path) -> None:
    with (
        fake_runtime(tmp_path / "a", {"ListContainers": rows(MAX_RECEIVE_BYTES)}) as endpoint,
        CriClient(endpoint) as one,
    ):
        assert [row.id for row in one.list_containers()] == ["c"]
    with (
        fake_runtime(tmp_path / "b", {"ListContainers": rows(MAX_RECEIVE_BYTES + 1)}) as endpoint,
        CriClient(endpoint) as one,
    ):
        with pytest.raises(
            RuntimeResponseTooLargeError, match="ListContainers: RESOURCE_EXHAUSTED: Received message larger"
        ):
            one.list_containers()
        with pytest.raises(RuntimeUnimplementedError):
            one.version()


def test_calls_need_no_thread_that_does_not_run_yet(tmp_path: Path) -> None:
    empty = pb.ListContainersResponse().SerializeToString()
    with (
        fake_runtime(tmp_path / "s", {"ListContainers": lambda *_: empty}) as endpoint,
        CriClient(endpoint) as client,
        no_thread_to_give(),
    ):
        calls = [client.begin_list_containers() for _ in range(50)]
        assert client.list_containers() == ()
        assert [call.result() for call in calls] == [()] * 50
    with no_thread_to_give(), pytest.raises(RuntimeUnavailableError, match="no thread to wait for"):
        CriClient(endpoint)
