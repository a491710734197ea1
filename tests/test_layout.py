"""Checks the layout of the repository: mirrored tests, the sizes of files and functions, docstrings, no mocks in `tests/core`."""

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[1]
SOURCES = sorted(path for path in (ROOT / "src").rglob("*.py") if path.name != "__init__.py")
MOST_LINES = 400
MOST_FUNCTION_LINES = 60
WITHOUT_MIRROR = {"__main__.py"}
"""The entry point is tested through `cli`."""
OF_EVERY_COMMAND = {"run", "add_arguments"}


@cache
def _parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text())


def _below(path: Path) -> Path:
    """Return the path of a module below `evictd`; that of the test node begins with `testnode`."""
    package, *rest = path.relative_to(ROOT / "src").parts
    return Path(*rest) if package == "evictd" else Path(package.removeprefix("evictd_"), *rest)


@cache
def _functions(path: Path) -> list[ast.FunctionDef | ast.AsyncFunctionDef]:
    return [node for node in ast.walk(_parsed(path)) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]


def _only_returns(function: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """Whether a method has one statement at most beside its docstring."""
    return len(function.body) - (ast.get_docstring(function) is not None) <= 1


def _has_behaviour(path: Path) -> bool:
    """Whether a module has a function, or a method of more than one statement.

    A module of values (constants, enums, dataclasses, protocols) has nothing of its own to test: its users' tests cover it.
    """
    tree = _parsed(path)
    top = {node for node in tree.body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)}
    return bool(top) or not all(map(_only_returns, _functions(path)))


def _mirrors(path: Path) -> list[Path]:
    """Return where the tests of a module may lie: in the mirror of its package, or of a package around it below `evictd`."""
    name = _below(path)
    folders = [name.parent, *name.parent.parents]
    return [
        ROOT / "tests" / folder / f"test_{name.name}" for folder in folders if folder != Path() or folder == name.parent
    ]


# The tests below go through all modules at once: a test for each module would have every worker parse all of them.


def test_every_module_with_behaviour_has_its_tests() -> None:
    """`core/gc/image_gc.py` is tested by `tests/core/gc/test_image_gc.py` or `tests/core/test_image_gc.py`."""
    modules = [path for path in SOURCES if path.name not in WITHOUT_MIRROR and _has_behaviour(path)]
    untested = [path for path in modules if not any(mirror.is_file() for mirror in _mirrors(path))]
    assert {str(path): [str(each.relative_to(ROOT)) for each in _mirrors(path)] for path in untested} == {}


def test_files_and_functions_stay_small() -> None:
    """At most 400 lines to a file, 60 to a function."""
    assert [str(path) for path in SOURCES if len(path.read_text().splitlines()) > MOST_LINES] == []
    functions = ((path, each) for path in SOURCES for each in _functions(path))
    long = [f"{path}: {f.name}" for path, f in functions if (f.end_lineno or 0) - f.lineno + 1 > MOST_FUNCTION_LINES]
    assert long == []


def test_every_module_states_what_it_does() -> None:
    """Each file begins with a docstring, and its first line is no question."""
    firsts = {str(path): (ast.get_docstring(_parsed(path)) or "").partition("\n")[0] for path in SOURCES}
    assert {path: first for path, first in firsts.items() if not first or "?" in first} == {}


def _docstrings(path: Path) -> Iterator[str]:
    for node in ast.walk(_parsed(path)):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            yield ast.get_docstring(node) or ""


def test_a_docstring_says_return_of_what_is_returned() -> None:
    """Not "Give", "Tell" or "Name"."""
    texts = ((str(path), text) for path in SOURCES for text in _docstrings(path))
    assert [each for each in texts if re.match(r"(Give|Gives|Tell|Name) ", each[1])] == []


UNREADABLE = re.compile(r"\bissues?\s+\d|\bspec\s+(section\s+)?\d", re.IGNORECASE)
"""What names a document outside the repository by its number; a public issue is written repository#number."""
WRITTEN = [
    path
    for folder in ("src", "tests", "bench", "tools", "docs", "config", "deploy")
    for path in sorted((ROOT / folder).rglob("*"))
    if path.suffix in {".py", ".md", ".yaml", ".sh"} and "data" not in path.parts and path != Path(__file__).resolve()
]


def test_no_text_refers_to_what_its_reader_cannot_open() -> None:
    found = {str(path.relative_to(ROOT)): UNREADABLE.findall(path.read_text(encoding="utf-8")) for path in WRITTEN}
    assert {path: texts for path, texts in found.items() if texts} == {}


def test_each_public_name_of_a_module_is_defined_once() -> None:
    """One class or function per name, but for what every command has: `run` and `add_arguments`."""
    found: dict[str, list[str]] = {}
    for path in SOURCES:
        for node in _parsed(path).body:
            if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) and node.name[0] != "_":
                found.setdefault(node.name, []).append(str(path.relative_to(ROOT)))
    repeated = {name: paths for name, paths in found.items() if len(paths) > 1 and name not in OF_EVERY_COMMAND}
    assert repeated == {}


_PLAIN = {
    "int",
    "str",
    "bool",
    "float",
    "Path",
    "None",
    "Mapping",
    "Sequence",
    "Collection",
    "Iterable",
    "tuple",
    "frozenset",
}


def _classes() -> Iterator[tuple[Path, ast.ClassDef]]:
    for path in SOURCES:
        yield from ((path, node) for node in ast.walk(_parsed(path)) if isinstance(node, ast.ClassDef))


def _is_value(node: ast.ClassDef) -> bool:
    frozen = any(ast.unparse(each) == "frozen" or "frozen=True" in ast.unparse(each) for each in node.decorator_list)
    return frozen or bool({"Enum", "IdentityEnum", "NamedTuple"} & {ast.unparse(base) for base in node.bases})


def test_no_constructor_takes_more_than_five_collaborators() -> None:
    """A parameter counts if its type is neither plain nor one of our values: frozen dataclasses, enumerations, named tuples."""
    values = _PLAIN | {node.name for _, node in _classes() if _is_value(node)}
    found = {}
    for path, node in _classes():
        for each in (each for each in node.body if isinstance(each, ast.FunctionDef) and each.name == "__init__"):
            types = [each.annotation for each in (*each.args.args[1:], *each.args.kwonlyargs) if each.annotation]
            names = [{name.id for name in ast.walk(of) if isinstance(name, ast.Name)} for of in types]
            found[f"{path.name}: {node.name}"] = sum(bool(each - values) for each in names)
    assert {name: count for name, count in found.items() if count > 5} == {}


def _asks_for_a_dry_run(node: ast.AST) -> bool:
    tests = (node.test,) if isinstance(node, ast.If | ast.IfExp | ast.While) else ()
    names = (each for test in tests for each in ast.walk(test) if isinstance(each, ast.Attribute | ast.Name))
    return any("dry_run" in (each.attr if isinstance(each, ast.Attribute) else each.id) for each in names)


def test_no_code_but_the_core_and_the_dry_run_s_actuator_branches_on_a_dry_run() -> None:
    """What a dry run does differently is in one place; `render` words what a journal says of one."""
    own = {"core", "render", "daemon/effects.py"}
    others = [path for path in SOURCES if not {str(_below(path)), _below(path).parts[0]} & own]
    found = [str(path) for path in others if any(map(_asks_for_a_dry_run, ast.walk(_parsed(path))))]
    assert found == []


def test_the_core_is_tested_without_mocks() -> None:
    """The core takes and gives plain values, so nothing needs a mock."""
    banned = {"mock", "unittest", "monkeypatch"}
    for path in (ROOT / "tests" / "core").rglob("*.py"):
        words = {node.id for node in ast.walk(_parsed(path)) if isinstance(node, ast.Name)}
        imports = {
            alias.name.partition(".")[0]
            for node in ast.walk(_parsed(path))
            if isinstance(node, ast.Import)
            for alias in node.names
        }
        assert not (words | imports) & banned, path.name
