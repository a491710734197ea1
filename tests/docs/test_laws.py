"""docs/faults.md has a row for every old fault; each test that it and docs/laws.md name exists."""

import ast
import re
from functools import lru_cache
from pathlib import Path

import pytest

from tests.laws.test_mutants import FAULTS

ROOT = Path(__file__).parents[2]
LAWS, TEXT = ((ROOT / path).read_text(encoding="utf-8") for path in ("docs/laws.md", "docs/faults.md"))
ROWS = {
    int(cells[0]): cells
    for line in TEXT.splitlines()
    if re.match(r"\| \d+ \|", line)
    for cells in [[cell.strip() for cell in line.strip("|").split("|")]]
}
"""Number to its cells: number, fault, tests, law."""


@lru_cache
def functions(path: str) -> frozenset[str]:
    tree = ast.parse((ROOT / path).read_text(encoding="utf-8"))
    return frozenset(node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef))


def test_every_point_has_a_row() -> None:
    assert list(ROWS) == list(range(1, 53))


@pytest.mark.parametrize("point", ROWS)
def test_every_test_of_a_row_exists(point: int) -> None:
    named = re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", ROWS[point][2])
    assert named
    assert [name for path, name in named if name not in functions(path)] == []


def test_the_files_of_the_laws_exist() -> None:
    assert [path for path in re.findall(r"`(tests/[\w/]+\.py)`", LAWS) if not (ROOT / path).exists()] == []


def test_each_fault_with_a_law_is_brought_back_except_those_named() -> None:
    (excepted,) = re.findall(r"except ([\d, and]+), whose", TEXT)
    with_a_law = {point for point, cells in ROWS.items() if not cells[3].startswith("none")}
    assert with_a_law - set(map(int, re.findall(r"\d+", excepted))) == {fault.point for fault in FAULTS}
