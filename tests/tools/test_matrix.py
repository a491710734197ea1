"""What `make test-matrix` makes of the runs."""

from pathlib import Path

import pytest

from tests.tools import matrix

OUTPUT = """\
1 failed, 8306 passed, 40 skipped in 113.12s (0:01:53)
SKIPPED [1] tests/a.py:3: 3 failed here
============ 2087 passed, 1 error in 9.51s ============
"""


def test_the_summaries_of_all_runs_are_added_up() -> None:
    assert matrix.counts(OUTPUT) == {"failed": 2, "passed": 10393, "skipped": 40}


def test_what_is_missing_is_named_with_the_remedy(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    problems = list(matrix.missing())
    assert "mmdebstrap is not installed (apt-get install mmdebstrap)" in problems
    assert any(each.startswith("no mirror to install from") for each in problems)


def test_an_unknown_release_is_refused_before_anything_is_built(capsys: pytest.CaptureFixture[str]) -> None:
    assert matrix.main(["sarge"]) == 2
    assert "sarge: no release; bookworm, trixie, forky" in capsys.readouterr().err


@pytest.mark.parametrize(("option", "asked"), [([], "tests"), (["--deb"], "package")])
def test_the_option_asks_for_packages_in_the_place_of_tests(
    option: list[str], asked: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    done: list[str] = []
    monkeypatch.setattr(matrix, "missing", list)
    monkeypatch.setattr(matrix, "run_release", lambda release: done.append(f"tests {release}"))
    monkeypatch.setattr(matrix, "build_package", lambda release: done.append(f"package {release}"))
    assert matrix.main([*option, "forky"]) == 1, "the doubles return nothing"
    assert done == [f"{asked} forky"]
    assert "failed in forky" in capsys.readouterr().out


def test_the_sources_are_copied_without_what_git_ignores(tmp_path: Path) -> None:
    if not (matrix.ROOT / ".git").exists():
        pytest.skip("not a git checkout")
    (tmp_path / ".venv").mkdir()
    (tmp_path / "removed").mkdir()
    (tmp_path / "old.py").touch()
    matrix.copy_sources(tmp_path)
    assert (tmp_path / "tests/tools/matrix.py").read_bytes() == Path(matrix.__file__).read_bytes()
    assert {".venv", "src", "Makefile"} <= {path.name for path in tmp_path.iterdir()}
    assert not {"removed", "old.py", ".pytest_cache", "build"} & {path.name for path in tmp_path.iterdir()}
