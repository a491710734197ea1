"""Concurrent calls: two threads for any number, an end to each call, and no thread left after `close`."""

import threading
from concurrent.futures import CancelledError
from pathlib import Path

import grpc
import pytest
from cri_api.v1 import api_pb2 as pb

from evictd.clients.cri.concurrent_calls import ConcurrentCalls
from evictd.demo.tool import wait_for
from evictd.errors import RuntimeUnavailableError
from tests.faults.cri_server import fake_runtime
from tests.threads import no_thread_to_give

PATH = "/runtime.v1.RuntimeService/ListContainers"
REQUEST = pb.ListContainersRequest()


def test_many_calls_under_way_need_no_more_threads_than_one(tmp_path: Path) -> None:
    arrived, go_on = threading.Semaphore(0), threading.Event()

    def answer(_: bytes, __: grpc.ServicerContext) -> bytes:
        arrived.release()
        go_on.wait(60)
        return b""

    with fake_runtime(tmp_path / "s", {"ListContainers": answer}) as target:
        calls = ConcurrentCalls(target, ())
        calls.start()
        before = threading.active_count()
        with no_thread_to_give():
            begun = [calls.begin(PATH, REQUEST, pb.ListContainersResponse, timeout=60) for _ in range(8)]
            for _ in begun:
                assert arrived.acquire(timeout=60)
        assert not any(call.done() for call in begun)
        assert {thread.name for thread in threading.enumerate()} >= {"cri-calls"}
        assert threading.active_count() - before <= 8, "the server's own threads"
        go_on.set()
        assert [call.result(60) for call in begun] == [pb.ListContainersResponse()] * 8
        calls.close()


def test_a_cancelled_call_ends_at_once_and_the_others_go_on(tmp_path: Path) -> None:
    go_on = threading.Event()

    def answer(_: bytes, __: grpc.ServicerContext) -> bytes:
        go_on.wait(60)
        return b""

    with fake_runtime(tmp_path / "s", {"ListContainers": answer}) as target:
        calls = ConcurrentCalls(target, ())
        first, second = (calls.begin(PATH, REQUEST, pb.ListContainersResponse, timeout=60) for _ in range(2))
        assert first.cancel()
        assert first.done()
        go_on.set()
        assert second.result(60) == pb.ListContainersResponse()
        calls.close()


def test_close_ends_what_is_under_way_and_the_threads(tmp_path: Path) -> None:
    go_on = threading.Event()

    def answer(_: bytes, __: grpc.ServicerContext) -> bytes:
        go_on.wait(60)
        return b""

    with fake_runtime(tmp_path / "s", {"ListContainers": answer}) as target:
        calls = ConcurrentCalls(target, ())
        call = calls.begin(PATH, REQUEST, pb.ListContainersResponse, timeout=60)
        calls.close()
        with pytest.raises(CancelledError):
            call.result(60)
        go_on.set()
        calls.close()
    with pytest.raises(RuntimeUnavailableError, match="closed"):
        calls.begin(PATH, REQUEST, pb.ListContainersResponse, timeout=1)
    assert wait_for(lambda: "cri-calls" not in {thread.name for thread in threading.enumerate()})


def test_a_node_that_gives_no_thread_is_unavailable_and_asked_again(tmp_path: Path) -> None:
    with fake_runtime(tmp_path / "s", {"ListContainers": lambda *_: b""}) as target:
        calls = ConcurrentCalls(target, ())
        with no_thread_to_give(), pytest.raises(RuntimeUnavailableError, match="no threads"):
            calls.start()
        assert calls.begin(PATH, REQUEST, pb.ListContainersResponse, timeout=60).result(60) is not None
        calls.close()


def test_calls_that_are_cancelled_by_close_disturb_no_other_connection(tmp_path: Path) -> None:
    """GRPC's poller serves all loops: it raised `Event loop is closed` for the events of calls that `close` had cancelled."""
    faults: list[object] = []

    def late(*_: object) -> bytes:
        threading.Event().wait(0.02)
        return b""

    with fake_runtime(
        tmp_path / "s", {"ListContainers": lambda *_: (threading.Event().wait(0.02) and b"") or b""}
    ) as target:
        other = ConcurrentCalls(target, ())
        other.start()
        assert other._loop is not None
        other._loop.set_exception_handler(lambda _, context: faults.append(context))
        for _ in range(20):
            closed = ConcurrentCalls(target, ())
            for _ in range(8):
                closed.begin(PATH, REQUEST, pb.ListContainersResponse, timeout=60)
            closed.close()
            other.begin(PATH, REQUEST, pb.ListContainersResponse, timeout=60).result(60)
        other.close()
    assert faults == []
