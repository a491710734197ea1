"""dpkg installs, upgrades, removes and purges the Debian package, and systemd runs the service from it."""

import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.vm.guest import service
from tests.vm.guest.node import Node
from tests.vm.guest.waiting import wait_for

pytestmark = [pytest.mark.vm, pytest.mark.timeout(900)]

CHANGE = "# a change of the administrator's\n"
JOURNAL = service.STATE / "journal.jsonl"
SEARCHED = ("/etc", "/run", "/usr", "/var")


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """The service and its files after one step of the package's life."""

    version: str
    active: str
    enabled: str
    pid: int
    config: str
    journal: str
    """The first line of the journal; empty where there is none."""


def dpkg(*arguments: str, check: bool = True) -> None:
    done = subprocess.run(["dpkg", *arguments], check=False, capture_output=True, text=True, timeout=600)
    if check and done.returncode:
        raise AssertionError(f"dpkg {' '.join(arguments)}: {done.stdout}{done.stderr}")


def look() -> Seen:
    active = service.shown("ActiveState")
    if active == "active":
        service.wait_until_watching()
        wait_for(journal_begin, 120, "the first line of the journal")
    version = subprocess.run(
        ["dpkg-query", "--show", "--showformat=${Version}", "evictd"], check=False, capture_output=True, text=True
    )
    return Seen(
        version=version.stdout,
        active=active,
        enabled=service.shown("UnitFileState"),
        pid=service.main_pid(),
        config=service.CONFIG.read_text() if service.CONFIG.exists() else "",
        journal=journal_begin(),
    )


def journal_begin() -> str:
    """Return the first line of the journal; empty where there is none."""
    line, end, _ = (JOURNAL.read_text() if JOURNAL.exists() else "").partition("\n")
    return line if end else ""


def left_files() -> list[str]:
    """Return every file of evictd's: those of the package, of the service and of systemd for it."""
    argv = ["find", *SEARCHED, "-xdev", "-iname", "*evictd*"]
    return subprocess.run(argv, check=True, capture_output=True, text=True).stdout.splitlines()


@dataclass(frozen=True, slots=True, kw_only=True)
class Life:
    """What was seen after each step."""

    installed: Seen
    started: Seen
    answer: str
    """The output of `evictd status` of the started service."""
    upgraded: Seen
    removed: Seen


@pytest.fixture(scope="module")
def life(machine: Node) -> Iterator[Life]:
    assert not left_files(), "these tests come before those that install evictd by hand"
    try:
        dpkg("--install", str(service.JOB / "evictd.deb"))
        installed = look()
        service.systemctl("--no-reload", "enable", service.NAME)  # a reload takes seconds here; the upgrade has one
        service.start()
        started = look()
        answer = subprocess.run(["evictd", "status"], check=True, capture_output=True, text=True, timeout=300).stdout
        with service.CONFIG.open("a") as config:
            config.write(CHANGE)
        dpkg("--install", str(service.JOB / "evictd-later.deb"))
        upgraded = look()
        dpkg("--remove", "evictd")
        yield Life(installed=installed, started=started, answer=answer, upgraded=upgraded, removed=look())
    finally:
        dpkg("--purge", "evictd", check=False)


def test_an_installation_neither_enables_nor_starts_the_service(life: Life) -> None:
    seen = life.installed
    assert (seen.active, seen.enabled, seen.journal) == ("inactive", "disabled", "")


def test_the_service_runs_from_the_package_as_a_dry_run(life: Life) -> None:
    assert life.started.active == "active"
    assert "memory.available" in life.answer
    assert "DRY RUN" in life.answer


def test_an_upgrade_restarts_the_service_with_its_configuration_and_state(life: Life) -> None:
    before, after = life.started, life.upgraded
    assert before.version != after.version
    assert (after.active, after.enabled) == ("active", "enabled")
    assert after.pid not in {0, before.pid}
    assert after.config == before.config + CHANGE
    assert after.journal == before.journal != ""


def test_a_removal_stops_the_service_and_keeps_configuration_and_state(life: Life) -> None:
    before, after = life.upgraded, life.removed
    assert (after.active, after.pid) == ("inactive", 0)
    assert after.config == before.config
    assert after.journal == before.journal
    assert not Path("/usr/bin/evictd").exists()
    assert not Path("/usr/lib/evictd").exists()


def test_a_purge_leaves_no_file(life: Life) -> None:
    dpkg("--purge", "evictd")
    assert left_files() == []
