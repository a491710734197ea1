"""The pages on loopback, and clients of every kind."""

import http.client
import json
import socket
from collections.abc import Iterator

import pytest

from evictd.daemon.http import WORKERS, HttpServer, Page, json_page
from evictd.errors import NodeError

COMPLAINTS: list[tuple[str, str]] = []


def broken() -> Page:
    raise KeyError("oops")


@pytest.fixture
def server() -> Iterator[HttpServer]:
    COMPLAINTS.clear()
    pages = {"/healthz": lambda: Page(body=b"ok\n"), "/statusz": lambda: json_page({"a": 1}), "/broken": broken}
    ours = HttpServer("127.0.0.1:0", pages, lambda source, detail: COMPLAINTS.append((source, detail)))
    yield ours
    ours.close()


def ask(server: HttpServer, path: str, method: str = "GET") -> tuple[int, bytes]:
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=30)
    try:
        connection.request(method, path)
        answer = connection.getresponse()
        return answer.status, answer.read()
    finally:
        connection.close()


def test_a_page_is_served(server: HttpServer) -> None:
    assert ask(server, "/healthz") == (200, b"ok\n")
    assert ask(server, "/healthz?verbose=1") == (200, b"ok\n")
    status, body = ask(server, "/statusz")
    assert (status, json.loads(body)) == (200, {"a": 1})


def test_a_head_request_has_no_body(server: HttpServer) -> None:
    assert ask(server, "/healthz", "HEAD") == (200, b"")


@pytest.mark.parametrize(("method", "path", "status"), [("GET", "/etc/passwd", 404), ("POST", "/healthz", 501)])
def test_anything_else_is_refused(server: HttpServer, method: str, path: str, status: int) -> None:
    assert ask(server, path, method)[0] == status


def test_a_page_that_fails_costs_an_answer_and_no_worker(server: HttpServer) -> None:
    for _ in range(WORKERS + 1):
        assert ask(server, "/broken")[0] == 500
    assert ask(server, "/healthz")[0] == 200
    assert len(COMPLAINTS) == WORKERS + 1


def test_clients_that_hang_up_or_send_garbage_cost_no_worker(server: HttpServer) -> None:
    for _ in range(WORKERS + 1):
        with socket.create_connection(("127.0.0.1", server.port)):
            pass
        with socket.create_connection(("127.0.0.1", server.port)) as rude:
            rude.sendall(b"\x00\xff" * 1000 + b"\r\n\r\n")
    assert ask(server, "/healthz")[0] == 200


def test_a_silent_client_holds_up_nobody_else(server: HttpServer) -> None:
    with socket.create_connection(("127.0.0.1", server.port)):
        assert ask(server, "/healthz")[0] == 200


def test_ipv6_loopback_is_an_address(server: HttpServer) -> None:
    try:
        ours = HttpServer("[::1]:0", {}, lambda *_: None)
    except NodeError:
        pytest.skip("no IPv6 on this machine")
    with socket.create_connection(("::1", ours.port), timeout=30) as connection:
        assert connection.getpeername()[:2] == ("::1", ours.port)
    ours.close()


@pytest.mark.parametrize("address", ["127.0.0.1:99999999", "127.0.0.1:x", "203.0.113.1:80", ":10258", ""])
def test_an_address_that_is_not_to_be_had_is_one_clear_error(address: str) -> None:
    with pytest.raises(NodeError, match="listenAddress"):
        HttpServer(address, {}, lambda *_: None)


def test_a_taken_port_is_one_clear_error(server: HttpServer) -> None:
    with pytest.raises(NodeError, match="in use"):
        HttpServer(f"127.0.0.1:{server.port}", {}, lambda *_: None)
