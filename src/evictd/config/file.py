"""What a YAML or JSON file says, as plain maps, lists and scalars, however hostile the file is.

Bounded before it is parsed (size, depth, number of values with aliases counted as often as they are used), no tags beyond the
plain ones, no key twice, no key that is not a text. Every fault is one line with the file's name.
"""

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from evictd.codec.strict import Word
from evictd.config.build import settings
from evictd.config.flags import NO_FLAGS, Flags
from evictd.config.layers import Layers, drop_in, main_layers
from evictd.config.settings import Settings
from evictd.core.problem import Problem, shown
from evictd.errors import InputError

MAX_BYTES = 2**20
_MAX_DEPTH = 50
_MAX_VALUES = 50_000
_TAG = "tag:yaml.org,2002:"
_TEXT_TAGS = {_TAG + name for name in ("str", "timestamp", "merge", "value")}
_SCALAR_TAGS = {_TAG + name for name in ("bool", "int", "float", "null")}
_WORDS = frozenset({"yes", "no", "on", "off"})
_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class _Pairs(list[tuple[object, object]]):
    """A map before its keys were looked at."""


def read_documents(path: Path, *, max_bytes: int = MAX_BYTES, max_values: int = _MAX_VALUES) -> list[object]:
    """Read every document of a YAML or JSON file; empty ones are left out. Raises `InputError` with every fault."""
    documents, problems = parse_documents(read_text(path, max_bytes=max_bytes), str(path), max_values=max_values)
    if problems:
        raise InputError(tuple(f"{path}: {problem}" for problem in problems))
    return documents


def read_text(path: Path, *, max_bytes: int = MAX_BYTES) -> str:
    """Read a UTF-8 file of bounded size. Raises `InputError`."""
    try:
        with path.open("rb") as file:
            size = os.fstat(file.fileno()).st_size
            raw = b"" if size > max_bytes else file.read(max_bytes + 1)
    except OSError as error:
        raise InputError(f"{path}: {error.strerror or error}") from error
    if size > max_bytes or len(raw) > max_bytes:
        much = f"{max(size, len(raw))} bytes" if size > max_bytes else "the file"
        raise InputError(f"{path}: {much}: is too large; at most {max_bytes} bytes are read")
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: byte {error.start}: is not UTF-8; save the file as UTF-8") from error


def parse_documents(text: str, name: str, *, max_values: int = _MAX_VALUES) -> tuple[list[object], list[Problem]]:
    """Parse JSON, or YAML of any number of documents, and list what is wrong with it.

    Raises `InputError`, with `name` in its line, where nothing can be read at all.
    """
    try:
        raw = _parse_json(text)
    except (ValueError, RecursionError):  # not JSON: YAML says what is wrong with it, if anything is
        raw = _parse_yaml(text, name, max_values)
    reader = _Reader(left=max_values)
    documents = [reader.plain(one, "", 0) for one in raw]
    return [one for one in documents if one is not None], reader.problems


def _parse_json(text: str) -> list[object]:
    return [json.loads(text, object_pairs_hook=_Pairs, parse_constant=_refuse_constant)]


def _refuse_constant(name: str) -> object:
    raise ValueError(name)


def _parse_yaml(text: str, name: str, max_values: int) -> list[object]:
    try:
        _bound(text, name, max_values)
        return [_Composer().value(node) for node in yaml.compose_all(text, Loader=_LOADER)]
    except yaml.MarkedYAMLError as error:
        raise InputError(f"{name}: {_yaml_fault(error, text)}") from error
    except yaml.YAMLError as error:
        raise InputError(f"{name}: {shown(str(error).splitlines()[0])}; a control character is not allowed") from error


def _yaml_fault(error: yaml.MarkedYAMLError, text: str) -> str:
    problem, mark = error.problem or "is no YAML", error.problem_mark
    if mark is None or mark.line is None:
        return problem
    line = text.split("\n")[mark.line : mark.line + 1]
    tab = any("\t" in one[: mark.column + 1] for one in line)
    remedy = "indent with spaces, not tabs" if tab else "see to the indentation and the quotes"
    return f"line {mark.line + 1}, column {mark.column + 1}: {problem}" + ("" if ";" in problem else f"; {remedy}")


def _bound(text: str, name: str, max_values: int) -> None:
    """Refuse what would exhaust the composer; aliases are counted later, as often as they are used."""
    depth = 0
    for count, event in enumerate(yaml.parse(text, Loader=_LOADER)):
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1
        if depth > _MAX_DEPTH:
            raise InputError(f"{name}: {_line(event)}: {_TOO_DEEP}")
        if count > 2 * max_values:
            raise InputError(f"{name}: {_line(event)}: holds more than {max_values} values; make it shorter")


def _line(event: yaml.Event) -> str:
    return f"line {event.start_mark.line + 1}" if event.start_mark else "the document"


_TOO_DEEP = f"is nested more than {_MAX_DEPTH} levels deep; make it flat"


class _Composer:
    """Makes values of nodes; an alias gives the very same value again, so that a bomb stays small."""

    def __init__(self) -> None:
        self._scalars = yaml.SafeLoader("")
        self._made: dict[int, object] = {}

    def value(self, node: yaml.Node | None) -> object:
        if node is None:
            return None
        if id(node) not in self._made:
            self._make(node)
        return self._made[id(node)]

    def _make(self, node: yaml.Node) -> None:
        if isinstance(node, yaml.MappingNode) and node.tag == _TAG + "map":
            pairs = self._made[id(node)] = _Pairs()
            pairs.extend((self.value(key), self.value(value)) for key, value in node.value)
        elif isinstance(node, yaml.SequenceNode) and node.tag == _TAG + "seq":
            items: list[object] = []
            self._made[id(node)] = items
            items.extend(self.value(one) for one in node.value)
        else:
            self._made[id(node)] = self._scalar(node)

    def _scalar(self, node: yaml.Node) -> object:
        if node.tag == _TAG + "bool" and node.value.lower() in _WORDS:
            return Word(node.value)
        if node.tag in _TEXT_TAGS and isinstance(node, yaml.ScalarNode):
            return node.value
        if node.tag not in _SCALAR_TAGS or not isinstance(node, yaml.ScalarNode):
            message = f"the tag {shown(node.tag)} is not allowed; write the value without a tag"
            raise yaml.constructor.ConstructorError(None, None, message, node.start_mark)
        try:
            value: object = self._scalars.construct_object(node)
        except (ValueError, OverflowError):
            return node.value  # `0b2`, or thousands of digits: its type is wrong wherever a number is wanted
        return value


@dataclass(slots=True)
class _Reader:
    """Turns pairs into maps, finds keys that stand twice, and counts every value as often as it is used."""

    left: int
    problems: list[Problem] = field(default_factory=list)

    def plain(self, value: object, path: str, depth: int) -> object:
        self.left -= 1
        if self.left < 0 or depth > _MAX_DEPTH:
            if not any(problem.path == "the document" for problem in self.problems):
                wrong = (
                    _TOO_DEEP
                    if depth > _MAX_DEPTH
                    else "holds too many values, aliases counted; write it without aliases"
                )
                self.problems.append(Problem(path="the document", wrong=wrong))
            return None
        if isinstance(value, _Pairs):
            return dict(self._entries(value, path, depth))
        if isinstance(value, list):
            return [self.plain(one, f"{path}[{index}]", depth + 1) for index, one in self._bounded(value)]
        return value

    def _bounded(self, items: list[Any]) -> Iterator[tuple[int, Any]]:
        for index, one in enumerate(items):
            if self.left < 0:
                return
            yield index, one

    def _entries(self, pairs: _Pairs, path: str, depth: int) -> Iterator[tuple[str, object]]:
        seen = set()
        for _, (key, value) in self._bounded(pairs):
            if not isinstance(key, str):
                where = path or "the document"
                self.problems.append(
                    Problem(path=where, value=shown(str(key)), wrong="is no name of a field", remedy="put it in quotes")
                )
                continue
            below = f"{path}.{shown(key)}" if path else shown(key)
            if key in seen:
                self.problems.append(Problem(path=below, wrong="stands there twice", remedy="keep one of them"))
            seen.add(key)
            yield key, self.plain(value, below, depth + 1)


# --- the whole configuration ------------------------------------------------------------------------------------------


def load(path: Path | None, flags: Flags = NO_FLAGS) -> Settings:
    """Read the configuration: file, drop-ins, flags. Raises `InputError` with every fault of all of them."""
    layers = Layers()
    if path is not None:
        layers = main_layers(*parse_documents(read_text(path), str(path)), str(path))
    for drop_in_path in _drop_ins(flags.config_dir) if flags.config_dir is not None else []:
        name = str(drop_in_path)
        layers = drop_in(layers, *parse_documents(read_text(drop_in_path), name), name)
    return settings(layers, flags)


def _drop_ins(directory: Path) -> list[Path]:
    """Give every `*.conf` below the directory, in lexical order."""
    if not directory.is_dir():
        raise InputError(f"{directory}: is no directory; give one with *.conf files")
    try:
        return sorted((one for one in directory.rglob("*.conf") if one.is_file()), key=lambda one: one.parts)
    except OSError as error:
        raise InputError(f"{directory}: {error.strerror or error}") from error


def dump_yaml(value: object) -> str:
    """Write plain data as YAML, keys in their order; what is not ASCII is escaped, so that every text reads back."""
    text: str = yaml.safe_dump(value, sort_keys=False, allow_unicode=False, width=120)
    return text
