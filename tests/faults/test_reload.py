"""A refused reload, end to end: systemd status, /statusz and /metrics report it until the next good one."""

import json
import signal
import socket
import time
from pathlib import Path

import pytest

from tests.daemon.test_run import configured, evictd_run, wait_for_page
from tests.ports import free_ports

pytestmark = pytest.mark.root  # evictd reads every cgroup

GAUGE = b"evictd_config_last_reload_successful "


def test_a_bad_reload_is_shown_until_the_next_good_one(tmp_path: Path) -> None:
    (port,) = free_ports()
    config = configured(tmp_path, listenAddress=f"127.0.0.1:{port}")
    good = config.read_text()
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        manager.bind(str(tmp_path / "notify"))
        manager.settimeout(60)
        process = evictd_run("--config", str(config), NOTIFY_SOCKET=str(tmp_path / "notify"))
        try:
            wait_for_page(port, "/healthz")
            for text, fault in (("evictionHard: [", True), (good, False)):
                config.write_text(text)
                process.send_signal(signal.SIGHUP)
                assert ("not reloaded" in _status_after_reload(manager)) == fault
                problems = [row["source"] for row in json.loads(wait_for_page(port, "/statusz")[1])["problems"]]
                assert ("reload" in problems) == fault
                assert (GAUGE + (b"0.0" if fault else b"1.0")) in wait_for_page(port, "/metrics")[1]
        finally:
            process.send_signal(signal.SIGTERM)
            process.communicate(timeout=60)


def _status_after_reload(manager: socket.socket) -> str:
    """Return the service's status text at the end of a reload."""
    ends = time.monotonic() + 60
    reloading = False
    while time.monotonic() < ends:
        message = manager.recv(65536).decode()
        reloading = reloading or message.startswith("RELOADING=1")
        if reloading and message.startswith("READY=1"):
            return message
    raise AssertionError("the reload never ended")
