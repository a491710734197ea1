"""Measures which share of small faults in the core the tests notice: `make mutate`.

    python -m tests.tools.mutate [--package evictd.core.eviction] [--sample 60] [--seed 1] [--jobs 2] [--list]

A mutant is one module with one fault: a comparison, a boolean or arithmetic operator, a constant, a condition or a return
value is another. Decorators are left alone: that a dataclass is frozen changes no decision. It is killed if a test fails, also by
running for too long. The mutation score is the share of the killed ones; those that survived are printed with their lines. The
exit status is 1 if the score is less than `--at-least`.

The tests of the core, its laws, its parity and the worlds run once, to note which of them run which line. Then each mutant
of the sample gets a process of its own, forked from one that has imported pytest already, which imports the faulty module
in place of the file; no file is changed. It runs the tests that reach the faulty statement, those of the mutated module
first, the quick ones next, until one fails. A statement that runs when its module is imported is reached by all tests.
"""

import argparse
import ast
import os
import random
import resource
import signal
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass, field
from functools import partial
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from itertools import accumulate, groupby
from multiprocessing import get_context
from pathlib import Path
from types import ModuleType
from typing import Any

import coverage
import hypothesis
import pytest

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src"
TESTS = ("tests/core", "tests/laws", "tests/parity", "tests/world", "tests/test_simulation.py")
MANY = "tests/parity/"
"""Its files have thousands of tests."""
ENOUGH_SECONDS = 15
"""A mutant that survives so many seconds of tests has survived."""
MEMORY_LIMIT = 2 << 30

_OPERATORS: dict[type[ast.AST], type[Any]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.And: ast.Or,
    ast.Or: ast.And,
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.FloorDiv,
    ast.FloorDiv: ast.Mult,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Mutant:
    """One fault: the module, the number of the fault in it, the lines of its statement, and what is done there."""

    module: str
    index: int
    line: int
    lines: range
    what: str

    def __str__(self) -> str:
        return f"{self.module}:{self.line}: {self.what} ({self.index})"


Change = tuple[int, str, Callable[[], None]]


def path_of(module: str) -> Path:
    """The file of a module."""
    return SOURCE / Path(*module.split(".")).with_suffix(".py")


def parsed(module: str) -> ast.Module:
    """The tree of a module."""
    return ast.parse(path_of(module).read_text(encoding="utf-8"))


# --- faults -----------------------------------------------------------------------------------------------------------


def changes(tree: ast.Module) -> Iterator[Change]:
    """Every fault that can be made in a module: the line, what it is, and what makes it."""
    decorated = (each for node in ast.walk(tree) for each in getattr(node, "decorator_list", ()))
    left_alone = {inner for decorator in decorated for inner in ast.walk(decorator)}
    for node in ast.walk(tree):
        if node in left_alone:
            continue
        if isinstance(node, ast.Compare):
            yield from _operator(node.lineno, node.ops, 0)
        elif isinstance(node, ast.BoolOp | ast.BinOp) and type(node.op) in _OPERATORS:
            if not (isinstance(node.op, ast.Add) and isinstance(node.right, ast.Constant | ast.JoinedStr)):
                yield from _swap(node.lineno, node, "op")
        elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            yield node.lineno, "`not` is left out", _setter(node, "op", ast.UAdd(), then=_unwrap)
        elif isinstance(node, ast.Constant) and type(node.value) in {bool, int}:
            yield from _constant(node)
        elif isinstance(node, ast.Return) and node.value is not None and not isinstance(node.value, ast.Constant):
            yield node.lineno, "returns None", _setter(node, "value", ast.Constant(value=None))


def _operator(line: int, operators: list[ast.cmpop], index: int) -> Iterator[Change]:
    old = operators[index]
    new = _OPERATORS[type(old)]()

    def change() -> None:
        operators[index] = new

    yield line, f"{type(old).__name__} -> {type(new).__name__}", change


def _swap(line: int, node: Any, name: str) -> Iterator[Change]:
    old = getattr(node, name)
    new = _OPERATORS[type(old)]()
    yield line, f"{type(old).__name__} -> {type(new).__name__}", _setter(node, name, new)


def _constant(node: ast.Constant) -> Iterator[Change]:
    value = not node.value if isinstance(node.value, bool) else int(str(node.value)) + 1
    yield node.lineno, f"{node.value!r} -> {value!r}", _setter(node, "value", value)


def _setter(node: Any, name: str, value: Any, then: Callable[[Any], None] = lambda _: None) -> Callable[[], None]:
    def change() -> None:
        setattr(node, name, value)
        then(node)

    return change


def _unwrap(node: Any) -> None:
    """Make `not x` the double negation, which is `x` as a boolean."""
    node.op = ast.Not()
    node.operand = ast.UnaryOp(op=ast.Not(), operand=node.operand, lineno=node.lineno, col_offset=node.col_offset)


def mutants_of(module: str) -> list[Mutant]:
    """All mutants of a module, in the order of the tree."""
    tree = parsed(module)
    statements = [node for node in ast.walk(tree) if isinstance(node, ast.stmt)]
    return [
        Mutant(module=module, index=n, line=line, lines=_lines(statements, line), what=what)
        for n, (line, what, _) in enumerate(changes(tree))
    ]


def _lines(statements: list[ast.stmt], line: int) -> range:
    """The lines of the innermost statement at a line, of a compound one its head."""
    around = [each for each in statements if each.lineno <= line <= (each.end_lineno or each.lineno)]
    inner = min(around, key=lambda each: (each.end_lineno or each.lineno) - each.lineno)
    body = getattr(inner, "body", ())
    return range(
        inner.lineno, max(body[0].lineno, inner.lineno + 1) if body else (inner.end_lineno or inner.lineno) + 1
    )


def mutated(module: str, index: int) -> ast.Module:
    """The tree of a module with one fault."""
    tree = parsed(module)
    list(changes(tree))[index][2]()
    return ast.fix_missing_locations(tree)


class Finder(MetaPathFinder, Loader):
    """Imports one module from a tree in place of its file."""

    def __init__(self, module: str, tree: ast.Module) -> None:
        self._module = module
        self._tree = tree

    def find_spec(self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None) -> Any:
        """Find the mutated module, and no other."""
        del path, target
        return ModuleSpec(name, self, origin=str(path_of(name))) if name == self._module else None

    def exec_module(self, module: ModuleType) -> None:
        """Run the mutated code."""
        exec(compile(self._tree, str(path_of(self._module)), "exec"), module.__dict__)


# --- tests ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Map:
    """Which tests run which line, and how much processor time each takes."""

    tests: Mapping[str, Mapping[int, Sequence[str]]]
    """By file and line; a line that runs when its module is imported has no entry."""
    seconds: Mapping[str, float]

    def of(self, mutant: Mutant) -> list[str]:
        """The tests that reach a mutant, the best first, as many as `ENOUGH_SECONDS` allows."""
        lines = self.tests.get(str(path_of(mutant.module)), {})
        reached = {test for line in mutant.lines for test in lines.get(line, ())}
        reached = reached or {test for tests in lines.values() for test in tests} or set(self.seconds)
        ordered = sorted(reached, key=lambda test: (stage(mutant, test), self.seconds[test], test))
        spent = accumulate(self.seconds[test] for test in ordered)
        return [test for test, seconds in zip(ordered, spent, strict=True) if seconds < ENOUGH_SECONDS]


def stage(mutant: Mutant, test: str) -> int:
    """When a test has its turn: those of the mutant's own module first, those that take long to be collected last."""
    own = f"/test_{mutant.module.rsplit('.', 1)[1]}.py"
    return 0 if own in test else 2 if test.startswith(MANY) else 1


@dataclass
class Mapper:
    """A plugin of pytest that notes which test runs which line."""

    coverage: coverage.Coverage
    seconds: dict[str, float] = field(default_factory=lambda: defaultdict(float))

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        """Have the lines noted for this test."""
        self.coverage.switch_context(item.nodeid)
        began = time.process_time()
        try:
            return (yield)
        finally:
            self.seconds[item.nodeid] = time.process_time() - began
            self.coverage.switch_context("")


@dataclass(frozen=True)
class Selected:
    """A plugin of pytest that runs these tests, in this order."""

    tests: Sequence[str]

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Leave out all others."""
        order = {test: place for place, test in enumerate(self.tests)}
        items[:] = sorted((each for each in items if each.nodeid in order), key=lambda each: order[each.nodeid])


def run_tests(tests: Sequence[str], plugin: object) -> int:
    """Run pytest in this process, without output; returns its exit status. `tests/conftest.py` prepares nodes: it is left out."""
    hypothesis.settings.register_profile(
        "mutate",
        deadline=None,
        max_examples=10,
        database=None,
        derandomize=True,
        suppress_health_check=list(hypothesis.HealthCheck),
    )
    hypothesis.settings.load_profile("mutate")
    options = [
        "-x",
        "-q",
        "--noconftest",
        "-p",
        "no:cacheprovider",
        "-p",
        "no:xdist",
        "-o",
        "timeout=0",
        "-W",
        "ignore::pytest.PytestAssertRewriteWarning",
        "-m",
        "not slow",
    ]
    with Path(os.devnull).open("w") as nowhere, redirect_stdout(nowhere), redirect_stderr(nowhere):
        return int(pytest.main([*options, *tests], plugins=[plugin]))


def mapped(_: object = None) -> Map:
    """Run all tests, and note which line each runs."""
    measured = coverage.Coverage(data_file=None, config_file=False, source_pkgs=["evictd.core"])
    mapper = Mapper(measured)
    measured.start()
    status = run_tests(TESTS, mapper)
    measured.stop()
    if status:
        raise RuntimeError(f"the tests fail without a mutant: pytest's exit status {status}")
    data = measured.get_data()
    found = {file: data.contexts_by_lineno(file) for file in data.measured_files()}
    return Map(
        tests={
            file: {line: tests for line, tests in lines.items() if any(tests)}
            for file, lines in (
                (file, {n: [t for t in ts if t] for n, ts in each.items()}) for file, each in found.items()
            )
        },
        seconds=dict(mapper.seconds),
    )


def is_killed(known: Map, mutant: Mutant) -> bool:
    """Whether the tests notice a mutant, in a process of its own."""
    tests = known.of(mutant)
    child = os.fork()
    if child:
        return os.waitpid(child, 0)[1] != 0
    signal.alarm(60 + 5 * int(sum(known.seconds[test] for test in tests)))
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_LIMIT, MEMORY_LIMIT))
    sys.meta_path.insert(0, Finder(mutant.module, mutated(mutant.module, mutant.index)))
    try:  # a file is not even collected if a test of an earlier stage fails
        parts = (list(part) for _, part in groupby(tests, key=partial(stage, mutant)))
        os._exit(any(run_tests(sorted({each.partition("::")[0] for each in part}), Selected(part)) for part in parts))
    finally:
        os._exit(2)


def sample(package: str, size: int, seed: int) -> list[Mutant]:
    """A sample of the mutants of a package, spread evenly over its modules, the same for the same seed; 0: all."""
    folder = path_of(package).with_suffix("")
    paths = sorted(folder.rglob("[!_]*.py")) or [path_of(package)]
    modules = [".".join(path.relative_to(SOURCE).with_suffix("").parts) for path in paths]
    found = [mutant for module in modules for mutant in mutants_of(module)]
    if not size or size >= len(found):
        return found
    start = random.Random(seed).random()
    return [found[int((start + n) * len(found) / size)] for n in range(size)]


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure the mutation score."""
    parser = argparse.ArgumentParser(prog="make mutate ARGS=...")
    parser.add_argument("--package", default="evictd.core")
    parser.add_argument("--sample", type=int, default=300, help="how many mutants; 0: all")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--at-least", type=float, default=85.0, metavar="PERCENT")
    parser.add_argument("--list", action="store_true", help="print the sample and end")
    options = parser.parse_args(arguments)
    chosen = sample(options.package, options.sample, options.seed)
    if options.list:
        print(*chosen, sep="\n")
        return 0
    fork = get_context("fork")
    with fork.Pool(1) as pool:
        known = pool.apply(mapped)
    print(f"{len(known.seconds)} tests, {sum(known.seconds.values()):.0f} s; {len(chosen)} mutants", flush=True)
    survived: Counter[str] = Counter()
    with fork.Pool(options.jobs) as pool:
        for mutant, dead in zip(chosen, pool.imap(partial(is_killed, known), chosen), strict=True):
            if not dead:
                survived[mutant.module] += 1
                print(f"survived: {mutant}", flush=True)
    of = Counter(mutant.module for mutant in chosen)
    print(*(f"{module}: {count - survived[module]} of {count}" for module, count in of.items()), sep="\n")
    killed = len(chosen) - survived.total()
    score = 100 * killed / len(chosen)
    print(f"mutation score of {options.package}: {score:.1f} % ({killed} of {len(chosen)}, seed {options.seed})")
    return 0 if score >= options.at_least else 1


if __name__ == "__main__":
    sys.exit(main())
