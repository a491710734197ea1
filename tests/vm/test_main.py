"""An incomplete run is a failure: failed and skipped tests, missing results, timeouts."""

from pathlib import Path

import pytest

from tests.tools import tested
from tests.vm import __main__ as command
from tests.vm import build
from tests.vm.__main__ import report, row

VERSIONS = """\
Linux 7.2.12+deb14-cloud-amd64
systemd 262 (262-1)
containerd github.com/containerd/containerd/v2 2.1.9+unknown
runc version 1.3.6+ds1
Python 3.14.8
"""


def junit(folder: Path, *, tests: int, failures: int = 0, errors: int = 0, skipped: int = 0) -> Path:
    numbers = f'tests="{tests}" failures="{failures}" errors="{errors}" skipped="{skipped}"'
    (folder / "junit.xml").write_text(f"<testsuites><testsuite {numbers}/></testsuites>")
    (folder / "boot-seconds").write_text("18.65\n")
    return folder


def test_all_passed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert report(junit(tmp_path, tests=3), 60.4) == 0
    assert capsys.readouterr().out == "test-vm: 3 passed, 0 failed, 0 skipped (guest up in 18.65 s, 60 s in all)\n"


@pytest.mark.parametrize("bad", ["failures", "errors", "skipped"])
def test_one_that_did_not_pass_fails_the_run(tmp_path: Path, bad: str) -> None:
    assert report(junit(tmp_path, tests=3, **{bad: 1}), 60.0) == 1


def test_nothing_run_is_a_failure(tmp_path: Path) -> None:
    assert report(junit(tmp_path, tests=0), 60.0) == 1


def test_no_results_are_a_failure(tmp_path: Path) -> None:
    assert report(tmp_path, 60.0) == 1


def test_time_up_is_a_failure_even_with_results(tmp_path: Path) -> None:
    assert report(junit(tmp_path, tests=3), None) == 1


def test_the_row_of_a_release_has_its_versions_and_what_did_not_pass(tmp_path: Path) -> None:
    (junit(tmp_path, tests=73, errors=1) / "versions").write_text(VERSIONS)
    assert str(row("forky", tmp_path)) == (
        "| Debian 14 (forky) | `make test-vm` | 7.2.12, cgroup v2 | 262 | containerd 2.1.9, runc 1.3.6 | 3.14.8 "
        "| 72 passed, 1 failed |\n"
    )


def test_a_build_boots_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(command, "prepare", lambda: None)
    monkeypatch.delattr("tests.vm.machine.boot")
    assert command.run(["--build"]) == 0


def test_a_recorded_run_writes_its_line_and_passes_the_other_arguments_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = tmp_path / "page.md"
    page.write_text("| Distribution | Tests |\n|---|---|\n")

    def main(job: list[str], *, limit_seconds: int) -> int:
        (tmp_path / "trixie/out").mkdir(parents=True)
        (junit(tmp_path / "trixie/out", tests=1) / "versions").write_text(VERSIONS)
        (tmp_path / "trixie/out/arguments").write_text(f"{job} {limit_seconds}")
        return 0

    monkeypatch.setattr(command, "main", main)
    monkeypatch.setattr(command, "RESULTS", tmp_path)
    monkeypatch.setattr(tested, "PAGE", page)
    monkeypatch.setenv("EVICTD_VM_LIMIT", "7")
    monkeypatch.setenv(build.DISTRIBUTION, "trixie")
    assert command.run(["--record", "-k", "kill"]) == 0
    assert (tmp_path / "trixie/out/arguments").read_text() == "['-k', 'kill'] 7"
    assert page.read_text().endswith("| containerd 2.1.9, runc 1.3.6 | 3.14.8 | 1 passed |\n")
