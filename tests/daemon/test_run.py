"""`evictd run`, as a process: what it refuses before it touches anything, and how it begins and ends without a runtime."""

import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import time
from ctypes.util import find_library
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from evictd.config.file import load
from evictd.daemon.run import low_memory_thresholds
from evictd.errors import ExitCode
from evictd.observe.reading.roots import Roots
from tests.ports import free_ports

KUBELET = {"apiVersion": "kubelet.config.k8s.io/v1beta1", "kind": "KubeletConfiguration"}
EVICTD = {"apiVersion": "evictd.io/v1alpha1", "kind": "EvictdConfiguration"}


def configured(folder: Path, **evictd: Any) -> Path:
    second = {
        **EVICTD,
        "housekeepingInterval": "200ms",
        "stateDirectory": str(folder / "state"),
        "rootDir": str(folder),
        "listenAddress": "",
        **evictd,
    }
    first = {**KUBELET, "containerRuntimeEndpoint": f"unix://{folder}/absent.sock", "podLogsDir": str(folder)}
    path = folder / "config.yaml"
    path.write_text(json.dumps(first) + "\n---\n" + json.dumps(second))
    return path


def evictd_run(*arguments: str, **environment: str) -> "subprocess.Popen[str]":
    argv = [sys.executable, "-m", "evictd", "run", *arguments]
    return subprocess.Popen(
        argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env={**os.environ, **environment}
    )


def wait_for_page(port: int, path: str) -> tuple[int, bytes]:
    for _ in range(1200):
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
        try:
            connection.request("GET", path)
            answer = connection.getresponse()
            body = answer.read()
            if path != "/healthz" or answer.status == 200:
                return answer.status, body
        except OSError:
            pass
        finally:
            connection.close()
        time.sleep(0.05)
    raise AssertionError(f"{path}: no answer")


def test_a_configuration_with_faults_ends_it_before_anything_is_touched(tmp_path: Path) -> None:
    path = tmp_path / "config.yaml"
    path.write_text(json.dumps({**KUBELET, "evictionHard": {"memory.available": "lots", "disk": "1Gi"}}))
    process = evictd_run("--config", str(path))
    _, said = process.communicate(timeout=60)
    assert process.returncode == ExitCode.USAGE
    assert "Traceback" not in said
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.root  # reads every cgroup
def test_without_a_runtime_it_runs_reports_it_and_ends_at_sigterm(tmp_path: Path) -> None:
    (port,) = free_ports()
    process = evictd_run("--config", str(configured(tmp_path, listenAddress=f"127.0.0.1:{port}")))
    try:
        assert wait_for_page(port, "/healthz") == (200, b"ok\n")
        status, words = wait_for_page(port, "/readyz")
        assert status == 503
        assert b"absent.sock" in words
        assert json.loads(wait_for_page(port, "/statusz")[1])["kind"] == "Status"
        assert b"evictd_cycle_duration_seconds" in wait_for_page(port, "/metrics")[1]
    finally:
        process.send_signal(signal.SIGTERM)
        _, said = process.communicate(timeout=60)
    assert process.returncode == 0
    assert "Traceback" not in said
    assert said.count('"source": "container runtime"') == 1  # told once, not every cycle
    assert (tmp_path / "state" / "state.json").exists()


@pytest.mark.root  # reads every cgroup
def test_without_a_runtime_it_is_ready_and_its_status_names_what_is_missing(tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        manager.bind(str(tmp_path / "notify"))
        manager.settimeout(60)
        process = evictd_run("--config", str(configured(tmp_path)), NOTIFY_SOCKET=str(tmp_path / "notify"))
        try:
            ready, status = manager.recv(4096).decode().splitlines()
        finally:
            process.send_signal(signal.SIGTERM)
            process.communicate(timeout=60)
    assert ready == "READY=1"
    assert "absent.sock" in status


@pytest.mark.root  # reads every cgroup
def test_a_taken_port_is_reported_and_the_daemon_goes_on_and_a_reload_tries_again(tmp_path: Path) -> None:
    """It ended with exit status 3: an address in use stopped every eviction."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager, socket.create_server(("127.0.0.1", 0)) as taken:
        manager.bind(str(tmp_path / "notify"))
        manager.settimeout(60)
        port = taken.getsockname()[1]
        path = configured(tmp_path, listenAddress=f"127.0.0.1:{port}")
        process = evictd_run("--config", str(path), NOTIFY_SOCKET=str(tmp_path / "notify"))
        try:
            assert manager.recv(4096).startswith(b"READY=1")
            taken.close()
            process.send_signal(signal.SIGHUP)
            assert wait_for_page(port, "/healthz") == (200, b"ok\n")
        finally:
            process.send_signal(signal.SIGTERM)
            _, said = process.communicate(timeout=60)
    assert process.returncode == 0
    assert said.count("Address already in use") == 1


@pytest.mark.root  # reads every cgroup
def test_a_second_daemon_on_the_same_state_is_refused(tmp_path: Path) -> None:
    (port,) = free_ports()
    path = configured(tmp_path, listenAddress=f"127.0.0.1:{port}")
    first = evictd_run("--config", str(path))
    try:
        wait_for_page(port, "/healthz")
        second = evictd_run("--config", str(path))
        _, said = second.communicate(timeout=60)
        assert second.returncode == ExitCode.TAKEN
        assert "another evictd" in said
    finally:
        first.send_signal(signal.SIGTERM)
        first.communicate(timeout=60)


COUNT = """
import ctypes, threading
from evictd.daemon.run import use_one_arena

use_one_arena()
libc = ctypes.CDLL(None)
libc.fopen.restype = ctypes.c_void_p
libc.fclose.argtypes = [ctypes.c_void_p]
libc.malloc_info.argtypes = [ctypes.c_int, ctypes.c_void_p]
together = threading.Barrier(8)

def allocate():
    kept = bytearray(10_000)
    together.wait(60)

threads = [threading.Thread(target=allocate) for _ in range(8)]
for each in threads:
    each.start()
for each in threads:
    each.join()
file = libc.fopen(b"/dev/stdout", b"w")
libc.malloc_info(0, file)
libc.fclose(file)
"""


@pytest.mark.skipif(find_library("c") != "libc.so.6", reason="malloc_info is glibc's")
def test_all_threads_allocate_from_one_arena() -> None:
    ended = subprocess.run([sys.executable, "-c", COUNT], capture_output=True, text=True, timeout=60, check=True)
    assert ended.stdout.count("<heap nr=") == 1


def test_a_low_threshold_of_a_large_node_is_noted_at_the_start(tmp_path: Path) -> None:
    """`check` noted the 150Mi of the sample on a large node, and a daemon that was started with it said nothing."""
    thresholds = load(Path(__file__).parents[2] / "config/evictd.yaml").eviction.thresholds
    roots = Roots(proc=tmp_path)
    assert list(low_memory_thresholds(thresholds, roots)) == []
    (tmp_path / "meminfo").write_text("MemTotal: 16777216 kB\n")
    (note,) = low_memory_thresholds(thresholds, roots)
    assert note.startswith("memory.available: this node has 16Gi, and 150Mi leave little time ")
    assert note.endswith(
        "; from 4 GiB on set 500Mi hard and 1Gi soft, unless `evictd advise` proposed less (LittleMemoryLeft)"
    )
    assert list(low_memory_thresholds(thresholds, replace(roots, node_cgroup="/small"))) == []
    (tmp_path / "meminfo").write_text("MemTotal: 2097152 kB\n")
    assert list(low_memory_thresholds(thresholds, roots)) == []
