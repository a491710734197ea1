"""Writes the table of the kubelet's fields, tests/data/kubelet/fields-VERSION.tsv.

    python -m tools.kubelet_types TYPES.GO VERSION

TYPES.GO is `config/v1beta1/types.go` of k8s.io/kubelet, as published with a version of Kubernetes. The table has the name, the
type and the documented default of each field of KubeletConfiguration; tests compare it with the fields that evictd knows. Only
these facts are taken from the file, not its text.
"""

import hashlib
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

TABLES = Path(__file__).parents[1] / "tests/data/kubelet"
_STRUCT = re.compile(r"^type KubeletConfiguration struct \{\n(.*?)^\}", re.MULTILINE | re.DOTALL)
_FIELD = re.compile(r'\s*\w+\s+(\S+)\s+`json:"(\w+)')
_DEFAULT = re.compile(r"\s*// Default: (.+)")


class Field(NamedTuple):
    """A field as a line of the table has it."""

    name: str
    type: str
    default: str
    """As documented, such as `"5m"`; empty where no default is named."""


def fields(source: str) -> Iterator[Field]:
    """Read the fields of KubeletConfiguration out of the Go source; raises `ValueError` if it has no such type."""
    found = _STRUCT.search(source)
    if found is None:
        raise ValueError("no type KubeletConfiguration in it")
    default = ""
    for line in found[1].splitlines():
        if field := _FIELD.match(line):
            yield Field(field[2], field[1], default)
            default = ""
        elif documented := _DEFAULT.match(line):
            default = documented[1].strip()


def table(source: str) -> str:
    """Return the table as text; its first line has the hash of the source."""
    digest = hashlib.sha256(source.encode()).hexdigest()
    lines = [
        f"# name, type, documented default; from types.go with the SHA-256 {digest}",
        *map("\t".join, fields(source)),
    ]
    return "".join(f"{line.rstrip()}\n" for line in lines)


def read_table(version: str) -> list[Field]:
    """Read the stored table of a version, such as `1.37`."""
    lines = (TABLES / f"fields-{version}.tsv").read_text(encoding="utf-8").splitlines()
    return [Field(*line.split("\t"), *[""] * (2 - line.count("\t"))) for line in lines if not line.startswith("#")]


if __name__ == "__main__":
    TABLES.mkdir(parents=True, exist_ok=True)
    target = TABLES / f"fields-{sys.argv[2]}.tsv"
    target.write_text(table(Path(sys.argv[1]).read_text(encoding="utf-8")), encoding="utf-8")
    print(target)
