"""Reads names, values and docstrings out of source files, for the generated reference."""

import ast
import inspect
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

from evictd.daemon.telemetry.metrics import Metrics
from evictd.daemon.telemetry.snapshot import LatestSnapshot

SOURCE = Path(__file__).parents[1] / "src" / "evictd"


def one_line(text: str) -> str:
    """Return a text for a cell of a Markdown table: one line, no column separators."""
    return " ".join(text.split()).replace("|", "\\|")


def first_paragraph(text: str | None) -> str:
    """Return the first paragraph of a docstring as one line."""
    return one_line((text or "").strip().partition("\n\n")[0])


def member_texts(kind: type[Enum]) -> dict[str, str]:
    """Give, for each member's value, the docstring that stands below it; empty where there is none."""
    (tree,) = ast.parse(inspect.getsource(kind)).body
    assert isinstance(tree, ast.ClassDef)
    texts = {str(member.value): "" for member in kind}
    for before, after in zip(tree.body, tree.body[1:], strict=False):
        if isinstance(before, ast.Assign) and isinstance(after, ast.Expr) and isinstance(before.targets[0], ast.Name):
            texts[str(kind[before.targets[0].id].value)] = first_paragraph(ast.literal_eval(after.value))
    return texts


@dataclass(frozen=True, slots=True, kw_only=True)
class Metric:
    """One metric family as it is declared in the source."""

    name: str
    type: str
    labels: tuple[str, ...]
    help: str


def metrics() -> list[Metric]:
    """List every metric of `evictd.daemon.telemetry`, by name: registered ones, and those that a collector makes when asked."""
    found = {metric.name: metric for metric in _registered()} | {
        metric.name: metric
        for path in sorted((SOURCE / "daemon" / "telemetry").glob("*.py"))
        for metric in _metrics_of(ast.parse(path.read_text(encoding="utf-8")))
    }
    return [found[name] for name in sorted(found)]


def _registered() -> Iterator[Metric]:
    """Return the counters and histograms of the daemon."""
    for each in Metrics(LatestSnapshot()).kept:
        yield Metric(name=each.name, type=each.kind, labels=tuple(each.labels), help=one_line(each.text))


def _metrics_of(tree: ast.Module) -> Iterator[Metric]:
    top = _assignments(tree)
    for function in ast.walk(tree):
        if not isinstance(function, ast.FunctionDef):
            continue
        for node in ast.walk(function):
            if isinstance(node, ast.Call) and len(node.args) > 1:
                # A name such as `text` is assigned anew for the next metric.
                known = {**top, **_assignments(function, before=node.lineno)}
                name = _value(node.args[0], known)
                if isinstance(name, str) and name.startswith("evictd_"):
                    yield _metric(node, name, known)


def _metric(call: ast.Call, name: str, known: Mapping[str, ast.expr]) -> Metric:
    callee = ast.unparse(call.func).rpartition(".")[2]
    kind = callee.lower()
    given = [node.value for node in call.keywords if node.arg in {"labels", "labelnames"}] + call.args[2:3]
    labels = _value(given[0], known) if given else ()
    suffix = "_total" if kind == "counter" and not name.endswith("_total") else ""
    return Metric(
        name=name + suffix,
        type=kind,
        labels=tuple(labels) if isinstance(labels, list | tuple) else (),
        help=one_line(str(_value(call.args[1], known) or "")),
    )


def event_reasons() -> dict[str, str]:
    """Return the type of each event whose reason stands in the source, by reason."""
    trees = [ast.parse(path.read_text(encoding="utf-8")) for path in sorted(SOURCE.rglob("*.py"))]
    constants: dict[str, ast.expr] = {}
    for tree in trees:
        constants |= _assignments(tree)
    found = {}
    for tree in trees:
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "RecordEvent":
                words = {each.arg: _value(each.value, constants) for each in node.keywords}
                if isinstance(words.get("reason"), str):
                    found[str(words["reason"])] = str(words["type"])
    return dict(sorted(found.items()))


def _assignments(node: ast.Module | ast.FunctionDef, *, before: float = math.inf) -> dict[str, ast.expr]:
    """Return the last value that each name gets at the top level of a body, in lines before this one."""
    return {
        each.targets[0].id: each.value
        for each in node.body
        if isinstance(each, ast.Assign) and isinstance(each.targets[0], ast.Name) and each.lineno < before
    }


def _value(node: ast.expr, known: Mapping[str, ast.expr]) -> object:
    if isinstance(node, ast.Name) and node.id in known:
        node = known[node.id]
    try:
        return ast.literal_eval(node)
    except ValueError:
        return None
