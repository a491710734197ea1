"""The systemd unit is as closed as it can be, and still asks for what evictd needs when memory is short."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

DEPLOY = Path(__file__).parents[2] / "deploy"
UNIT = DEPLOY / "evictd.service"
MOST_EXPOSURE = 3.0


def settings(path: Path) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for line in path.read_text().splitlines():
        name, equals, value = line.partition("=")
        if equals and not line.startswith("#"):
            found.setdefault(name, []).append(value)
    return found


def mebibytes(text: str) -> int:
    return int(text.removesuffix("M"))


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="needs systemd-analyze; `make test-vm` runs it too")
def test_the_exposure_is_low() -> None:
    argv = ["systemd-analyze", "security", "--offline=true", "--no-pager", str(UNIT)]
    report = subprocess.run(argv, check=True, capture_output=True, text=True).stdout
    exposure = re.search(r"Overall exposure level for evictd\.service: ([0-9.]+)", report)
    assert exposure is not None, report
    print(f"exposure {exposure[1]}")
    assert float(exposure[1]) <= MOST_EXPOSURE, report


def test_systemd_learns_of_start_reload_and_hangs() -> None:
    unit, newer = settings(UNIT), settings(DEPLOY / "notify-reload.conf")
    check = "/usr/bin/evictd check --syntax --config /etc/evictd/config.yaml"  # a bad file makes the reload fail
    assert (unit["Type"], unit["ExecReload"]) == (["notify"], [check, "/bin/kill -HUP $MAINPID"])
    assert (newer["Type"], newer["ExecReload"]) == (["notify-reload"], ["", check])  # systemd sends the signal itself
    assert int(unit["WatchdogSec"][0]) > 0
    assert unit["Restart"] == ["always"]
    assert unit["StartLimitIntervalSec"] == ["0"]
    assert unit["RestartPreventExitStatus"] == [
        "2 4 203"
    ]  # a configuration or program that is not there, a second daemon


def test_starts_that_fail_again_and_again_come_later_and_later() -> None:
    """It took every second a start that read the program from the disk of a node under pressure."""
    newer = settings(DEPLOY / "notify-reload.conf")
    assert newer["RestartSteps"] == ["4"]
    assert int(settings(UNIT)["RestartSec"][0]) < int(newer["RestartMaxDelaySec"][0]) <= 10


def test_the_kernel_kills_almost_anything_else_first() -> None:
    assert settings(UNIT)["OOMScoreAdjust"] == ["-999"]


@pytest.mark.parametrize("protection", ["MemoryMin", "MemoryLow"])
def test_the_slice_grants_the_memory_that_the_service_asks_for(protection: str) -> None:
    unit, parent = settings(UNIT), settings(DEPLOY / "evictd.slice")
    assert unit["Slice"] == ["evictd.slice"]
    assert 0 < mebibytes(unit[protection][0]) <= mebibytes(parent[protection][0])


def test_every_capability_kept_is_explained() -> None:
    text = UNIT.read_text()
    kept = settings(UNIT)["CapabilityBoundingSet"][0].split()
    assert kept == ["CAP_DAC_OVERRIDE", "CAP_FOWNER", "CAP_SYS_PTRACE", "CAP_SYS_RESOURCE"]
    for capability in kept:
        assert f"{capability}: " in text


def test_what_the_signals_need_stays_open() -> None:
    unit = settings(UNIT)
    assert unit["ProtectControlGroups"] == ["no"]
    assert unit["ProcSubset"] == ["all"]
    assert "PrivateNetwork" not in unit


def test_every_folder_that_is_written_to_is_made_first() -> None:
    writable = {path.removeprefix("-") for path in settings(UNIT)["ReadWritePaths"][0].split()}
    made = {line.split()[1] for line in (DEPLOY / "evictd.tmpfiles").read_text().splitlines() if line.startswith("d ")}
    assert writable == made
