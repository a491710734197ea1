"""evictd under a real systemd: ready, reloaded, stopped, hung and restarted; as closed and as protected as its unit says."""

import os
import re
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.vm.guest import service
from tests.vm.guest.figures import figure
from tests.vm.guest.node import Node
from tests.vm.guest.waiting import wait_for

pytestmark = pytest.mark.vm

MIB = 1 << 20
WATCHDOG_DROP_IN = Path("/run/systemd/system/evictd.service.d/watchdog.conf")


@pytest.fixture(scope="module")
def installed(machine: Node) -> None:
    service.install()


@pytest.fixture(scope="module")
def running(installed: None) -> Iterator[None]:
    """The service, started once for all the checks that only look."""
    # The unit's 30 s would only make the check of the watchdog longer.
    WATCHDOG_DROP_IN.parent.mkdir(parents=True, exist_ok=True)
    WATCHDOG_DROP_IN.write_text("[Service]\nWatchdogSec=10\n")
    service.systemctl("daemon-reload")
    service.configure({})
    service.start()
    service.wait_until_watching()
    yield
    service.stop()
    WATCHDOG_DROP_IN.unlink()
    service.systemctl("daemon-reload")


def process_status(key: str) -> str:
    text = Path(f"/proc/{service.main_pid()}/status").read_text()
    found = re.search(rf"^{key}:\s*(.*)$", text, re.MULTILINE)
    assert found is not None
    return found[1]


def test_systemd_understands_every_line_of_the_unit(installed: None) -> None:
    argv = ["systemd-analyze", "verify", "--man=no", "evictd.service", "evictd.slice"]
    answer = subprocess.run(argv, check=False, capture_output=True, text=True)
    assert (answer.returncode, answer.stderr) == (0, "")


def test_the_exposure_is_low_by_this_systemd_too(installed: None) -> None:
    argv = ["systemd-analyze", "security", "--offline=true", "--threshold=30", "--no-pager", str(service.UNIT)]
    answer = subprocess.run(argv, check=False, capture_output=True, text=True)
    figure(answer.stdout.strip().splitlines()[-1])
    assert answer.returncode == 0, answer.stdout


def test_it_starts_and_says_that_it_is_ready(running: None) -> None:
    assert service.shown("ActiveState") == "active"
    assert service.shown("SubState") == "running"
    assert service.shown("NRestarts") == "0"
    assert service.page("/readyz").strip() == "ok"


def test_it_sees_the_node_from_behind_its_walls(running: None) -> None:
    document = service.status()
    assert document["problems"] == []
    signals = {entry["signal"]: entry for entry in document["signals"]}
    assert signals["memory.available"]["observed"]


def test_the_kernel_protects_its_memory_all_the_way_down(running: None) -> None:
    for cgroup in (service.CGROUP.parent, service.CGROUP):
        assert int((cgroup / "memory.min").read_text()) >= 96 * MIB
        assert int((cgroup / "memory.low").read_text()) >= 160 * MIB
    used = int((service.CGROUP / "memory.current").read_text())
    figure(f"memory of the service: {used / MIB:.1f} MiB")
    assert used < 96 * MIB


def test_it_is_the_last_to_be_killed_and_holds_two_capabilities(running: None) -> None:
    assert Path(f"/proc/{service.main_pid()}/oom_score_adj").read_text().strip() == "-999"
    dac_read_search, sys_resource = 1 << 2, 1 << 24
    assert int(process_status("CapBnd"), 16) == int(process_status("CapEff"), 16) == dac_read_search | sys_resource
    assert process_status("NoNewPrivs") == "1"
    assert process_status("Seccomp") == "2"


def test_its_pages_are_locked_into_memory(running: None) -> None:
    assert int(process_status("VmLck").split()[0]) > 0


def test_it_listens_to_the_kernels_words_on_memory(running: None) -> None:
    folder = Path(f"/proc/{service.main_pid()}/fd")
    held = [str(link.readlink()) for link in folder.iterdir()]
    assert any(name.endswith("/pressure/memory") for name in held)
    assert any(name.endswith("/kubepods.slice/memory.pressure") for name in held)


def test_a_reload_takes_up_the_new_thresholds_in_the_same_process(running: None) -> None:
    pid = service.main_pid()
    service.configure({"evictionHard": {"memory.available": "123Mi"}})
    service.systemctl("reload", service.NAME)

    def limit() -> int:
        signals = {entry["signal"]: entry for entry in service.status()["signals"]}
        thresholds = signals["memory.available"]["thresholds"]
        return int(thresholds[0]["limit"])

    wait_for(lambda: limit() == 123 * MIB, 30, "the new threshold")
    assert service.main_pid() == pid
    assert service.shown("ActiveState") == "active"


def test_a_bad_configuration_changes_nothing(running: None) -> None:
    pid = service.main_pid()
    before = service.page("/configz")
    service.configure({"evictionHard": {"memory.available": "plenty"}})
    service.systemctl("reload", service.NAME, check=False)
    wait_for(lambda: "evictionHard" in service.log_text(), 30, "the fault in the log")
    assert service.page("/configz") == before
    assert (service.main_pid(), service.shown("ActiveState")) == (pid, "active")
    service.configure({})


def test_a_hang_is_ended_by_the_watchdog_and_the_service_is_back(running: None) -> None:
    pid = service.main_pid()
    os.kill(pid, signal.SIGSTOP)
    wait_for(lambda: service.shown("NRestarts") == "1", 60, "the watchdog to have the service restarted")
    wait_for(lambda: service.shown("ActiveState") == "active", service.START_SECONDS, "the service to be ready again")
    assert service.main_pid() not in {0, pid}
    journal = subprocess.run(
        ["journalctl", "--no-pager", "--output=cat", "_PID=1", "--unit", service.NAME],
        check=True,
        capture_output=True,
        text=True,
    )
    assert "Watchdog timeout" in journal.stdout


def test_it_stops_when_asked(running: None) -> None:
    began = time.monotonic()
    service.systemctl("stop", service.NAME)
    figure(f"stopped in {time.monotonic() - began:.1f} s")
    assert service.shown("ActiveState") == "inactive"
    assert service.shown("Result") == "success"
    assert service.shown("ExecMainStatus") == "0"


def test_a_configuration_that_cannot_be_used_is_not_tried_again_and_again(installed: None) -> None:
    service.configure({"evictionHard": {"memory.available": "plenty"}})
    service.systemctl("start", service.NAME, check=False)
    assert service.shown("ActiveState") == "failed"
    assert service.shown("ExecMainStatus") == "2"
    service.stop()
