"""What `make test-arm64` fetches and asks for."""

from pathlib import Path

import pytest

from tests.tools import arm64
from tests.tools.matrix import ROOT


def test_what_is_missing_is_named_with_the_remedy(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert arm64.main([]) == 2
    assert "qemu-aarch64-static is not installed (apt-get install qemu-user-static)" in capsys.readouterr().err


@pytest.mark.parametrize(("asked", "tests"), [([], list(arm64.TESTS)), (["-x", "tests/codec"], ["-x", "tests/codec"])])
def test_the_program_is_tried_before_the_tests(
    asked: list[str], tests: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    ran: list[tuple[str, ...]] = []

    def run(folder: Path, *arguments: str) -> int:
        ran.append(arguments)
        return 0

    monkeypatch.setattr("shutil.which", str)
    monkeypatch.setattr(arm64, "ensure", Path)
    monkeypatch.setattr(arm64, "run", run)
    assert arm64.main(asked) == 0
    assert [each[1] for each in ran] == ["evictd", "evictd", "pytest"]
    assert list(ran[-1][-len(tests) :]) == tests


def test_a_program_that_fails_ends_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shutil.which", str)
    monkeypatch.setattr(arm64, "ensure", Path)
    monkeypatch.setattr(arm64, "run", lambda *_: 3)
    assert arm64.main([]) == 3


def test_the_tests_that_run_are_there() -> None:
    assert all((ROOT / each).is_dir() for each in arm64.TESTS)
    assert all((ROOT / each).is_file() for each in arm64.WITHOUT_PACKAGE)
