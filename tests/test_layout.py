"""The shape of the house: every module has its mirror, no file and no function grows past its bound."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SOURCES = sorted(path for path in (ROOT / "src" / "evictd").rglob("*.py") if path.name != "__init__.py")
MOST_LINES = 400
MOST_FUNCTION_LINES = 60
WITHOUT_MIRROR = {"__main__.py"}
"""The entry point is exercised through `cli`."""


def _names(paths: list[Path]) -> list[str]:
    return [str(path.relative_to(ROOT / "src" / "evictd")) for path in paths]


def _functions(path: Path) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node


@pytest.mark.parametrize("path", SOURCES, ids=_names(SOURCES))
def test_every_module_has_its_mirror(path: Path) -> None:
    """`core/rank.py` is tested by `tests/core/test_rank.py`."""
    name = path.relative_to(ROOT / "src" / "evictd")
    if str(name) in WITHOUT_MIRROR:
        return
    mirror = ROOT / "tests" / name.parent / f"test_{name.name}"
    assert mirror.is_file(), f"{name} has no {mirror.relative_to(ROOT)}"


@pytest.mark.parametrize("path", SOURCES, ids=_names(SOURCES))
def test_files_and_functions_stay_small(path: Path) -> None:
    """400 lines a file, 60 a function: what does not fit is two things."""
    assert len(path.read_text().splitlines()) <= MOST_LINES
    long = [f.name for f in _functions(path) if (f.end_lineno or 0) - f.lineno + 1 > MOST_FUNCTION_LINES]
    assert long == []


@pytest.mark.parametrize("path", SOURCES, ids=_names(SOURCES))
def test_every_module_says_what_it_is_for(path: Path) -> None:
    """A docstring opens each file."""
    assert ast.get_docstring(ast.parse(path.read_text()))


def test_the_core_is_tested_without_mocks() -> None:
    """Plain values in, plain values out: nothing to mock."""
    banned = {"mock", "unittest", "monkeypatch"}
    for path in (ROOT / "tests" / "core").glob("*.py"):
        words = {node.id for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Name)}
        imports = {
            alias.name.partition(".")[0]
            for node in ast.walk(ast.parse(path.read_text()))
            if isinstance(node, ast.Import)
            for alias in node.names
        }
        assert not (words | imports) & banned, path.name
