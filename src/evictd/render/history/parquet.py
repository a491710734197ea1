"""Writes a history as Parquet, for DuckDB, Spark or pandas; pyarrow is the optional extra `fleet`."""

import importlib
import importlib.util
import json
from collections.abc import Sequence
from typing import Any, BinaryIO

from evictd.codec.times import parse_time
from evictd.errors import InputError, missing_package
from evictd.render.history.history import HistoryEvent


def write_parquet(events: Sequence[HistoryEvent], out: BinaryIO) -> None:
    """Write one row an event; `evidence` is JSON, because its fields differ by kind. Raises `InputError` without pyarrow."""
    if importlib.util.find_spec("pyarrow") is None:
        raise InputError(f"--output parquet: {missing_package('pyarrow', 'fleet')}")
    arrow: Any = importlib.import_module("pyarrow")
    text = arrow.string()
    columns: dict[str, tuple[Any, list[Any]]] = {
        "at": (arrow.timestamp("us", tz="UTC"), [parse_time(event.at) // 1000 for event in events]),
        "kind": (text, [event.kind.value for event in events]),
        "pod": (text, [event.pod for event in events]),
        "uid": (text, [event.uid for event in events]),
        "dry_run": (arrow.bool_(), [event.dry_run for event in events]),
        "text": (text, [event.text for event in events]),
        "evidence": (text, [json.dumps(dict(event.evidence)) for event in events]),
    }
    table = arrow.table({name: arrow.array(values, kind) for name, (kind, values) in columns.items()})
    importlib.import_module("pyarrow.parquet").write_table(table, out)
