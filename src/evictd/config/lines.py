"""Finds the lines of fields in the text of a configuration file, for messages about faults in it.

The text is read as YAML, of which JSON is a part. No value is built of it, and no path is kept that is longer than those of a
configuration, so that a hostile text costs no more than a harmless one of its size.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import yaml

from evictd.core.model.problem import ConfigProblem, shown

YAML_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
MAX_DEPTH = 50
"""Levels of maps and lists that a file may have."""
_LONGEST_PATH = 300
_EMPTY = frozenset({"", "~", "null"})
"""How YAML writes that there is no value."""


@dataclass(slots=True)
class _Collection:
    """A map or list that is being read; without a path, what is in it has no line."""

    path: str | None
    is_map: bool
    nodes: int = 0
    """How many keys, values or entries were read."""
    key: str | None = None
    """The path of the value that follows in a map."""


@dataclass(slots=True)
class _Document:
    lines: dict[str, int] = field(default_factory=dict)
    above: list[_Collection] = field(default_factory=list)
    begins: int | None = None
    """The line of its value; `None` where it is empty."""

    def take(self, event: yaml.Event) -> None:
        """Read one event of the parser."""
        if isinstance(event, yaml.CollectionEndEvent):
            self.above.pop()
        elif isinstance(event, yaml.NodeEvent):
            path = self._place(event) if self.above else self._begin(event)
            if isinstance(event, yaml.CollectionStartEvent):
                self.above.append(_Collection(path, isinstance(event, yaml.MappingStartEvent)))

    def _begin(self, event: yaml.NodeEvent) -> str:
        empty = isinstance(event, yaml.ScalarEvent) and event.implicit[0] and event.value.lower() in _EMPTY
        self.begins = None if empty or event.start_mark is None else event.start_mark.line + 1
        return ""

    def _place(self, event: yaml.Event) -> str | None:
        """Return the path of a value, and note the line of a key or of an entry of a list."""
        inside = self.above[-1]
        number = inside.nodes
        inside.nodes += 1
        if inside.is_map and number % 2:
            return inside.key
        name = str(number) if not inside.is_map else event.value if isinstance(event, yaml.ScalarEvent) else None
        path = None if inside.path is None or name is None else _plain(f"{inside.path}.{shown(name)}")
        inside.key = path if path is not None and len(path) <= _LONGEST_PATH else None
        if inside.key is not None and event.start_mark is not None:
            self.lines[inside.key] = event.start_mark.line + 1
        return None if inside.is_map else inside.key


def field_lines(text: str) -> dict[str, int]:
    """Return the line of each field by its path; of one that is there twice the later, and none of a field of two documents."""
    found: dict[str, int] = {}
    of_several: set[str] = set()
    for document in _documents(text):
        of_several |= found.keys() & document.lines.keys()
        found |= document.lines
    return {path: line for path, line in found.items() if path not in of_several}


def document_lines(text: str) -> list[dict[str, int]]:
    """Return the lines of the fields of each document that is not empty, and by an empty path the line where it begins."""
    return [{"": each.begins, **each.lines} for each in _documents(text) if each.begins is not None]


def _documents(text: str) -> Iterator[_Document]:
    """Yield each document that was read to its end."""
    document = _Document()
    try:
        for event in yaml.parse(text, Loader=YAML_LOADER):
            document.take(event)
            if len(document.above) > MAX_DEPTH:
                return  # the parser's time grows with the square of the depth
            if isinstance(event, yaml.DocumentEndEvent):
                yield document
                document = _Document()
    except yaml.YAMLError:
        return  # a JSON text that is no YAML: its faults are shown without lines


def with_line(problem: ConfigProblem, lines: Mapping[str, int]) -> ConfigProblem:
    """Return a problem with its line, if that is known."""
    return replace(problem, line=line_of(problem.path, lines))


def line_of(path: str, lines: Mapping[str, int]) -> int | None:
    """Return the line of a field, or of the nearest one above it that the file or the document has."""
    path = _plain(path)
    while path and path not in lines:
        path = path.rpartition(".")[0]
    return lines.get(path)


def _plain(path: str) -> str:
    """Return a path without the difference between `a.b` and `a[b]`."""
    return path.replace("[", ".").replace("]", "").lstrip(".")
