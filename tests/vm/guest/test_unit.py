"""evictd under a real systemd: readiness, reload, stop, watchdog restart, and the restrictions of its unit."""

import os
import re
import signal
import subprocess
import time
from pathlib import Path

import pytest

from evictd_testnode.pods import PodRecipe, VolumeRecipe
from tests.vm.guest import service
from tests.vm.guest.figures import figure
from tests.vm.guest.node import Node
from tests.vm.guest.waiting import wait_for

pytestmark = pytest.mark.vm

MIB = 1 << 20


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


def test_it_starts_and_notifies_readiness(evictd: None) -> None:
    assert service.shown("ActiveState") == "active"
    assert service.shown("SubState") == "running"
    assert service.page("/readyz").strip() == "ok"


def test_it_sees_the_node_from_behind_its_walls(evictd: None) -> None:
    document = service.status()
    assert document["problems"] == []
    signals = {entry["signal"]: entry for entry in document["signals"]}
    assert signals["memory.available"]["observed"]


def test_the_kernel_protects_its_memory_all_the_way_down(evictd: None) -> None:
    for cgroup in (service.CGROUP.parent, service.CGROUP):
        assert int((cgroup / "memory.min").read_text()) >= 96 * MIB
        assert int((cgroup / "memory.low").read_text()) >= 160 * MIB
    used = int((service.CGROUP / "memory.current").read_text())
    figure(f"memory of the service: {used / MIB:.1f} MiB")
    assert used < 96 * MIB


def test_it_is_the_last_to_be_killed_and_holds_four_capabilities(evictd: None) -> None:
    assert Path(f"/proc/{service.main_pid()}/oom_score_adj").read_text().strip() == "-999"
    dac_override, fowner, sys_ptrace, sys_resource = 1 << 1, 1 << 3, 1 << 19, 1 << 24
    granted = dac_override | fowner | sys_ptrace | sys_resource
    assert int(process_status("CapBnd"), 16) == int(process_status("CapEff"), 16) == granted
    assert process_status("NoNewPrivs") == "1"
    assert process_status("Seccomp") == "2"


def test_its_pages_are_locked_into_memory(evictd: None) -> None:
    assert int(process_status("VmLck").split()[0]) > 0


def test_it_uses_the_kernels_memory_notifications(evictd: None) -> None:
    folder = Path(f"/proc/{service.main_pid()}/fd")
    held = [str(link.readlink()) for link in folder.iterdir()]
    assert any(name.endswith("/pressure/memory") for name in held)
    assert any(name.endswith("/kubepods.slice/memory.pressure") for name in held)


def test_a_volume_mounted_later_is_seen_as_a_mount(evictd: None, node: Node) -> None:
    volumes = (VolumeRecipe(name="cache", medium="Memory"),)
    pod = node.run_pod(PodRecipe(name="cached", volumes=volumes))
    assert f" {pod.volumes['cache']} " in Path(f"/proc/{service.main_pid()}/mountinfo").read_text()


def test_a_reload_takes_up_the_new_thresholds_in_the_same_process(evictd: None) -> None:
    pid = service.main_pid()
    service.configure({"evictionHard": {"memory.available": "123Mi"}})
    service.systemctl("reload", service.NAME)

    def limit() -> int:
        signals = {entry["signal"]: entry for entry in service.status()["signals"]}
        thresholds = signals["memory.available"]["thresholds"]
        return int(thresholds[0]["limit"])

    wait_for(lambda: limit() == 123 * MIB, 120, "the new threshold")
    assert service.main_pid() == pid
    assert service.shown("ActiveState") == "active"


def test_a_bad_configuration_changes_nothing(evictd: None) -> None:
    pid = service.main_pid()
    before = service.page("/configz")
    service.configure({"evictionHard": {"memory.available": "plenty"}})
    with pytest.raises(subprocess.CalledProcessError):  # a program that reloads learns of it
        service.systemctl("reload", service.NAME)
    wait_for(lambda: "evictionHard" in service.log_text(), 120, "the fault in the log")
    assert service.page("/configz") == before
    assert (service.main_pid(), service.shown("ActiveState")) == (pid, "active")
    service.configure({})


def test_a_hang_is_ended_by_the_watchdog_and_the_service_is_back(evictd: None) -> None:
    pid = service.main_pid()
    os.kill(pid, signal.SIGSTOP)
    wait_for(lambda: service.shown("NRestarts") == "1", 120, "the watchdog to have the service restarted")
    wait_for(lambda: service.shown("ActiveState") == "active", service.START_SECONDS, "the service to be ready again")
    assert service.main_pid() not in {0, pid}
    journal = subprocess.run(
        ["journalctl", "--no-pager", "--output=cat", "_PID=1", "--unit", service.NAME],
        check=True,
        capture_output=True,
        text=True,
    )
    assert "Watchdog timeout" in journal.stdout


def test_it_stops_when_asked(evictd: None) -> None:
    began = time.monotonic()
    service.systemctl("stop", service.NAME)
    figure(f"stopped in {time.monotonic() - began:.1f} s")
    assert service.shown("ActiveState") == "inactive"
    assert service.shown("Result") == "success"
    assert service.shown("ExecMainStatus") == "0"


def test_a_configuration_that_cannot_be_used_is_not_tried_again_and_again(installed: None) -> None:
    service.systemctl("stop", service.NAME)
    service.configure({"evictionHard": {"memory.available": "plenty"}})
    service.systemctl("start", service.NAME, check=False)
    assert service.shown("ActiveState") == "failed"
    assert service.shown("ExecMainStatus") == "2"
    service.stop()
