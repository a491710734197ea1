"""Strangers cost a bounded part of a processor, and a probe is answered beside them."""

import http.client
import multiprocessing
import multiprocessing.synchronize
import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from typing import Any

import pytest

from evictd.core.units.duration import SECOND
from evictd.daemon.telemetry.accept import BURST, LOAD, PER_SECOND, Acceptor, newest_of_each_source
from evictd.daemon.telemetry.http import HttpServer, Page, oldest_of_the_most
from tests.recorded_errors import NoErrors


def test_the_newest_of_each_source_comes_first() -> None:
    waiting: Any = [("flood", 1), ("flood", 2), ("kubelet", 3), ("flood", 4), ("other", 5), ("flood", 6)]
    first: Any = newest_of_each_source(waiting, 4)
    assert first == [("flood", 6), ("other", 5), ("kubelet", 3), ("flood", 4)]
    assert newest_of_each_source(waiting, 0) == []
    assert sorted(newest_of_each_source(waiting, 9)) == sorted(waiting)


def test_the_source_with_most_clients_loses_its_oldest() -> None:
    assert oldest_of_the_most({1: "kubelet", 2: "flood", 3: "flood"}) == 2
    assert oldest_of_the_most({1: "kubelet"}) == 1


class StoppedLoop:
    """An event loop whose time stands still; it accepts when the test says so."""

    def __init__(self) -> None:
        self.accept: Any = None

    def time(self) -> float:
        return 0.0

    def add_reader(self, _: socket.socket, accept: Any) -> None:
        self.accept = accept

    def remove_reader(self, _: socket.socket) -> None:
        self.accept = None

    def call_later(self, *_: Any) -> None:
        """Call nothing."""


def test_connections_that_wait_together_are_passed_on_oldest_first_and_the_others_closed() -> None:
    """The server closes the oldest of a source when it has too many."""
    served: list[socket.socket] = []
    loop: Any = StoppedLoop()
    with ExitStack() as stack:
        listener = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
        Acceptor(listener, loop, lambda _, connection: served.append(connection))
        clients = [
            stack.enter_context(socket.create_connection(listener.getsockname(), timeout=60)) for _ in range(BURST + 2)
        ]
        loop.accept()
        for each in served:
            stack.enter_context(each)
        assert [each.getpeername() for each in served] == [each.getsockname() for each in clients[2:]]
        assert [each.recv(1) for each in clients[:2]] == [b"", b""]
        assert loop.accept is None, "nothing more is accepted until the bucket is refilled"


def flood(port: int, source: str, ended: multiprocessing.synchronize.Event) -> None:
    """Connect, ask and reset without end, from an address of its own."""
    while not ended.is_set():
        with socket.socket() as client, suppress(OSError):
            client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
            client.settimeout(1)
            client.bind((source, 0))
            client.connect(("127.0.0.1", port))
            client.send(b"GET /healthz HTTP/1.0\r\n\r\n")


@contextmanager
def flooded(port: int) -> Iterator[None]:
    spawn = multiprocessing.get_context("spawn")
    ended = spawn.Event()
    with ExitStack() as stack:
        for source in ("127.0.0.2", "127.0.0.3"):
            process = spawn.Process(target=flood, args=(port, source, ended))
            process.start()
            stack.callback(process.join)
        stack.callback(ended.set)
        yield


def answered(port: int, seconds: float = 5) -> bool:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=seconds)
    try:
        connection.request("GET", "/healthz")
        return connection.getresponse().status == 200
    except OSError:
        return False
    finally:
        connection.close()


def test_a_flood_is_served_at_a_bounded_rate_and_a_probe_beside_it() -> None:
    """Two processes that connect without end made 4 of 11 probes fail, at a tenth of a processor."""
    served = 0

    def page() -> Page:
        nonlocal served
        served += 1
        return Page(body=b"ok\n")

    ours = HttpServer("127.0.0.1:0", {"/healthz": page}, NoErrors())
    began, asked = time.monotonic(), 0
    try:
        with flooded(ours.port):
            while not answered(ours.port):  # the flood begins
                pass
            flooded_at = time.monotonic()
            while time.monotonic() - flooded_at < 3 or asked < 3:
                asked += answered(ours.port)
            by_then = served  # the flood goes on until its processes have ended
            took = time.monotonic() - began
        assert by_then <= BURST + PER_SECOND * (took + 1) + 1
    finally:
        ours.close()


def test_pages_that_are_dear_are_served_within_a_part_of_a_processor(monkeypatch: pytest.MonkeyPatch) -> None:
    """One page of a large node takes as long as a hundred connections, and a cycle waits for the interpreter meanwhile."""
    each, made = 0.5, [0]
    monkeypatch.setattr("evictd.daemon.telemetry.http.thread_clock", lambda: int(made[0] * each * SECOND))

    def dear() -> Page:
        made[0] += 1
        return Page(body=b"dear\n")

    server = HttpServer("127.0.0.1:0", {"/healthz": dear}, NoErrors())
    begun = time.monotonic()
    try:
        while time.monotonic() - begun < 1:
            answered(server.port)
    finally:
        server.close()
    assert 0 < made[0] * each <= (BURST / PER_SECOND + time.monotonic() - begun) * LOAD + each


def test_a_client_alone_waits_for_pages_that_are_dear_and_is_answered(monkeypatch: pytest.MonkeyPatch) -> None:
    """A bucket that had just come out of debt held no whole connection, so what had waited was closed without an answer."""
    each, made = 0.1, [0]
    monkeypatch.setattr("evictd.daemon.telemetry.http.thread_clock", lambda: int(made[0] * each * SECOND))

    def dear() -> Page:
        made[0] += 1
        return Page(body=b"dear\n")

    server = HttpServer("127.0.0.1:0", {"/healthz": dear}, NoErrors())
    try:
        assert [answered(server.port, 60) for _ in range(8)] == [True] * 8
    finally:
        server.close()
