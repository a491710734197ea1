"""Writes an answer for programs: JSON, or YAML with the same content, but of `evictd advise`. One document a command."""

import argparse
import json
from collections.abc import Mapping
from typing import Any, TextIO

TABLE, JSON, YAML = "table", "json", "yaml"
"""The forms of `--output`; a table is for people."""


def add_output_argument(parser: argparse.ArgumentParser, *more: str, note: str = "") -> None:
    """Add `--output`, with forms of the command's own."""
    parser.add_argument(
        "--output", choices=(TABLE, JSON, YAML, *more), default=TABLE, help=f"format of the output{note}"
    )


def write_document(document: Mapping[str, Any], form: str, out: TextIO) -> None:
    """Write the document as JSON or YAML."""
    if form == JSON:
        json.dump(document, out, indent=2)  # in ASCII: a terminal acts on U+009B and on marks of direction
        out.write("\n")
    else:
        from evictd.config.file import dump_yaml  # noqa: PLC0415 - `status` needs none of the configuration otherwise

        out.write(dump_yaml(document))
