"""Readiness, the status line and the watchdog of the service manager."""

import os
import re
import select
import signal
import socket
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from evictd.clients.cri.client import READ_TIMEOUT_SECONDS
from evictd.clock import boot_clock
from evictd.core.model.observation import Problem
from evictd.core.units.duration import SECOND
from evictd.daemon.host.liveness import SIGNS_OF_LIFE, SdNotifier
from evictd.daemon.waiter import SIGNALS, WaitResult
from evictd.errors import NodeError
from evictd.observe.filesystems.filesystem import TIMEOUT
from evictd.observe.reading.observer import RUNTIME, ObserveRequest
from evictd.observe.reading.reading import Reading
from evictd.observe.runtime.runtime_view import PATIENCE_SECONDS
from tests.daemon.conftest import Make
from tests.daemon.world import GI, observe


def test_the_daemon_is_ready_without_a_runtime_and_the_status_names_what_is_missing(
    tmp_path: Path, make: Make, manager: socket.socket
) -> None:
    notifier = SdNotifier(str(tmp_path / "notify"))
    deaf = replace(observe(4 * GI), problems=(Problem(source=RUNTIME, detail="no answer"),))
    ours = make([deaf, observe(4 * GI)], notifier=notifier)
    ours.wake.listen(SIGNALS)
    heard: list[bytes] = []

    def manage() -> None:
        heard.append(manager.recv(1000))
        ours.wake.wake()  # a second cycle, that sees the runtime
        heard.append(manager.recv(1000))
        os.kill(os.getpid(), signal.SIGTERM)

    thread = threading.Thread(target=manage)
    thread.start()
    ours.loop.run()
    thread.join()
    notifier.close()
    assert heard == [b"READY=1\nSTATUS=Watching; no pressure; no answer", b"STATUS=Watching; no pressure"]


def test_the_daemon_is_ready_after_a_first_cycle_that_failed(
    tmp_path: Path, make: Make, manager: socket.socket
) -> None:
    def fail(request: ObserveRequest) -> Reading:
        os.kill(os.getpid(), signal.SIGTERM)
        raise NodeError("the mount table is gone")

    notifier = SdNotifier(str(tmp_path / "notify"))
    ours = make([observe(4 * GI)], notifier=notifier)
    ours.observer.observe = fail  # type: ignore[method-assign]
    ours.wake.listen(SIGNALS)
    ours.loop.run()
    notifier.close()
    assert manager.recv(1000) == b"READY=1\nSTATUS=Watching; no pressure; the mount table is gone"


def test_the_watchdog_is_notified_while_the_node_is_calm(tmp_path: Path, make: Make) -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        manager.bind(str(tmp_path / "notify"))
        manager.settimeout(60)
        notifier = SdNotifier(str(tmp_path / "notify"), watchdog_interval=SECOND // 50)
        ours = make([observe(4 * GI)], notifier=notifier)
        ours.wake.listen(SIGNALS)
        thread = threading.Thread(target=_stop_after, args=(manager, 4))
        thread.start()
        ours.loop.run()
        thread.join()
        notifier.close()
    assert len(ours.observer.requests) == 1  # signs of life come from the wait, not from more cycles


def _stop_after(manager: socket.socket, signs: int) -> None:
    seen = 0
    while seen < signs:
        seen += manager.recv(1000).startswith(b"WATCHDOG=1")
    os.kill(os.getpid(), signal.SIGTERM)


def test_the_watchdog_is_notified_between_the_steps_of_a_long_observation(
    tmp_path: Path, make: Make, manager: socket.socket
) -> None:
    notifier = SdNotifier(str(tmp_path / "notify"), watchdog_interval=SECOND // 50)
    ours = make([observe(4 * GI)], notifier=notifier)
    observe_at_once = ours.observer.observe

    def observe_slowly(request: ObserveRequest) -> Reading:
        for _ in range(3):
            ours.published.alive_at = 0
            while ours.published.alive_at == 0 or not select.select([manager], [], [], 0)[0]:
                ours.loop._waiter.liveness.sign_of_life()
            assert manager.recv(1000).startswith(b"WATCHDOG=1")
        return observe_at_once(request)

    ours.observer.observe = observe_slowly  # type: ignore[method-assign]
    ours.loop.cycle(WaitResult())
    notifier.close()
    assert len(ours.observer.requests) == 1
    assert boot_clock() - ours.published.alive_at < 60 * SECOND


def test_no_step_of_a_cycle_outlasts_the_unit_s_watchdog() -> None:
    unit = (Path(__file__).parents[3] / "deploy/evictd.service").read_text()
    found = re.search(r"^WatchdogSec=(\d+)$", unit, re.MULTILINE)
    assert found is not None
    watchdog = int(found[1])
    steps = {
        "a listing, the statistics, or the image filesystem": READ_TIMEOUT_SECONDS,
        "new ids, with those under way at the end": PATIENCE_SECONDS + READ_TIMEOUT_SECONDS,
        "nodefs, imagefs and containerfs": 3 * TIMEOUT // SECOND,
    }
    silent_before = watchdog / SIGNS_OF_LIFE  # a sign that is not due yet is not given
    assert {what: seconds for what, seconds in steps.items() if silent_before + seconds >= watchdog} == {}


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
