"""What an API server makes of a patch: JSON merge patch (RFC 7386) and Kubernetes' strategic merge patch.

The merge keys are those of the API's types (`x-kubernetes-patch-merge-key`) as far as evictd touches them; lists without one are
replaced as a whole.
"""

import copy
from typing import Any

MERGE_KEYS = {
    "conditions": "type",
    "taints": "key",
    "containers": "name",
    "initContainers": "name",
    "volumes": "name",
    "addresses": "type",
    "ownerReferences": "uid",
    "env": "name",
    "volumeMounts": "mountPath",
}

Json = Any


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


def strategic(target: Json, patch: Json) -> Json:
    """Strategic merge patch: as merge patch, but lists with a merge key are merged by it; `$patch: delete` removes an entry."""
    if not isinstance(patch, dict):
        return copy.deepcopy(patch)
    result = dict(target) if isinstance(target, dict) else {}
    for key, value in patch.items():
        if key.startswith("$setElementOrder/") or key == "$patch":
            continue
        if value is None:
            result.pop(key, None)
        elif isinstance(value, list) and key in MERGE_KEYS:
            result[key] = _merge_list(result.get(key) or [], value, MERGE_KEYS[key])
            if not result[key]:
                del result[key]
        else:
            result[key] = strategic(result.get(key), value)
    return result


def _merge_list(target: list[Json], patch: list[Json], by: str) -> list[Json]:
    result = [copy.deepcopy(item) for item in target]
    for change in patch:
        places = [i for i, item in enumerate(result) if item.get(by) == change[by]]
        if change.get("$patch") == "delete":
            result = [item for i, item in enumerate(result) if i not in places]
        elif places:
            result[places[0]] = strategic(result[places[0]], change)
        else:
            result.append(strategic({}, change))
    return result
