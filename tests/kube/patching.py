"""Applies patches as an API server does: JSON merge patch (RFC 7386) and Kubernetes' strategic merge patch.

The API's own OpenAPI document defines how a list merges (`x-kubernetes-patch-merge-key`, `x-kubernetes-patch-strategy`),
recorded from a real server in `tests/data/openapi/merging.json`. `tests/cluster/test_openapi.py` checks that the record is
current, and that the results here equal those of the real server.
"""

import copy
import functools
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

RECORD = Path(__file__).parents[1] / "data" / "openapi" / "merging.json"
KINDS = {
    "Node": "io.k8s.api.core.v1.Node",
    "Pod": "io.k8s.api.core.v1.Pod",
    "Lease": "io.k8s.api.coordination.v1.Lease",
    "Event": "io.k8s.api.events.v1.Event",
}
"""The kinds that evictd patches, and their types in the document."""
DIRECTIVE = "$patch"

Json = Any


@functools.cache
def record() -> dict[str, dict[str, Json]]:
    """The recorded types: field, its type and its merge keys. Scalar fields are not in it."""
    found: dict[str, dict[str, Json]] = json.loads(RECORD.read_text())
    return found


def merge(target: Json, patch: Json) -> Json:
    """JSON merge patch: null removes, maps merge, everything else replaces."""
    if not isinstance(patch, dict):
        return copy.deepcopy(patch)
    result = dict(target) if isinstance(target, dict) else {}
    for key, value in patch.items():
        if value is None:
            result.pop(key, None)
        else:
            result[key] = merge(result.get(key), value)
    return result


def strategic(target: Json, patch: Json, kind: str) -> Json:
    """Strategic merge patch of an object of a kind in `KINDS`. Raises `ValueError` for a directive that no real request has."""
    return _object(target, patch, KINDS[kind])


def _object(target: Json, patch: Json, type_name: str) -> Json:
    fields = record().get(type_name, {})
    result = dict(target) if isinstance(target, dict) else {}
    for name, value in patch.items():
        if name.startswith("$"):
            raise ValueError(f"the directive {name} is not known")
        if value is None:
            result.pop(name, None)
        else:
            result[name] = _field(result.get(name), value, fields.get(name, {}))
    return result


def _field(old: Json, new: Json, field: dict[str, Json]) -> Json:
    if isinstance(new, list) and field.get("x-kubernetes-patch-strategy") == "merge":
        by = field.get("x-kubernetes-patch-merge-key")
        return _keyed(old or [], new, by, field["type"]) if by else _union(old or [], new)
    if isinstance(new, dict) and field.get("map"):
        return merge(old, new)
    if isinstance(new, dict):
        return _object(old, new, field.get("type", ""))
    return copy.deepcopy(new)


def _union(old: list[Json], new: list[Json]) -> list[Json]:
    return _ordered([*old, *(item for item in new if item not in old)], old, new, lambda item: item)


def _keyed(old: list[Json], new: list[Json], by: str, type_name: str) -> list[Json]:
    gone = [change[by] for change in new if change.get(DIRECTIVE) == "delete"]
    changes = [change for change in new if change.get(DIRECTIVE) != "delete"]
    old = [item for item in old if item.get(by) not in gone]
    result = copy.deepcopy(old)
    for change in changes:
        places = [i for i, item in enumerate(result) if item.get(by) == change[by]]
        if places:
            result[places[0]] = _object(result[places[0]], change, type_name)
        else:
            result.append(_object({}, change, type_name))
    return _ordered(result, old, changes, lambda item: item[by])


def _ordered(items: list[Json], old: list[Json], new: list[Json], key: Callable[[Json], Json]) -> list[Json]:
    """Put merged items into the order of `normalizeElementOrder` in apimachinery's `strategicpatch`.

    Those of the patch come in its order; an untouched one goes before the first of the patch that stood behind it.
    """
    was, asked = [key(item) for item in old], [key(item) for item in new]
    left = [item for item in items if key(item) not in asked]
    right = sorted((item for item in items if key(item) in asked), key=lambda item: asked.index(key(item)))
    result = []
    while left and right:
        known = key(right[0]) in was
        result.append(left.pop(0) if known and was.index(key(left[0])) < was.index(key(right[0])) else right.pop(0))
    return [*result, *left, *right]
