"""Every failed request raises one of two errors, and never an exception of a library."""

import contextlib
import io
from dataclasses import replace

import pytest
import urllib3

from evictd.clients.kube.transport import LONGEST_RETRY_AFTER, STRATEGIC_PATCH, Transport
from evictd.errors import ApiRefusedError, ApiUnavailableError
from tests.kube.api import Api
from tests.kube.api_server import ApiServer
from tests.kube.objects import node
from tests.kube.raw import raw_server

NODE = "/api/v1/nodes/n1"


def test_bytes_come_back_with_the_servers_date(api: Api, transport: Transport) -> None:
    """The body is not interpreted; the Date header is the server's clock."""
    reply = transport.request("GET", NODE)
    assert reply.json()["metadata"]["name"] == "n1"
    assert reply.date.endswith("GMT")


@pytest.mark.parametrize("status", [429, 500, 502, 503, 504])
def test_busy_servers_are_unavailable_and_name_a_time(api: ApiServer, transport: Transport, status: int) -> None:
    """What may be different next time; Retry-After is handed on."""
    api.fault(verb="get", status=status, retry_after="7", times=1)
    with pytest.raises(ApiUnavailableError) as caught:
        transport.request("GET", NODE)
    assert caught.value.retry_after_seconds == 7
    assert transport.request("GET", NODE).status == 200


@pytest.mark.parametrize("status", [400, 403, 404, 409, 410, 422])
def test_refusals_carry_status_and_reason(api: ApiServer, transport: Transport, status: int) -> None:
    """What asking again would not change."""
    api.fault(verb="get", status=status, times=1)
    with pytest.raises(ApiRefusedError) as caught:
        transport.request("GET", NODE)
    assert (caught.value.status, caught.value.reason) == (status, "Injected")


@pytest.mark.parametrize("after", ["soon", "-3", "Wed, 21 Oct 2026 07:28:00 GMT"])
def test_an_invalid_retry_after_is_none(api: ApiServer, transport: Transport, after: str) -> None:
    """Nothing is guessed from it."""
    api.fault(status=503, retry_after=after, times=1)
    with pytest.raises(ApiUnavailableError) as caught:
        transport.request("GET", NODE)
    assert caught.value.retry_after_seconds is None


def test_an_answer_cut_short_is_unavailable(api: ApiServer, transport: Transport) -> None:
    """Half an object is no object."""
    api.fault(verb="get", cut=50, times=1)
    with pytest.raises(ApiUnavailableError):
        transport.request("GET", NODE)
    api.fault(verb="get", refuse=True, times=1)
    with pytest.raises(ApiUnavailableError):
        transport.request("GET", NODE)
    assert transport.request("GET", NODE).status == 200


def test_garbage_is_unavailable(api: ApiServer, transport: Transport) -> None:
    """A proxy's error page with status 200 is no valid node."""
    api.fault(verb="get", status=200, body=b"<html>", times=1)
    with pytest.raises(ApiUnavailableError, match="invalid JSON"):
        transport.request("GET", NODE).json()


def test_a_slow_answer_is_not_waited_for(api: ApiServer) -> None:
    """The read has its own bound."""
    from evictd.clients.kube.credentials import Credentials

    impatient = Transport(Credentials(str(api.kubeconfig())), read_seconds=0.2)
    api.fault(verb="get", delay=20, times=1)
    with pytest.raises(ApiUnavailableError, match=r"(?i)timed out"):
        impatient.request("GET", NODE)
    impatient.close()


def test_a_server_that_is_gone_and_comes_back(api: ApiServer, transport: Transport) -> None:
    """Refused connections are unavailable; afterwards the same transport works on."""
    assert transport.request("GET", NODE).status == 200
    api.down()
    with pytest.raises(ApiUnavailableError):
        transport.request("GET", NODE)
    api.up()
    assert transport.request("GET", NODE).status == 200


def test_bodies_and_content_types_arrive(api: ApiServer, transport: Transport) -> None:
    """A patch carries its type and its body as given."""
    body = {"metadata": {"labels": {"a": "ü"}}}
    transport.request("PATCH", NODE, body=body, content_type=STRATEGIC_PATCH, query={"fieldManager": "evictd"})
    line = api.requests("patch nodes")[0]
    assert (line.content_type, line.body, line.query) == (STRATEGIC_PATCH, body, {"fieldManager": "evictd"})


def test_a_stream_gives_lines_and_can_be_aborted(api: Api, transport: Transport) -> None:
    """The lines of a watch come as they are sent; an abort from another thread ends them."""
    import threading

    _, version = api.store.list("nodes")
    query = {"watch": "1", "resourceVersion": str(version)}
    stream = transport.stream("/api/v1/nodes", query=query, idle_seconds=30)
    lines = iter(stream)
    api.store.create("nodes", node("n2"))
    assert b'"ADDED"' in next(lines)
    timer = threading.Timer(0.05, stream.abort)
    timer.start()
    with contextlib.suppress(ApiUnavailableError):
        list(lines)
    timer.join()
    assert list(lines) == []
    stream.abort()  # ended already: nothing happens


def test_a_stream_that_is_refused(api: ApiServer, transport: Transport) -> None:
    """Before the first line a watch fails like any request."""
    api.fault(verb="watch", status=410, times=1)
    with pytest.raises(ApiRefusedError, match="410"):
        transport.stream("/api/v1/pods", query={"watch": "1"}, idle_seconds=5)


def test_a_refused_stream_whose_reason_is_cut_short_is_unavailable(
    transport: Transport, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The watching thread must survive it."""
    half = urllib3.HTTPResponse(
        io.BytesIO(b'{"mess'), headers={"Content-Length": "50"}, status=500, preload_content=False
    )
    monkeypatch.setattr(transport, "_open", lambda *_, **__: half)
    with pytest.raises(ApiUnavailableError):
        transport.stream("/api/v1/pods", query={"watch": "1"}, idle_seconds=5)


CHUNKED = b"HTTP/1.1 %d x\r\nTransfer-Encoding: chunked\r\n\r\n%s\r\n{}\r\n0\r\n\r\n"


@pytest.mark.parametrize("status", [200, 500])
@pytest.mark.parametrize("size", [b"-5", b"-ffffffffffffffffffff", b"f" * 5000, b"", b"\xff"])
def test_an_invalid_size_of_a_chunk_is_unavailable(status: int, size: bytes) -> None:
    with raw_server(CHUNKED % (status, size)) as transport:
        with pytest.raises(ApiUnavailableError):
            transport.request("GET", NODE)
        with pytest.raises(ApiUnavailableError):
            list(transport.stream("/api/v1/pods", query={"watch": "1"}, idle_seconds=5))


@pytest.mark.parametrize("after", [b"9" * 5000, b"0" * 5000 + b"301"])
def test_a_retry_after_of_thousands_of_digits_is_the_longest(after: bytes) -> None:
    with raw_server(b"HTTP/1.1 503 x\r\nRetry-After: %s\r\nContent-Length: 0\r\n\r\n" % after) as transport:
        with pytest.raises(ApiUnavailableError) as caught:
            transport.request("GET", NODE)
        assert caught.value.retry_after_seconds == LONGEST_RETRY_AFTER
        with pytest.raises(ApiUnavailableError):
            transport.stream("/api/v1/pods", query={"watch": "1"}, idle_seconds=5)


def test_a_credential_plugin_that_fails_is_unavailable() -> None:
    """It runs again when its token has expired, and raises what it likes."""

    def refresh() -> dict[str, str]:
        raise KeyError("id-token")

    with raw_server(b"HTTP/1.1 200 x\r\nContent-Length: 0\r\n\r\n") as transport:
        transport._credentials.access = replace(transport._credentials.access, headers=refresh)
        with pytest.raises(
            ApiUnavailableError, match=r"GET /api/v1/nodes/n1: the credential cannot be renewed: .*id-token"
        ):
            transport.request("GET", NODE)
        with pytest.raises(ApiUnavailableError):
            transport.stream("/api/v1/pods", query={"watch": "1"}, idle_seconds=5)


def test_a_content_length_that_is_no_number_is_no_unforeseen_error() -> None:
    for length in (b"-1", b"9" * 5000, b"x"):
        with (
            raw_server(b"HTTP/1.1 200 x\r\nContent-Length: %s\r\n\r\n{}" % length) as transport,
            contextlib.suppress(ApiUnavailableError),
        ):
            assert transport.request("GET", NODE).json() == {}
