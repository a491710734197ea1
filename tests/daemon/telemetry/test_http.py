"""The pages on loopback, and clients of every kind."""

import asyncio
import errno
import http.client
import json
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from http import HTTPStatus
from pathlib import Path

import pytest

from evictd.daemon.telemetry.http import MOST_CLIENTS, HttpServer, Page, StatusServer, answer, is_own_host, json_page
from evictd.errors import NodeError
from tests.recorded_errors import NoErrors, RecordedErrors
from tests.threads import REFUSAL, no_thread_to_give

ERRORS = RecordedErrors()


def broken() -> Page:
    raise KeyError("oops")


@pytest.fixture
def server() -> Iterator[HttpServer]:
    ERRORS.clear()
    pages = {"/healthz": lambda: Page(body=b"ok\n"), "/statusz": lambda: json_page({"a": 1}), "/broken": broken}
    ours = HttpServer("127.0.0.1:0", pages, ERRORS)
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


@pytest.mark.parametrize(
    "host",
    [
        None,
        "127.0.0.1:10277",
        "localhost",
        "[::1]:10277",
        "10.0.0.7:10278",
        socket.gethostname(),
        "evictd.evictd.svc:10278",
    ],
)
def test_a_host_that_can_be_this_server_is_served(host: str | None) -> None:
    assert is_own_host(host)


@pytest.mark.parametrize(
    "host", ["", "evil.example", "127.0.0.1.evil.example", "evil.example:10277", "a@127.0.0.1", "[::1", "svc", "x y"]
)
def test_a_name_that_was_bound_to_this_address_is_refused(server: HttpServer, host: str) -> None:
    """DNS rebinding: a web site's own name is resolved to 127.0.0.1, and its page reads the answers."""
    assert not is_own_host(host)
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=30)
    try:
        connection.request("GET", "/statusz", headers={"Host": host})
        answer = connection.getresponse()
        assert (answer.status, answer.read()) == (421, b"this Host is not served\n")
    finally:
        connection.close()


def test_a_head_request_has_no_body(server: HttpServer) -> None:
    assert ask(server, "/healthz", "HEAD") == (200, b"")


@pytest.mark.parametrize(("method", "path", "status"), [("GET", "/etc/passwd", 404), ("POST", "/healthz", 501)])
def test_anything_else_is_refused(server: HttpServer, method: str, path: str, status: int) -> None:
    assert ask(server, path, method)[0] == status


@pytest.mark.parametrize(
    "line", [b"", b"GET", b"GET /statusz", b"GET /statusz FTP/1.0", b"\xff / \r", b"GET  HTTP/1.0"]
)
def test_what_is_no_request_is_a_bad_one(line: bytes) -> None:
    assert answer(line + b"\r\n\r\n", {}, NoErrors()).startswith(b"HTTP/1.0 400 Bad Request\r\n")


def test_the_headers_of_an_answer() -> None:
    page = Page(body=b"a", content_type="text/html", headers={"Content-Security-Policy": "default-src 'none'"})
    made = answer(b"HEAD /?x=1 HTTP/1.1\r\nHOST: localhost\r\n\r\n", {"/": lambda: page}, NoErrors())
    assert made.split(b"\r\n") == [
        b"HTTP/1.0 200 OK",
        b"Server: evictd",
        b"Content-Type: text/html",
        b"Content-Length: 1",
        b"Cache-Control: no-store",
        b"X-Content-Type-Options: nosniff",
        b"Content-Security-Policy: default-src 'none'",
        b"",
        b"",
    ]


def test_a_page_that_fails_costs_an_answer_and_no_worker(server: HttpServer) -> None:
    for _ in range(MOST_CLIENTS + 1):
        assert ask(server, "/broken")[0] == 500
    assert ask(server, "/healthz")[0] == 200
    assert len(ERRORS) == MOST_CLIENTS + 1


def test_clients_that_hang_up_or_send_garbage_cost_no_worker(server: HttpServer) -> None:
    for _ in range(MOST_CLIENTS + 1):
        with socket.create_connection(("127.0.0.1", server.port)):
            pass
        with socket.create_connection(("127.0.0.1", server.port)) as rude:
            rude.sendall(b"\x00\xff" * 1000 + b"\r\n\r\n")
    assert ask(server, "/healthz")[0] == 200


def test_a_silent_client_delays_no_other(server: HttpServer) -> None:
    with socket.create_connection(("127.0.0.1", server.port)):
        assert ask(server, "/healthz")[0] == 200


def test_more_idle_clients_than_may_be_open_delay_no_other(server: HttpServer) -> None:
    """Half a byte a second by four clients starved `/healthz`, and the liveness probe restarted evictd."""
    with ExitStack() as stack:
        idle = [
            stack.enter_context(socket.create_connection(("127.0.0.1", server.port))) for _ in range(MOST_CLIENTS + 8)
        ]
        for _ in range(3):
            for client in idle:
                with suppress(OSError):
                    client.send(b"G")
            assert ask(server, "/healthz") == (200, b"ok\n")


def test_the_time_limit_is_for_the_whole_request(server: HttpServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """A byte now and then does not prolong it."""
    monkeypatch.setattr("evictd.daemon.telemetry.http.REQUEST_SECONDS", 0.5)
    with socket.create_connection(("127.0.0.1", server.port)) as client:
        client.settimeout(0.05)
        for _ in range(1200):
            try:
                client.send(b"G")
                if client.recv(1) == b"":
                    return
            except TimeoutError:
                continue
            except OSError:
                return
    raise AssertionError("the connection was never closed")


def test_a_large_page_arrives_whole_also_at_a_slow_reader() -> None:
    large = b"x" * (8 << 20)
    ours = HttpServer("127.0.0.1:0", {"/large": lambda: Page(body=large)}, NoErrors())
    try:
        assert ask(ours, "/large") == (200, large)
    finally:
        ours.close()


def test_ipv6_loopback_is_an_address(server: HttpServer) -> None:
    try:
        ours = HttpServer("[::1]:0", {}, NoErrors())
    except NodeError:
        pytest.skip("no IPv6 on this machine")
    with socket.create_connection(("::1", ours.port), timeout=30) as connection:
        assert connection.getpeername()[:2] == ("::1", ours.port)
    ours.close()


@pytest.mark.parametrize("address", ["127.0.0.1:99999999", "127.0.0.1:x", "203.0.113.1:80", ":10277", ""])
def test_an_address_that_is_unavailable_is_one_clear_error(address: str) -> None:
    with pytest.raises(NodeError, match="listenAddress"):
        HttpServer(address, {}, NoErrors())


def test_a_taken_port_is_one_clear_error(server: HttpServer) -> None:
    """`evictd status` showed the other daemon's pods, without DRY RUN, and they were taken for this one's."""
    address = f"127.0.0.1:{server.port}"
    with pytest.raises(NodeError) as refused:
        HttpServer(address, {}, NoErrors())
    assert str(refused.value) == (
        f"listenAddress {address}: Address already in use: `evictd status --address {address}` shows the state of another "
        "process, not of this one; set listenAddress to a free port"
    )


def test_a_taken_port_is_reported_and_served_once_it_is_free() -> None:
    """Each reload tries again; a server that listens is left as it is."""
    errors, taken = RecordedErrors(), socket.create_server(("127.0.0.1", 0))
    address = f"127.0.0.1:{taken.getsockname()[1]}"
    ours = StatusServer(address, {"/healthz": lambda: Page(body=b"ok\n")}, errors)
    ours.listen()
    assert [source for source, _ in errors] == ["listen"]
    assert ours.served_at == "", "another daemon's pages are not this one's"
    taken.close()
    ours.listen()
    ours.listen()
    assert ours.served_at == address
    with socket.create_connection(("127.0.0.1", int(address.rpartition(":")[2])), timeout=30):
        assert len(errors) == 1
    ours.close()


def test_without_a_thread_nothing_is_served_and_nothing_stays_open(tmp_path: Path) -> None:
    """Served at the next reload, as where the address is taken; the daemon ended with a traceback."""
    errors = RecordedErrors()
    server = StatusServer(f"unix:{tmp_path}/status", {}, errors)
    descriptors = len(list(Path("/proc/self/fd").iterdir()))
    with no_thread_to_give():
        server.listen()
    assert errors.details == [f"thread evictd-http: {REFUSAL}"]
    assert len(list(Path("/proc/self/fd").iterdir())) == descriptors
    server.listen()
    assert server.served_at
    server.close()


def test_without_a_descriptor_for_its_loop_nothing_is_served(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full() -> asyncio.AbstractEventLoop:
        raise OSError(errno.EMFILE, "Too many open files")

    monkeypatch.setattr(asyncio, "new_event_loop", full)
    server = StatusServer(f"unix:{tmp_path}/status", {}, errors := RecordedErrors())
    server.listen()
    (detail,) = errors.details
    assert "Too many open files" in detail
    assert server.served_at == ""


def test_without_an_address_nothing_is_served() -> None:
    ours = StatusServer("", {}, NoErrors())
    ours.listen()
    ours.close()


PROBE = Path(__file__).parents[3] / "deploy/evictd-probe"


def test_a_unix_socket_is_served_to_the_probe_of_the_daemon_set(tmp_path: Path) -> None:
    """The socket that a killed daemon left is replaced."""
    path = tmp_path / "h.sock"
    program = PROBE.read_text().replace("/tmp/evictd-health.sock", str(path))
    healthy = [HTTPStatus.OK]

    def probe() -> subprocess.CompletedProcess[str]:
        argv = [sys.executable, "-IS", "-c", program, "/healthz"]
        return subprocess.run(argv, capture_output=True, text=True, timeout=60, check=False)

    assert probe().stderr.startswith("evictd does not answer: ")
    with socket.socket(socket.AF_UNIX) as left:
        left.bind(str(path))
    ours = HttpServer(f"unix:{path}", {"/healthz": lambda: Page(body=b"ok\n", status=healthy[0])}, NoErrors())
    try:
        assert (probe().returncode, path.stat().st_mode & 0o777) == (0, 0o600)
        healthy[0] = HTTPStatus.SERVICE_UNAVAILABLE
        ended = probe()
        assert (ended.returncode, ended.stderr) == (1, "/healthz: HTTP/1.0 503 Service Unavailable\n")
    finally:
        ours.close()


@pytest.mark.parametrize("name", ["none/h.sock", "file"])
def test_a_path_that_cannot_be_a_socket_is_refused_and_stays(tmp_path: Path, name: str) -> None:
    (tmp_path / "file").write_text("kept")
    with pytest.raises(NodeError, match="listenAddress unix:"):
        HttpServer(f"unix:{tmp_path / name}", {}, NoErrors())
    assert (tmp_path / "file").read_text() == "kept"
