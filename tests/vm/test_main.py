"""An incomplete run is a failure: failed and skipped tests, missing results, timeouts."""

from pathlib import Path

import pytest

from tests.vm.__main__ import report


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
