"""A request is bounded as a whole, however slowly the response arrives; a watch is not."""

import contextlib
import json
import socket
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from evictd.clients.kube.credentials import Credentials
from evictd.clients.kube.deadline import Deadline
from evictd.clients.kube.transport import Transport
from evictd.errors import ApiUnavailableError
from tests.kube.api_server import ApiServer
from tests.kube.raw import FixedCredentials
from tests.kube.waiting import eventually

NODE = "/api/v1/nodes/n1"


@pytest.fixture
def impatient(api: ApiServer) -> Iterator[Transport]:
    """Three seconds for a request, enough for a server on a loaded machine; ten from byte to byte."""
    made = Transport(Credentials(str(api.kubeconfig())), whole_seconds=3)
    yield made
    made.close()


@pytest.mark.slow
@pytest.mark.parametrize("what", ["headers", "body"])
def test_an_answer_that_drips_is_ended_and_the_next_request_works(
    api: ApiServer, impatient: Transport, what: str
) -> None:
    """A byte now and then keeps every single read alive."""
    api.fault(verb="get", drip=what, times=1)
    with pytest.raises(ApiUnavailableError, match=r"GET /api/v1/nodes/n1: no complete response within 3 s"):
        impatient.request("GET", NODE)
    assert impatient.request("GET", NODE).status == 200


@pytest.mark.parametrize("begin", [b"", b"HTTP/1.1 500 x\r\nContent-Length: 9\r\n\r\n{"])
def test_a_watch_that_the_server_does_not_open_or_refuse_is_ended(begin: bytes) -> None:
    """Its bound from byte to byte is minutes, for a node on which nothing happens; meanwhile the pods would be old ones."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        credentials: Any = FixedCredentials(f"http://127.0.0.1:{listening.getsockname()[1]}")
        hasty = Transport(credentials, whole_seconds=0.5)
        accepted: list[socket.socket] = []

        def serve() -> None:
            accepted.append(listening.accept()[0])
            accepted[0].sendall(begin)

        server = threading.Thread(target=serve)
        server.start()
        with pytest.raises(ApiUnavailableError, match=r"GET /api/v1/pods: no complete response within 0.5 s"):
            hasty.stream("/api/v1/pods", query={"watch": "1"}, idle_seconds=5)
        server.join()
        accepted[0].close()
        hasty.close()


def test_an_answer_that_only_the_end_of_its_connection_ends_is_not_taken_for_whole(tmp_path: Path) -> None:
    """HTTP/1.0, as some proxies use it: a response cut off by the deadline looks complete."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        listening.settimeout(60)
        cluster = {"name": "c", "cluster": {"server": f"http://127.0.0.1:{listening.getsockname()[1]}"}}
        config = {
            "clusters": [cluster],
            "users": [{"name": "u", "user": {}}],
            "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}],
            "current-context": "x",
        }
        (tmp_path / "kubeconfig").write_text(json.dumps(config))

        def answer_half() -> None:
            connection, _ = listening.accept()
            with (
                connection,
                contextlib.suppress(OSError),
            ):  # the client leaves when its time is over, also before the answer
                connection.settimeout(60)
                connection.recv(65536)
                connection.sendall(b'HTTP/1.0 200 OK\r\nContent-Type: application/json\r\n\r\n{"metadata":')
                connection.recv(1)

        server = threading.Thread(target=answer_half, daemon=True)
        server.start()
        transport = Transport(Credentials(str(tmp_path / "kubeconfig")), whole_seconds=0.5)
        with pytest.raises(ApiUnavailableError, match="no complete response within"):
            transport.request("GET", NODE)
        transport.close()
        server.join(60)
        assert not server.is_alive()


@pytest.mark.slow
def test_a_watch_goes_on(api: ApiServer, impatient: Transport) -> None:
    """Its silence has a bound, its length has none: also over a connection that a request had before."""
    assert impatient.request("GET", NODE).status == 200
    stream = impatient.stream("/api/v1/nodes", query={"watch": "1"}, idle_seconds=30)
    with Deadline(3) as later:  # a request that began with the watch would be over by then
        eventually(lambda: later.over)
    api.store.update(("nodes", "", "n1"), lambda item: item["metadata"].setdefault("labels", {}).update(a="b"))
    assert b'"MODIFIED"' in next(iter(stream))
    stream.close()


def test_a_connection_that_comes_after_the_time_is_ended_at_once() -> None:
    """A connection may take as long to set up as the whole request has."""
    ours, theirs = socket.socketpair()
    with ours, theirs, Deadline(3600) as deadline:
        deadline.over = True
        deadline.watch(ours)
        assert theirs.recv(1) == b""
