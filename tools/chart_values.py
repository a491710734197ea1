"""Reads the values of the chart with their types and comments: from values.yaml and values.schema.json, for the reference."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import yaml

CHART = Path(__file__).parents[1] / "deploy/chart/evictd"
_TRAILING = re.compile(r"\s+# (.*)")


class Value(NamedTuple):
    """A value of the chart: its path, the type that the schema wants, the default as JSON, and its comment."""

    path: str
    type: str
    default: str
    text: str


def values(folder: Path = CHART) -> Iterator[Value]:
    """Yield the values in the order of the file; a group whose parts the schema names has a row only if it has a comment."""
    text = (folder / "values.yaml").read_text(encoding="utf-8")
    schema = json.loads((folder / "values.schema.json").read_text(encoding="utf-8"))
    root = yaml.compose(text)
    assert root is not None
    yield from _values(root, schema, text.splitlines(), "")


def _values(group: yaml.Node, schema: dict[str, Any], lines: list[str], prefix: str) -> Iterator[Value]:
    for key, value in group.value:
        path, kind = f"{prefix}{key.value}", schema["properties"][key.value]
        comment = _comment(key, value, lines)
        parts = "properties" in kind and isinstance(value, yaml.MappingNode)
        if comment or not parts:
            default = "" if parts else json.dumps(yaml.safe_load(yaml.serialize(value)))
            yield Value(path, _type(kind), default, comment)
        if parts:
            yield from _values(value, kind, lines, f"{path}.")


def _comment(key: yaml.Node, value: yaml.Node, lines: list[str]) -> str:
    """Return the comment lines directly above the key, as far in as the key, and the one after the value."""
    found: list[str] = []
    start = f"{' ' * key.start_mark.column}# "
    for line in reversed(lines[: key.start_mark.line]):
        if not line.startswith(start):
            break
        found.insert(0, line.removeprefix(start))
    if value.end_mark.line == key.start_mark.line:
        trailing = _TRAILING.fullmatch(lines[key.start_mark.line][value.end_mark.column :])
        found += [trailing[1]] if trailing else []
    return " ".join(found)


def _type(schema: dict[str, Any]) -> str:
    if "enum" in schema:
        return "|".join(map(str, schema["enum"]))
    kinds = schema.get("type", "object")
    return "|".join(kinds) if isinstance(kinds, list) else str(kinds)
