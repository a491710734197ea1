"""Renders the part of kustomize that `deploy/` uses, where there is neither `kubectl` nor `kustomize`.

Resources, components, a ConfigMap generator with its hash suffix left out, and strategic merge patches whose only lists are
containers (merged by name). `test_kustomize.py` compares it with kustomize itself where there is one.
"""

from pathlib import Path
from typing import Any

import yaml

Json = dict[str, Any]


def rendered(folder: Path, components: tuple[Path, ...] = ()) -> list[Json]:
    """Return the objects of a kustomization, then of the components."""
    (spec,) = _documents(folder / "kustomization.yaml")
    items: list[Json] = []
    for name in spec.get("resources", ()):
        path = (folder / name).resolve()
        items += rendered(path) if path.is_dir() else _documents(path)
    for generator in spec.get("configMapGenerator", ()):
        items = [item for item in items if not _is_config_map(item, generator["name"])]
        items.append(_config_map(folder, generator))
    for patch in spec.get("patches", ()):
        _patch(items, _documents(folder / patch["path"])[0])
    for component in (*(folder / name for name in spec.get("components", ())), *components):
        items += [item for item in rendered(component) if item]
        (own,) = _documents(component / "kustomization.yaml")
        for patch in own.get("patches", ()):
            _patch(items, _documents(component / patch["path"])[0])
    return items


def merge(target: Json, patch: Json) -> None:
    """Merge a strategic patch: objects by field, lists of named objects by name, anything else replaced."""
    for name, value in patch.items():
        if isinstance(value, dict) and isinstance(target.get(name), dict):
            merge(target[name], value)
        elif isinstance(value, list) and value and all(isinstance(each, dict) and "name" in each for each in value):
            present = target.setdefault(name, [])
            for each in value:
                known = next((other for other in present if other["name"] == each["name"]), None)
                if known is None:
                    present.append(each)
                else:
                    merge(known, each)
        else:
            target[name] = value


def _patch(items: list[Json], patch: Json) -> None:
    for item in items:
        if (item["kind"], item["metadata"]["name"]) == (patch["kind"], patch["metadata"]["name"]):
            merge(item, patch)


def _is_config_map(item: Json, name: str) -> bool:
    return (item["kind"], item["metadata"]["name"]) == ("ConfigMap", name)


def _config_map(folder: Path, generator: Json) -> Json:
    data = {name: (folder / name).read_text() for name in generator["files"]}
    meta = {"name": generator["name"], "namespace": generator["namespace"]}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta, "data": data}


def _documents(path: Path) -> list[Json]:
    return [item for item in yaml.safe_load_all(path.read_text()) if item]
