"""The part of the API's OpenAPI document that says how patches merge: the types' lists and objects, with merge keys.

    KUBEBUILDER_ASSETS=... python -m tests.cluster.openapi      # writes tests/data/openapi/merging.json anew

The record is what the API server double merges by (`tests/kube/patching.py`); `test_openapi.py` compares it with the real server.
"""

import json
from typing import Any

from tests.cluster import processes
from tests.cluster.binaries import Missing, find
from tests.cluster.control_plane import PROGRAMS, ControlPlane
from tests.kube.patching import KINDS, RECORD

_KEPT = ("x-kubernetes-list-type", "x-kubernetes-patch-merge-key", "x-kubernetes-patch-strategy")

Json = dict[str, Any]


def relevant(document: Json) -> Json:
    """Return `{type: {field: {"type": ..., merge keys}}}` of everything below `KINDS`; scalar fields are left out."""
    found: Json = {}
    waiting = list(KINDS.values())
    while waiting:
        name = waiting.pop()
        if name in found:
            continue
        properties = document["definitions"][name].get("properties", {})
        found[name] = {field: entry for field, raw in properties.items() if (entry := _field(raw))}
        waiting += [entry["type"] for entry in found[name].values() if entry["type"] in document["definitions"]]
    return {name: fields for name, fields in sorted(found.items()) if fields}


def _field(raw: Json) -> Json:
    """Describe a field by its type and merge keys; a list's `type` is that of its items. Empty for a scalar."""
    inner = raw.get("items") or raw.get("additionalProperties") or raw
    entry: Json = {"type": inner.get("$ref", "").rpartition("/")[2] or inner.get("type", "")}
    entry |= {"list": True} if raw.get("type") == "array" else {}
    entry |= {"map": True} if "additionalProperties" in raw else {}
    entry |= {name: raw[name] for name in _KEPT if name in raw}
    return entry if "." in entry["type"] or len(entry) > 1 else {}


def main() -> None:
    programs = find(*PROGRAMS)
    assert not isinstance(programs, Missing), str(programs)
    with processes.folder() as folder, ControlPlane(folder, programs) as plane:
        document = relevant(plane.admin.must("GET", "/openapi/v2"))
    RECORD.parent.mkdir(exist_ok=True)
    RECORD.write_text(json.dumps(document, indent=1) + "\n")


if __name__ == "__main__":
    main()
