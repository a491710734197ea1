"""Notifications of systemd, over a real datagram socket."""

import os
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from evictd.core.units.duration import SECOND
from evictd.daemon.host.sd_notify import SdNotifier


@pytest.fixture
def manager(tmp_path: Path) -> Iterator[socket.socket]:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as listener:
        listener.bind(str(tmp_path / "notify"))
        listener.settimeout(60)
        yield listener


@pytest.fixture
def notifier(manager: socket.socket) -> Iterator[SdNotifier]:
    ours = SdNotifier.from_environment({"NOTIFY_SOCKET": manager.getsockname()})
    yield ours
    ours.close()


def test_ready_is_sent_with_the_status(manager: socket.socket, notifier: SdNotifier) -> None:
    notifier.ready("watching 3 signals")
    assert manager.recv(1000) == b"READY=1\nSTATUS=watching 3 signals"


def test_a_reload_carries_the_monotonic_clock_in_microseconds(manager: socket.socket, notifier: SdNotifier) -> None:
    notifier.reloading(12_345_678_901)
    assert manager.recv(1000) == b"RELOADING=1\nMONOTONIC_USEC=12345678"


def test_stopping_and_the_sign_of_life(manager: socket.socket, notifier: SdNotifier) -> None:
    notifier.stopping()
    notifier.alive()
    assert [manager.recv(1000), manager.recv(1000)] == [b"STOPPING=1", b"WATCHDOG=1"]


def test_a_status_is_one_line_whatever_it_is_made_of(manager: socket.socket, notifier: SdNotifier) -> None:
    notifier.status("")  # nothing to say is nothing said
    notifier.status("no runtime:\nREADY=1\n at  all")
    assert manager.recv(1000) == b"STATUS=no runtime: READY=1 at all"


def test_an_abstract_socket_is_spelled_with_an_at_sign() -> None:
    name = f"evictd-test-{os.getpid()}"
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as listener:
        listener.bind("\0" + name)
        listener.settimeout(60)
        notifier = SdNotifier.from_environment({"NOTIFY_SOCKET": f"@{name}"})
        notifier.ready()
        assert listener.recv(1000) == b"READY=1"
        notifier.close()


def test_without_a_socket_nothing_happens() -> None:
    notifier = SdNotifier.from_environment({})
    notifier.ready()
    notifier.close()
    assert notifier.watchdog_interval is None


def test_a_manager_that_is_gone_is_no_reason_to_fail(tmp_path: Path) -> None:
    before = len(list(Path("/proc/self/fd").iterdir()))
    notifier = SdNotifier.from_environment({"NOTIFY_SOCKET": str(tmp_path / "nobody")})
    notifier.ready()
    notifier.close()
    notifier.ready()
    assert len(list(Path("/proc/self/fd").iterdir())) == before


@pytest.mark.parametrize(
    ("environment", "interval"),
    [
        ({"WATCHDOG_USEC": "30000000"}, 30 * SECOND),
        ({"WATCHDOG_USEC": "30000000", "WATCHDOG_PID": "77"}, 30 * SECOND),
        ({"WATCHDOG_USEC": "30000000", "WATCHDOG_PID": "78"}, None),
        ({"WATCHDOG_USEC": "0"}, None),
        ({"WATCHDOG_USEC": "soon"}, None),
        ({}, None),
    ],
)
def test_the_watchdog_is_fed_only_when_it_is_ours(environment: dict[str, str], interval: int | None) -> None:
    assert SdNotifier.from_environment(environment, pid=77).watchdog_interval == interval
