"""Makes a scenario of files that people have: `kubectl get pods -o json`, and the kubelet's `/stats/summary`, one or several.

    kubectl get pods --all-namespaces --field-selector spec.nodeName=NODE -o json > pods.json
    kubectl get --raw /api/v1/nodes/NODE/proxy/stats/summary > summary.json

The files are read as a scenario's parts are, so every fault is named. A filesystem with another capacity than nodefs counts as a
filesystem of its own; the summary does not name devices.
"""

import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from evictd.codec.scenario import Scenario, decode_scenario
from evictd.codec.times import parse_time
from evictd.commands.inputs.prometheus_files import prometheus_summaries
from evictd.commands.inputs.source import MAX_BYTES, MAX_VALUES
from evictd.config.file import read_documents, shown_path
from evictd.core.units.duration import SECOND, format_duration
from evictd.errors import InputError, InvalidValueError
from evictd.render.text import clean, first_of

Plain = Mapping[str, Any]

_SPACING = 10 * SECOND
"""Between two summaries that have no time: the kubelet's housekeeping interval."""

_PODS = "a list of pods; give the output of `kubectl get pods --all-namespaces -o json`"


def raw_scenario(pods: Path, summaries: Sequence[Path]) -> Scenario:
    """Read a list of pods and summaries of one node; raises `InputError`."""
    listed = _pods(_document(pods, _PODS), pods)
    read = [
        (path, _document(path, "a stats summary; give an answer of the kubelet's /stats/summary")) for path in summaries
    ]
    for path, document in read:
        if "kind" in document:
            kind = clean(str(document["kind"]))
            raise InputError(f"{shown_path(path)}: is a {kind}, and no answer of the kubelet's /stats/summary")
        if not isinstance(document.get("node"), Mapping):
            raise InputError(f"{shown_path(path)}: has no `node`; it is no answer of the kubelet's /stats/summary")
    return _scenario(pods, listed, [document for _, document in read])


def prometheus_scenario(pods: Path, queries: Sequence[Path]) -> Scenario:
    """Read a list of pods and answers of Prometheus; raises `InputError`."""
    listed = _pods(_document(pods, _PODS), pods)
    documents = [_document(path, "an answer of Prometheus; give one of /api/v1/query_range") for path in queries]
    return _scenario(pods, listed, prometheus_summaries(documents, listed, shown_path(queries[0])))


def _scenario(pods: Path, listed: list[Any], summaries: Sequence[Plain]) -> Scenario:
    node = summaries[0]["node"]
    times = [time for each in summaries if (time := _time(each)) is not None]
    _report_unlisted(pods, listed, summaries)
    scenario = decode_scenario(
        {
            "name": str(node.get("nodeName") or pods.stem),
            "filesystems": _filesystems(node),
            "pods": listed,
            "steps": _steps(summaries, times),
        }
    )
    return replace(scenario, begin=min(times) if len(times) == len(summaries) else None)


def _report_unlisted(pods: Path, listed: Sequence[object], summaries: Sequence[Plain]) -> None:
    """Say on standard error which pods of the summaries the list does not have: they are no candidates.

    By namespace and name, as the uid of a static pod is not that of its mirror pod.
    """
    known = {_name(each, "metadata") for each in listed}
    lists = (summary.get("pods") for summary in summaries)
    seen = dict.fromkeys(_name(each, "podRef") for rows in lists if isinstance(rows, list) for each in rows)
    if missing := [clean(name) for name in seen if name not in known]:
        names = f"{shown_path(pods)}: is without {first_of(missing)} of the summary"
        sys.stderr.write(f"evictd: {names}; a pod that is not listed is never chosen\n")


def _name(value: object, field: str) -> str:
    """Return `namespace/name` of an object or of a reference."""
    named = value.get(field) if isinstance(value, Mapping) else None
    return f"{named.get('namespace')}/{named.get('name')}" if isinstance(named, Mapping) else ""


def _document(path: Path, what: str) -> dict[str, Any]:
    documents = read_documents(path, max_bytes=MAX_BYTES, max_values=MAX_VALUES)
    if len(documents) != 1 or not isinstance(documents[0], dict):
        raise InputError(f"{shown_path(path)}: is not {what}")
    return documents[0]


def _pods(document: Plain, path: Path) -> list[Any]:
    items = document.get("items", [document] if document.get("kind") == "Pod" else None)
    if not isinstance(items, list):
        raise InputError(f"{shown_path(path)}: has no `items`; give the output of `kubectl get pods -o json`")
    return items


def _steps(documents: Sequence[Plain], times: Sequence[int]) -> list[Plain]:
    """Order the summaries by their times, counted from the first one; evenly where one has no time."""
    if len(times) < len(documents):
        return [
            {"at": format_duration(number * _SPACING), "summary": document} for number, document in enumerate(documents)
        ]
    first = min(times)
    ordered = sorted(zip(times, range(len(documents)), strict=True))
    return [{"at": format_duration(time - first), "summary": documents[number]} for time, number in ordered]


def _time(document: Plain) -> int | None:
    node = document["node"]
    for part in ("memory", "fs", "cpu"):
        text = node[part].get("time") if isinstance(node.get(part), Mapping) else None
        if isinstance(text, str):
            try:
                return parse_time(text)
            except InvalidValueError as error:
                raise InputError(f"node.{part}.time: {error}") from error
    return None


def _filesystems(node: Plain) -> Plain:
    runtime = node.get("runtime")
    runtime = runtime if isinstance(runtime, Mapping) else {}
    nodefs, image = _capacity(node.get("fs")), _capacity(runtime.get("imageFs"))
    container = _capacity(runtime.get("containerFs"))
    return {
        "dedicatedImageFs": image is not None and image != nodefs,
        "splitContainerFs": container is not None and image is not None and container != image,
    }


def _capacity(fs: object) -> object:
    return fs.get("capacityBytes") if isinstance(fs, Mapping) else None
