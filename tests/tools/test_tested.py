"""The table of what was tested: each run writes its own row, and the page keeps those of the others."""

from dataclasses import replace

import pytest

from tests.tools import runtimes
from tests.tools.tested import PAGE, Row, with_row

FORKY = Row(release="forky", tests="test", python="3.14.8", results={"failed": 2, "passed": 10393, "skipped": 40})
VM = replace(FORKY, tests="test-vm", linux="7.2.12, cgroup v2", systemd="262", runtime="containerd 2.1.9, runc 1.3.6")
BOOKWORM = replace(VM, release="bookworm", results={"passed": 73, "failed": 0, "skipped": 0})


def test_a_row_has_its_versions_and_what_did_not_pass() -> None:
    assert (
        str(FORKY) == "| Debian 14 (forky) | `make test` | - | - | - | 3.14.8 | 10393 passed, 2 failed, 40 skipped |\n"
    )
    assert str(BOOKWORM).endswith("| 7.2.12, cgroup v2 | 262 | containerd 2.1.9, runc 1.3.6 | 3.14.8 | 73 passed |\n")
    assert str(replace(FORKY, results={})).endswith("| 0 passed |\n")


def test_a_row_replaces_the_last_one_of_its_release_and_tests_in_order() -> None:
    page = "| a | b |\n|---|---|\n| Debian | x |\n\n| Distribution | Tests |\n|---|---|\n\nAfter\n"
    for row in (VM, FORKY, BOOKWORM, replace(VM, python="4")):
        page = with_row(page, row)
    rows = f"{BOOKWORM}{FORKY}{replace(VM, python='4')}"
    assert page.partition("\n\n")[2] == f"| Distribution | Tests |\n|---|---|\n{rows}\nAfter\n"


def test_the_page_has_the_table() -> None:
    new = replace(FORKY, tests="test-new")
    assert str(new) in with_row(PAGE.read_text(encoding="utf-8"), new)


def test_an_unknown_runtime_is_refused_before_anything_runs(capsys: pytest.CaptureFixture[str]) -> None:
    assert runtimes.main(["docker"]) == 2
    assert "docker: no runtime; containerd1, containerd2, crio" in capsys.readouterr().err


def test_a_row_of_a_runtime_names_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runtimes, "versions", lambda runtime: f"{runtime} 1.0")
    monkeypatch.setattr("platform.release", lambda: "6.18.44-cloud-1")
    monkeypatch.setattr("platform.freedesktop_os_release", lambda: {"VERSION_CODENAME": "trixie"})
    row = runtimes.row("crio", {"passed": 3})
    assert (row.release, row.tests, row.runtime) == ("trixie", "test-node RUNTIME=crio", "crio 1.0")
    assert row.linux.startswith("6.18.44, cgroup v")
