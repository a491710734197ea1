"""Faults of the log, end to end: `evictd run` continues its cycles and ends on request with every kind of standard error.

Each of these ended or stopped the daemon while the loop wrote its log itself.
"""

import fcntl
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.daemon.test_run import configured, wait_for_page
from tests.ports import free_ports

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="needs root to read all cgroups")


def stopped_reader() -> tuple[int, int]:
    """A pipe that is full to the last byte; its read end must stay open."""
    read, write = os.pipe()
    fcntl.fcntl(write, fcntl.F_SETPIPE_SZ, 4096)
    os.write(write, b"x" * 4096)
    return write, read


def reader_gone() -> tuple[int, int]:
    read, write = os.pipe()
    os.close(read)
    return write, -1


def full_disk() -> tuple[int, int]:
    return os.open("/dev/full", os.O_WRONLY), -1


@pytest.mark.root
@pytest.mark.parametrize("make", [stopped_reader, reader_gone, full_disk])
def test_the_cycles_continue_with_any_reader_of_the_log(tmp_path: Path, make: Callable[[], tuple[int, int]]) -> None:
    stderr, other = make()
    try:
        _continues_and_ends(tmp_path, [], stderr)
    finally:
        os.close(stderr)
        if other >= 0:
            os.close(other)


@pytest.mark.root
@pytest.mark.parametrize("closed", ["2>&-", "1>&-", "0<&- 1>&- 2>&-"])
def test_closed_standard_descriptors_are_no_error(tmp_path: Path, closed: str) -> None:
    _continues_and_ends(tmp_path, ["sh", "-c", f'exec "$@" {closed}', "sh"], subprocess.DEVNULL)


def _continues_and_ends(folder: Path, prefix: list[str], stderr: int) -> None:
    (port,) = free_ports()
    config = configured(folder, listenAddress=f"127.0.0.1:{port}")
    argv = [*prefix, sys.executable, "-m", "evictd", "run", "--config", str(config)]
    process = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=stderr)
    try:
        assert wait_for_page(port, "/healthz") == (200, b"ok\n")
        assert b"evictd_log_lines_dropped_total" in wait_for_page(port, "/metrics")[1]
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 0
    finally:
        process.kill()
        process.wait()
