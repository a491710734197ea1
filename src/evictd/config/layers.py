"""Merges the main file, the default thresholds and the drop-ins.

The kubelet's order: the default thresholds are added to the main file's map, then each drop-in is applied as an RFC 7386 merge
patch, so that a drop-in's `evictionHard` adds to the defaulted map, and `evictionHard: null` removes it.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field, replace

import msgspec

from evictd.codec.config import evictd_config, kubelet_fields
from evictd.codec.config.kubelet_config import default_eviction_hard
from evictd.config.lines import document_lines, with_line
from evictd.core.frozen import frozen
from evictd.core.model.problem import ConfigProblem, quoted, shown
from evictd.core.model.threshold import Origin
from evictd.core.model.threshold_config import HARD, SOFT
from evictd.errors import did_you_mean

_KINDS = {kubelet_fields.KIND: kubelet_fields.API_VERSION, evictd_config.KIND: evictd_config.API_VERSION}
_FIELDS = {
    kind: frozenset(field.encode_name for field in msgspec.structs.fields(cls))
    for kind, cls in (
        (kubelet_fields.KIND, kubelet_fields.KubeletConfiguration),
        (evictd_config.KIND, evictd_config.EvictdConfiguration),
    )
}
_CONFIGZ = "kubeletconfig"
_OTHER_KINDS = {
    "scenario": "`evictd simulate` reads a scenario",
    "World": "`evictd simulate` reads a world",
    "Advice": "`evictd advise --output yaml` writes a configuration",
}
"""Kinds of files that are no configuration, and the remedy."""

Fields = Mapping[str, object]


@frozen
class Layers:
    """The fields of both documents, with defaults and drop-ins already in them."""

    kubelet: Fields = field(default_factory=dict)
    evictd: Fields = field(default_factory=dict)
    hard_origins: Mapping[str, Origin] = field(default_factory=dict)
    """Origin of the entries of `evictionHard` that the user did not set."""
    sources: Mapping[str, str] = field(default_factory=dict)
    """The drop-in by the top-level field that it sets; every other field is the main file's."""
    thresholds: Mapping[str, str] = field(default_factory=dict)
    """The drop-in by the threshold that it sets, as `evictionHard.memory.available`."""
    name: str = ""
    """The main file; empty if there is none."""
    texts: Mapping[str, str] = field(default_factory=dict)
    """Text by the name of each file, in which the lines of faults are found."""
    kinds: frozenset[str] = frozenset()
    """Kinds of the main file's documents."""
    problems: tuple[str, ...] = ()
    """Faults of the documents themselves, each with its file."""


def main_layers(documents: Sequence[object], problems: Sequence[ConfigProblem], name: str, *, text: str = "") -> Layers:
    """Sort the documents of the main file by kind, and add the default thresholds. In `text` the lines of faults are found.

    A file without a document is a fault, as in the kubelet ("kubelet config file was empty"): it was truncated.
    """
    by_kind, more = _by_kind(documents, text)
    if not documents and not problems:
        remedy = "write a document, or start without --config"
        more = [ConfigProblem(path="the file", wrong="is empty", remedy=remedy)]
    kinds = frozenset(kubelet_fields.KIND if kind == _CONFIGZ else kind for kind in by_kind)
    all_problems = tuple(f"{name}: {problem}" for problem in (*problems, *more))
    evictd = by_kind.get(evictd_config.KIND, {})
    if _CONFIGZ in by_kind:  # the effective configuration, without empty fields: no map means no thresholds
        effective = {"enforceNodeAllocatable": [], **by_kind[_CONFIGZ]}
        return Layers(kubelet=effective, evictd=evictd, name=name, kinds=kinds, problems=all_problems)
    kubelet = by_kind.get(kubelet_fields.KIND, {})
    hard, origins = default_eviction_hard(kubelet)
    if isinstance(kubelet.get("evictionHard"), Mapping | None):
        kubelet = {**kubelet, "evictionHard": hard}
    return Layers(kubelet=kubelet, evictd=evictd, hard_origins=origins, name=name, kinds=kinds, problems=all_problems)


def drop_in(
    layers: Layers, documents: Sequence[object], problems: Sequence[ConfigProblem], name: str, *, text: str = ""
) -> Layers:
    """Merge a drop-in over the layers; it holds exactly one KubeletConfiguration. In `text` the lines of faults are found."""
    by_kind, more = _by_kind(documents, text)
    found = [*problems, *more]
    if not found and set(by_kind) != {kubelet_fields.KIND}:
        wrong, remedy = f"is no {kubelet_fields.KIND}", "a drop-in holds one of it"
        found = _with_lines([(1, ConfigProblem(path="the document", wrong=wrong, remedy=remedy))], text)
    fields = by_kind.get(kubelet_fields.KIND, {})
    patch = {key: value for key, value in fields.items() if key not in {"apiVersion", "kind"}}
    hard = patch.get("evictionHard")
    overridden = set(hard) if isinstance(hard, Mapping) else set()
    return replace(
        layers,
        kubelet=merge_patch(layers.kubelet, patch),
        hard_origins={signal: origin for signal, origin in layers.hard_origins.items() if signal not in overridden},
        sources={**layers.sources, **dict.fromkeys(patch, name)},
        thresholds={**layers.thresholds, **dict.fromkeys(_thresholds(patch), name)},
        problems=(*layers.problems, *(f"{name}: {problem}" for problem in found)),
    )


def _thresholds(fields: Fields) -> Iterator[str]:
    for name in (HARD, SOFT):
        if isinstance(each := fields.get(name), Mapping):
            yield from (f"{name}.{signal}" for signal in each)


def merge_patch(target: Mapping[str, object], patch: Mapping[str, object]) -> dict[str, object]:
    """Apply an RFC 7386 merge patch: maps are merged, `null` removes, everything else replaces."""
    merged = dict(target)
    for key, value in patch.items():
        if value is None:
            merged.pop(key, None)
        elif isinstance(value, Mapping):
            below = merged.get(key)
            merged[key] = merge_patch(below if isinstance(below, Mapping) else {}, value)
        else:
            merged[key] = value
    return merged


# --- kinds ------------------------------------------------------------------------------------------------------------


def _by_kind(documents: Sequence[object], text: str) -> tuple[dict[str, Fields], list[ConfigProblem]]:
    by_kind: dict[str, Fields] = {}
    found: list[tuple[int, ConfigProblem]] = []
    for number, document in enumerate(documents, start=1):
        path = f"document {number}" if len(documents) > 1 else "the document"
        if not isinstance(document, Mapping):
            wrong, remedy = "is not a map of fields", "begin it with apiVersion and kind"
            problem = ConfigProblem(path=path, value=shown(str(document)), wrong=wrong, remedy=remedy)
            found.append((number, problem))
            continue
        inner = document.get(_CONFIGZ)
        if set(document) == {_CONFIGZ} and isinstance(inner, Mapping):
            kind, fields = _CONFIGZ, inner
        else:
            kind, fields = str(document.get("kind", "")), document
            meant = _kind_of_fields(document) if "kind" not in document else ""
            problems = [_without_header(document, meant)] if meant else _kind_problems(document)
            found += [(number, problem) for problem in problems]
            if meant and not any(isinstance(each, Mapping) and each.get("kind") == meant for each in documents):
                kind = meant  # so that its other faults are reported with this one
        if kind in by_kind:
            problem = ConfigProblem(path=path, value=shown(kind), wrong="appears twice", remedy="keep one of them")
            found.append((number, problem))
        by_kind[kind] = fields
    return by_kind, _with_lines(found, text)


def _with_lines(found: Sequence[tuple[int, ConfigProblem]], text: str) -> list[ConfigProblem]:
    """Return the faults of numbered documents with their lines; two documents have fields of the same name."""
    lines = document_lines(text) if found else []
    return [with_line(problem, lines[number - 1] if number <= len(lines) else {}) for number, problem in found]


def _kind_of_fields(document: Fields) -> str:
    """Return the kind that has a field of this document, of several the kubelet's; empty if none has."""
    return next((kind for kind, names in _FIELDS.items() if not names.isdisjoint(document)), "")


def _without_header(document: Fields, kind: str) -> ConfigProblem:
    """Return that the document has no kind, at its first field of that kind, with the lines to add."""
    first = next(name for name in document if name in _FIELDS[kind])
    header = {"apiVersion": _KINDS[kind], "kind": kind}
    missing = [name for name in header if document.get(name) != header[name]]
    lines = " and ".join(f"`{name}: {header[name]}`" for name in missing)
    wrong = f"is a field of {kind}, but its document has no {' and no '.join(missing)}"
    return ConfigProblem(
        path=first, wrong=wrong, remedy=f"begin the document with {'the lines ' * (len(missing) > 1)}{lines}"
    )


def _kind_problems(document: Fields) -> Iterator[ConfigProblem]:
    kind, version = document.get("kind"), document.get("apiVersion")
    both = "give " + " or ".join(_KINDS)
    if kind is None:
        yield ConfigProblem(path="kind", wrong="is missing", remedy=both)
    elif not isinstance(kind, str) or kind not in _KINDS:
        remedy = _OTHER_KINDS.get(str(kind)) or did_you_mean(str(kind), _KINDS) or both
        yield ConfigProblem(path="kind", value=quoted(str(kind)), wrong="unknown kind", remedy=remedy)
    elif version is None:
        yield ConfigProblem(path="apiVersion", wrong="is missing", remedy=f"give {_KINDS[kind]}")
    elif version != _KINDS[kind]:
        wrong = f"is not the version of {kind}"
        yield ConfigProblem(path="apiVersion", value=quoted(str(version)), wrong=wrong, remedy=f"give {_KINDS[kind]}")
