"""How is an answer written for a program: JSON, or YAML with the same content.

One document a command. The YAML is a plain subset (block maps and lists, JSON scalars), written without a YAML library: reading
YAML is `config.file`'s, and nobody else's.
"""

import argparse
import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, TextIO

TABLE, JSON, YAML = "table", "json", "yaml"

_PLAIN = re.compile(r"[A-Za-z][A-Za-z0-9_./-]*", re.ASCII)
_WORDS = frozenset({"true", "false", "null", "yes", "no", "on", "off", "y", "n"})


def add_output_argument(parser: argparse.ArgumentParser) -> None:
    """Add `--output`."""
    parser.add_argument("--output", choices=(TABLE, JSON, YAML), default=TABLE, help="how to write the answer")


def write_document(document: Mapping[str, Any], form: str, out: TextIO) -> None:
    """Write the document as JSON or YAML."""
    if form == JSON:
        json.dump(document, out, indent=2, ensure_ascii=False)
        out.write("\n")
    else:
        out.writelines(line + "\n" for line in _lines(document, ""))


def _lines(value: Any, indent: str) -> Iterator[str]:
    if isinstance(value, Mapping):
        for key, one in value.items():
            yield from _entry(f"{indent}{_scalar(key)}:", one, indent)
    else:
        for one in value:
            if isinstance(one, Mapping | list | tuple) and one:
                first, *rest = _lines(one, indent + "  ")
                yield f"{indent}- {first[len(indent) + 2 :]}"
                yield from rest
            else:
                yield f"{indent}- {_scalar(one)}"


def _entry(head: str, value: Any, indent: str) -> Iterator[str]:
    if isinstance(value, Mapping | list | tuple) and value:
        yield head
        yield from _lines(value, indent + "  ")
    else:
        yield f"{head} {_scalar(value)}"


def _scalar(value: Any) -> str:
    if isinstance(value, str) and _PLAIN.fullmatch(value) and value.lower() not in _WORDS:
        return value
    return json.dumps(value)
