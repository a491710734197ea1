"""Reads YAML and JSON files as plain maps, lists and scalars, and loads the configuration.

Safe for hostile files: size, depth and number of values are bounded, and an alias counts as often as it is used. Tags beyond the
plain ones, duplicate keys and keys that are not texts are faults. Each fault is one line with the file's name.
"""

import json
import os
import re
import stat
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import Any

import yaml

from evictd.codec.scalars import is_unicode
from evictd.codec.strict import Word
from evictd.config.build import settings
from evictd.config.flags import NO_FLAGS, Flags
from evictd.config.layers import Layers, drop_in, main_layers
from evictd.config.lines import MAX_DEPTH, YAML_LOADER, field_lines, with_line
from evictd.config.settings import Settings
from evictd.config.written import Written, ends_early
from evictd.core.model.problem import ConfigProblem, shown
from evictd.core.model.threshold_config import HARD, SOFT
from evictd.errors import InputError, did_you_mean, similar_names

MAX_BYTES = 2**20
_MOST_NAMES = 1000
"""Files of a folder among which a similar name is looked for."""
_MAX_VALUES = 50_000
_DENIED = "let this user read it, or use sudo"
_TAG = "tag:yaml.org,2002:"
_TEXT_TAGS = {_TAG + name for name in ("str", "timestamp", "merge", "value")}
_SCALAR_TAGS = {_TAG + name for name in ("bool", "int", "float", "null")}
_INDENTED_SEPARATOR = re.compile(r"[ \t]+---(\s|$)")
_WORDS = frozenset({"yes", "no", "on", "off"})


class _Pairs(list[tuple[object, object]]):
    """A map whose keys are not checked yet."""


STANDARD_INPUT = Path("-")
"""Instead of a file: what is piped into the program, read once."""


def shown_path(path: Path) -> str:
    """Return a path as messages name it."""
    return "standard input" if path == STANDARD_INPUT else str(path)


def read_documents(path: Path, *, max_bytes: int = MAX_BYTES, max_values: int = _MAX_VALUES) -> list[object]:
    """Read every document of a YAML or JSON file; empty documents are left out. Raises `InputError` with every fault."""
    return documents_of(read_text(path, max_bytes=max_bytes), path, max_values=max_values)


def documents_of(text: str, path: Path, *, max_values: int) -> list[object]:
    """Parse every document of the text of a file as `read_documents` does."""
    name = shown_path(path)
    documents, problems = parse_documents(text, name, max_values=max_values)
    if problems:
        raise InputError(tuple(f"{name}: {problem}" for problem in problems))
    return documents


def read_text(path: Path, *, max_bytes: int = MAX_BYTES) -> str:
    """Read a UTF-8 file, or standard input, of bounded size. Raises `InputError`."""
    size, raw = _read_standard_input(max_bytes) if path == STANDARD_INPUT else _read_file(path, max_bytes)
    name = shown_path(path)
    if size > max_bytes or len(raw) > max_bytes:
        much = f"{max(size, len(raw))} bytes" if size > max_bytes else "the file"
        raise InputError(f"{name}: {much}: is too large; at most {max_bytes} bytes are read")
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(f"{name}: byte {error.start}: is not UTF-8; save the file as UTF-8") from error


def _read_standard_input(max_bytes: int) -> tuple[int, bytes]:
    """Read what is piped in. Nothing is a fault: a second reading, at a daemon's reload, must not be taken for an empty file."""
    raw = b"" if sys.stdin is None else sys.stdin.buffer.read(max_bytes + 1)
    if not raw.strip():
        raise InputError("standard input: is empty; it can be read once only")
    return 0, raw


def _read_file(path: Path, max_bytes: int) -> tuple[int, bytes]:
    """Return the size and the content of a file; only the size of one that is too large."""
    try:
        # Without O_NONBLOCK, opening a pipe without a writer would block forever.
        with os.fdopen(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:
            status = os.fstat(file.fileno())
            if not stat.S_ISREG(status.st_mode):
                raise InputError(f"{path}: is no regular file; save its content in one, or pipe it in and give -")
            return status.st_size, b"" if status.st_size > max_bytes else file.read(max_bytes + 1)
    except OSError as error:
        remedy = "give a file in it" if isinstance(error, IsADirectoryError) else ""
        if isinstance(error, PermissionError):
            remedy = _DENIED
        if isinstance(error, FileNotFoundError):
            remedy = did_you_mean(path.name, _similar_beside(path))
        raise InputError(f"{path}: {error.strerror or error}{remedy and f'; {remedy}'}") from error


def _similar_beside(path: Path) -> list[str]:
    """Return the names in the folder of a file that are similar to its own without the suffix, of a large one of the first."""
    try:
        with os.scandir(path.parent) as found:
            names = [each.name for each in islice(found, _MOST_NAMES)]
    except OSError:
        return []
    stems = similar_names(path.stem, {Path(name).stem for name in names}, most=_MOST_NAMES)
    return [name for name in names if Path(name).stem in stems]


def parse_documents(text: str, name: str, *, max_values: int = _MAX_VALUES) -> tuple[list[object], list[ConfigProblem]]:
    """Parse one JSON document or any number of YAML documents, and list their faults.

    Raises `InputError`, with `name` in its text, if the syntax is invalid.
    """
    try:
        raw: list[object] = [json.loads(text, object_pairs_hook=_Pairs, parse_constant=_refuse_constant)]
    except (ValueError, RecursionError):  # not JSON: the YAML parser accepts it or reports the fault
        raw = _parse_yaml(text, name, max_values)
    reader = _Reader(left=max_values)
    documents = [reader.plain(one, "", 0) for one in raw]
    lines = field_lines(text) if reader.problems else {}
    problems = [with_line(problem, lines) for problem in reader.problems]
    return [one for one in documents if one is not None], problems


def _refuse_constant(name: str) -> object:
    raise ValueError(name)


def _parse_yaml(text: str, name: str, max_values: int) -> list[object]:
    try:
        _bound(text, name, max_values)
        return [_Composer().value(node) for node in yaml.compose_all(text, Loader=YAML_LOADER)]
    except yaml.MarkedYAMLError as error:
        if text.startswith(_JOURNAL):
            raise InputError(f"{name}: is a journal; `evictd replay` decides it again") from error
        raise InputError(f"{name}: {_yaml_fault(error, text)}") from error
    except yaml.YAMLError as error:
        raise InputError(f"{name}: {shown(str(error).splitlines()[0])}; a control character is not allowed") from error


def _yaml_fault(error: yaml.MarkedYAMLError, text: str) -> str:
    problem, mark = error.problem or "is no YAML", error.problem_mark
    if mark is None or mark.line is None:
        return problem
    lines = text.split("\n")
    # A parser complains of the line below one that it read as the rest of a value.
    for number in range(mark.line, max(mark.line - 2, -1), -1):
        if lines[number : number + 1] and _INDENTED_SEPARATOR.match(lines[number]):
            return f"line {number + 1}: --- is indented, so it does not separate two documents; remove the spaces before it"
    line = lines[mark.line : mark.line + 1]
    tab = any("\t" in one[: mark.column + 1] for one in line)
    remedy = "indent with spaces, not tabs" if tab else "check the indentation and the quotes"
    return f"line {mark.line + 1}, column {mark.column + 1}: {problem}" + ("" if ";" in problem else f"; {remedy}")


def _bound(text: str, name: str, max_values: int) -> None:
    """Refuse documents that would exhaust the composer; the expansion of aliases is bounded later."""
    depth = 0
    for count, event in enumerate(yaml.parse(text, Loader=YAML_LOADER)):
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1
        if depth > MAX_DEPTH:
            raise InputError(f"{name}: {_line(event)}: {_TOO_DEEP}")
        if count > 2 * max_values:
            raise InputError(f"{name}: {_line(event)}: holds more than {max_values} values; make it shorter")


def _line(event: yaml.Event) -> str:
    return f"line {event.start_mark.line + 1}" if event.start_mark else "the document"


_JOURNAL = '{"kind":"evictd.io/journal/'
_TWO_DOCUMENTS = "put a line --- between two documents"
_TOO_DEEP = f"is nested more than {MAX_DEPTH} levels deep; make it flat"
_TOO_MANY = "holds too many values, aliases counted; write it without aliases"


class _Composer:
    """Converts YAML nodes to values; an alias gives the same object again, so that an alias bomb stays small."""

    def __init__(self) -> None:
        self._scalars = yaml.SafeLoader("")
        self._values: dict[int, object] = {}

    def value(self, node: yaml.Node | None) -> object:
        if node is None:
            return None
        if id(node) not in self._values:
            self._build(node)
        return self._values[id(node)]

    def _build(self, node: yaml.Node) -> None:
        if isinstance(node, yaml.MappingNode) and node.tag == _TAG + "map":
            pairs = self._values[id(node)] = _Pairs()
            pairs.extend((self.value(key), self.value(value)) for key, value in node.value)
        elif isinstance(node, yaml.SequenceNode) and node.tag == _TAG + "seq":
            items: list[object] = []
            self._values[id(node)] = items
            items.extend(self.value(one) for one in node.value)
        else:
            self._values[id(node)] = self._scalar(node)

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
        except (ValueError, OverflowError, IndexError):
            return node.value  # `0b2`, or thousands of digits: a text, which is a fault in a field for numbers
        return value


@dataclass(slots=True)
class _Reader:
    """Converts pairs to maps, finds duplicate keys, and counts every value as often as it is used."""

    left: int
    problems: list[ConfigProblem] = field(default_factory=list)

    def plain(self, value: object, path: str, depth: int) -> object:
        self.left -= 1
        if self.left < 0 or depth > MAX_DEPTH:
            if not any(problem.path == "the document" for problem in self.problems):
                wrong = _TOO_DEEP if depth > MAX_DEPTH else _TOO_MANY
                self.problems.append(ConfigProblem(path="the document", wrong=wrong))
            return None
        if isinstance(value, _Pairs):
            return dict(self._entries(value, path, depth))
        if isinstance(value, str) and not is_unicode(value):
            problem = ConfigProblem(path=path or "the document", value=shown(value), wrong="is no Unicode text")
            self.problems.append(problem)
            return None
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
            if not isinstance(key, str) or not is_unicode(key):
                where = path or "the document"
                wrong, remedy = "is not the name of a field", "put it in quotes"
                self.problems.append(ConfigProblem(path=where, value=shown(str(key)), wrong=wrong, remedy=remedy))
                continue
            below = f"{path}.{shown(key)}" if path else shown(key)
            if key in seen:
                remedy = _TWO_DOCUMENTS if below in {"apiVersion", "kind"} else "keep one of them"
                self.problems.append(ConfigProblem(path=below, wrong="appears twice", remedy=remedy))
            seen.add(key)
            yield key, self.plain(value, below, depth + 1)


# --- the whole configuration ------------------------------------------------------------------------------------------


def _threshold_flags(flags: Flags) -> dict[str, str]:
    """Return by field the flag that sets all thresholds of it."""
    return {
        name: flags.sources[of]
        for name, of in ((HARD, "eviction_hard"), (SOFT, "eviction_soft"))
        if of in flags.sources
    }


def load(path: Path | None, flags: Flags = NO_FLAGS) -> Settings:
    """Read the configuration from the file, the drop-ins and the flags. Raises `InputError` with every fault."""
    layers, texts = Layers(), {}
    if path is not None:
        name = shown_path(path)
        texts[name] = read_text(path)
        layers = main_layers(*parse_documents(texts[name], name), name, text=texts[name])
    for drop_in_path in drop_ins(flags.config_dir) if flags.config_dir is not None else []:
        name = str(drop_in_path)
        texts[name] = read_text(drop_in_path)
        layers = drop_in(layers, *parse_documents(texts[name], name), name, text=texts[name])
    made = settings(replace(layers, texts=texts), flags)
    cluster = layers.evictd.get("cluster")
    written = Written(
        texts=texts,
        kinds=layers.kinds,
        fields=frozenset(layers.evictd),
        kubelet=frozenset(layers.kubelet),
        thresholds={**layers.thresholds, **_threshold_flags(flags)},
        cluster=frozenset(cluster if isinstance(cluster, Mapping) else ()),
    )
    cut = tuple(
        f"{name}: the last line has no end; a reload refuses such a file" for name in texts if ends_early(texts[name])
    )
    return replace(made, written=written, surprises=(*made.surprises, *cut))


def drop_ins(directory: Path) -> list[Path]:
    """Return every `*.conf` below the directory, in lexical order."""
    try:
        if not directory.is_dir():
            raise InputError(f"{directory}: is no directory; give one with *.conf files")
        return sorted((one for one in directory.rglob("*.conf") if one.is_file()), key=lambda one: one.parts)
    except OSError as error:
        remedy = _DENIED if isinstance(error, PermissionError) else ""
        raise InputError(f"{directory}: {error.strerror or error}{remedy and f'; {remedy}'}") from error


def load_yaml(text: str) -> object:
    """Parse a text of one YAML document, such as a manifest; `None` if it is empty. Raises `InputError` with every fault."""
    documents, problems = parse_documents(text, "manifest")
    if problems:
        raise InputError(tuple(str(problem) for problem in problems))
    return documents[0] if documents else None


def dump_yaml(value: object) -> str:
    """Format plain data as YAML, keys in their order; non-ASCII is escaped, so that every text reads back equal."""
    text: str = yaml.safe_dump(value, sort_keys=False, allow_unicode=False, width=120)
    return text
