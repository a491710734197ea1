"""Faults of the state directory, end to end."""

import json
import signal
from pathlib import Path

import pytest

from evictd.codec.state import encode_state
from evictd.core.model.state import State
from evictd.daemon.store.state_file import StateFile, boot_id
from evictd.errors import ExitCode
from tests.daemon.test_run import configured, evictd_run, wait_for_page
from tests.ports import free_ports

pytestmark = pytest.mark.root  # evictd reads every cgroup


def test_a_state_that_is_json_and_damaged_is_set_aside_and_the_daemon_runs(tmp_path: Path) -> None:
    """`time: "x"` once caused exit status 1 at every start under pressure."""
    (port,) = free_ports()
    config = configured(tmp_path, listenAddress=f"127.0.0.1:{port}")
    folder = tmp_path / "state"
    folder.mkdir()
    state = {
        **encode_state(State()),
        "lastSeen": {"memory.available": {"available": "1", "capacity": "2", "time": "x"}},
    }
    StateFile(folder / "state.json", boot_id()).write({"state": state, "images": {}, "evicted": [], "runningSince": 1})
    process = evictd_run("--config", str(config))
    try:
        assert wait_for_page(port, "/healthz")[0] == 200
    finally:
        process.send_signal(signal.SIGTERM)
        _, said = process.communicate(timeout=60)
    assert process.returncode == 0
    assert said.count("set aside") == 1
    aside = json.loads((folder / "state.json.set-aside").read_text())
    assert aside["remembered"]["state"]["lastSeen"]["memory.available"]["time"] == "x"


def test_a_second_daemon_is_refused_also_when_the_state_directory_was_removed(tmp_path: Path) -> None:
    (port,) = free_ports()
    config = configured(tmp_path, listenAddress=f"127.0.0.1:{port}")
    run = {"RUNTIME_DIRECTORY": str(tmp_path / "run")}
    first = evictd_run("--config", str(config), **run)
    try:
        wait_for_page(port, "/healthz")
        (tmp_path / "state").rename(tmp_path / "removed")  # in one step, while the daemon writes there
        configured(tmp_path, listenAddress="")
        second = evictd_run("--config", str(config), **run)
        _, said = second.communicate(timeout=60)
        assert second.returncode == ExitCode.TAKEN
        assert "another evictd" in said
    finally:
        first.send_signal(signal.SIGTERM)
        first.communicate(timeout=60)
    again = evictd_run("--config", str(config), "--log-level", "debug", **run)
    try:
        assert "starting" in again.stderr.readline()  # type: ignore[union-attr] # it is a pipe
    finally:
        again.send_signal(signal.SIGTERM)
        again.communicate(timeout=60)
