"""What the documents of `--output json` have: their keys as the code writes them, and what each one means."""

import ast
import inspect
import textwrap
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import fields
from types import FunctionType
from typing import Any, NamedTuple

from evictd.daemon.telemetry.statusz import status_page
from evictd.render.advice.advice import advice_document
from evictd.render.check_report import as_data
from evictd.render.history.cause.recorded import IncidentRow
from evictd.render.history.condition_spans import ConditionSpan
from evictd.render.history.document import history_document, why_document
from evictd.render.history.history import EventKind, HistoryEvent
from evictd.render.history.kubelet_comparison import kubelet_comparison_document
from evictd.render.incident.incident_list import incident_list_document
from evictd.render.incident.view import incident_document
from evictd.render.node_view import explanation_document
from evictd.render.replay.printed import replay_document
from evictd.render.replay.readings_end import ends_document
from evictd.render.replay.unrecorded import met_at_first_document
from evictd.render.simulation.comparison import comparison_document
from evictd.render.simulation.document import simulation_document
from evictd.render.simulation.worlds.outlook import outlook_documents, played_on_document
from evictd.render.simulation.worlds.world_comparison import worlds_document
from evictd.render.simulation.worlds.world_view import world_document
from tools.json_meanings import MEANINGS


class _Of(NamedTuple):
    """One kind of document."""

    command: str
    makers: Sequence[tuple[str, Callable[..., Any]]]
    """The functions and types that make it, each with the key below which what it returns stands."""


DOCUMENTS: Mapping[str, _Of] = {
    "Check": _Of("check", [("", as_data)]),
    "Explanation": _Of("explain [SCENARIO]", [("", explanation_document)]),
    "History": _Of("history", []),
    "KubeletComparison": _Of("history --compare-kubelet", [("", kubelet_comparison_document)]),
    "Why": _Of("why", [("", why_document)]),
    "Incident": _Of("incident", [("", incident_document), ("ranking[]", IncidentRow)]),
    "IncidentList": _Of("incident --list", [("", incident_list_document)]),
    "Advice": _Of("advise", [("", advice_document)]),
    "Replay": _Of(
        "replay",
        [("", replay_document), ("metAtFirst", met_at_first_document), ("readingsEnd", ends_document)],
    ),
    "Simulation": _Of("simulate SCENARIO", [("", simulation_document), ("outlook", outlook_documents)]),
    "Comparison": _Of("simulate SCENARIO --compare", [("", comparison_document)]),
    "WorldRun": _Of(
        "simulate WORLD", [("", world_document), ("outlook", outlook_documents), ("playedOn", played_on_document)]
    ),
    "WorldComparison": _Of("simulate WORLD --compare", [("", worlds_document)]),
    "Status": _Of("status", [("signals[].thresholds[]", status_page._threshold)]),
}


def keys_of(kind: str) -> tuple[str, ...]:
    """Return the keys of a kind of document, a key of an object in a list as `list[].key`."""
    if kind == "History":
        event = HistoryEvent(at="", kind=EventKind.BOOT, text="")
        sample = history_document([event], [ConditionSpan(type="", since="")])
        found = [*sample, *(f"{name}[].{key}" for name in ("events", "conditions") for key in sample[name][0])]
    else:
        makers = DOCUMENTS[kind].makers
        found = [key for under, maker in makers for key in (*([under] if under else ()), *_made_by(maker, under))]
    return tuple(dict.fromkeys(key.removesuffix("[]") for key in found if key not in {"apiVersion", "kind"}))


def _made_by(maker: Callable[..., Any], under: str) -> Iterator[str]:
    if isinstance(maker, type):
        yield from (f"{under}.{each.name}" for each in fields(maker))
        return
    tree = ast.parse(textwrap.dedent(inspect.getsource(maker)))
    for node in ast.walk(tree):
        if isinstance(node, ast.Return) and node.value is not None:
            yield from _keys(node.value, under, inspect.unwrap(maker).__globals__)


def _keys(node: ast.expr, under: str, known: Mapping[str, Any]) -> Iterator[str]:
    match node:
        case ast.Dict(keys=keys, values=values):
            for key, value in zip(keys, values, strict=True):
                if isinstance(key, ast.Constant) and isinstance(key.value, str):
                    path = f"{under}.{key.value}" if under else key.value
                    yield path
                    yield from _keys(value, path, known)
                else:
                    yield from _keys(value, under, known)
        case ast.ListComp(elt=inner):
            yield from _keys(inner, f"{under}[]", known)
        case ast.BinOp(left=left, right=right):
            yield from _keys(left, under, known)
            yield from _keys(right, under, known)
        case ast.IfExp(body=body, orelse=other):
            yield from _keys(body, under, known)
            yield from _keys(other, under, known)
        case ast.Call(func=ast.Name(id="encode_finding")) if not under.endswith("findings[]"):
            pass  # the finding is of one kind, whose keys the journal has; among all findings are rankings
        case ast.Call(func=ast.Name(id=name)) if isinstance(known.get(name), FunctionType):
            yield from _made_by(known[name], under)


INTRODUCTION = (
    "Each document also has `apiVersion: evictd.io/v1alpha1` and `kind`; `--output yaml` has the same. Amounts are bytes, inodes "
    "or PIDs as the signal counts them. A key that ends in `Seconds` is a number; other durations are text such as `1m30s`.\n\n"
    "Keys are added, renamed and removed as [a version promises](../releases.md#what-a-version-promises). Sentences "
    "are for people and may change in any version.\n\n"
    "An unusable file and a missing server are named on standard error, with an "
    "[exit status](exit-status.md); then only `evictd check` writes a document."
)


_GROWN = " With `--grow` also keys of [WorldRun](#worldrun)."
_MORE = {
    "Simulation": _GROWN,
    "Comparison": _GROWN,
    "Status": " The others: [/statusz](../formats.md#statusz).",
}


def section(kind: str) -> tuple[str, list[tuple[str, str]]]:
    """Return the heading of a kind of document with its command, and its keys with what they mean."""
    rows = [(f"`{key}`", MEANINGS[kind][key]) for key in keys_of(kind)]
    return f"## {kind}\n\n`evictd {DOCUMENTS[kind].command} --output json`.{_MORE.get(kind, '')}", rows
