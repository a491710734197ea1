"""How is an answer written for a program: JSON, or YAML with the same content. One document a command."""

import argparse
import json
from collections.abc import Mapping
from typing import Any, TextIO

from evictd.config.file import dump_yaml

TABLE, JSON, YAML = "table", "json", "yaml"


def add_output_argument(parser: argparse.ArgumentParser) -> None:
    """Add `--output`."""
    parser.add_argument("--output", choices=(TABLE, JSON, YAML), default=TABLE, help="how to write the answer")


def write_document(document: Mapping[str, Any], form: str, out: TextIO) -> None:
    """Write the document as JSON or YAML."""
    if form == JSON:
        json.dump(document, out, indent=2, ensure_ascii=False)
        out.write("\n")
    else:
        out.write(dump_yaml(document))
