"""Generates the JSON Schema of both documents from their types, for editors and CI checks.

`python -m evictd.config.schema` prints the content of config/evictd.schema.json, with `--world` that of config/world.schema.json.
`kind` selects the document, so that one schema serves both documents of a file.
"""

import json
import sys
from enum import Enum
from pathlib import Path
from typing import Any

import msgspec
from msgspec import inspect

from evictd.codec import world_fields
from evictd.codec.config import evictd_config, kubelet_fields
from evictd.codec.config.evictd_config import EvictdConfiguration
from evictd.codec.config.kubelet_fields import IGNORED_FIELDS, KubeletConfiguration
from evictd.codec.strict import Amount, Duration, Rate, Size, Span, struct_fields, unwrap
from evictd.codec.world_fields import WorldFields
from evictd.core.model.signal import SIGNALS, Signal
from evictd.core.units.duration import format_duration
from evictd.core.units.quantity import of_bytes

Schema = dict[str, Any]

_DURATION = r"^[+-]?(0|((\d+\.?\d*|\.\d+)(ns|us|µs|μs|ms|s|m|h))+)$"
_THRESHOLDS = {"evictionHard", "evictionSoft", "evictionSoftGracePeriod", "evictionMinimumReclaim"}


def json_schema() -> Schema:
    """Build the schema of a document of either kind."""
    kubelet = _document(KubeletConfiguration, kubelet_fields.API_VERSION, kubelet_fields.KIND)
    kubelet["properties"] |= {name: {"description": "Accepted and ignored."} for name in sorted(IGNORED_FIELDS)}
    evictd = _document(EvictdConfiguration, evictd_config.API_VERSION, evictd_config.KIND)
    kinds = {kubelet_fields.KIND: kubelet, evictd_config.KIND: evictd}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "evictd configuration",
        "description": "One document of the file: the kubelet's own configuration, or evictd's.",
        "type": "object",
        "required": ["apiVersion", "kind"],
        "properties": {"kind": {"enum": list(kinds)}},
        "allOf": [
            {"if": {"properties": {"kind": {"const": kind}}}, "then": {"$ref": f"#/$defs/{kind}"}} for kind in kinds
        ],
        "$defs": kinds,
    }


def world_schema() -> Schema:
    """Build the schema of a world file."""
    schema = _struct(WorldFields)
    schema["properties"]["kind"] = {"const": world_fields.KIND}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "evictd world",
        **schema,
        "required": ["kind"],
    }


def _document(cls: type[msgspec.Struct], api_version: str, kind: str) -> Schema:
    schema = _struct(cls)
    schema["required"] = ["apiVersion", "kind"]
    schema["properties"] = {"apiVersion": {"const": api_version}, "kind": {"const": kind}, **schema["properties"]}
    return schema


def _struct(cls: type[msgspec.Struct]) -> Schema:
    properties = {}
    for field in struct_fields(cls):
        schema = _type(field.type) | _description(field.type)
        if field.encode_name in _THRESHOLDS:
            schema["propertyNames"] = {"enum": [signal.value for signal in Signal if not SIGNALS[signal].own]}
        default = _default(field)
        if default is not None:
            schema["default"] = default
        properties[field.encode_name] = schema
    return {
        "type": "object",
        "description": (cls.__doc__ or "").strip(),
        "additionalProperties": False,
        "properties": properties,
    }


def _default(field: inspect.Field) -> Any:
    default = field.default
    if isinstance(default, Duration | Span):
        return format_duration(default)
    if isinstance(default, Size):
        return str(of_bytes(default))
    if isinstance(default, Path):
        return str(default)
    if isinstance(default, Enum):
        return default.value
    if isinstance(default, tuple):
        return list(default)
    return default if isinstance(default, bool | int | float | str) else None


def _description(kind: inspect.Type) -> Schema:
    extra = kind.extra_json_schema if isinstance(kind, inspect.Metadata) else None
    return {"description": extra["description"]} if extra else {}


def _type(kind: inspect.Type) -> Schema:
    kind = unwrap(kind)
    if isinstance(kind, inspect.StructType):
        return _struct(kind.cls)
    if isinstance(kind, inspect.DictType):
        return {"type": "object", "additionalProperties": _type(kind.value_type)}
    if isinstance(kind, inspect.VarTupleType):
        return {"type": "array", "items": _type(kind.item_type)}
    if isinstance(kind, inspect.IntType | inspect.FloatType):
        bounds = {"minimum": kind.ge, "maximum": kind.le}
        of = "integer" if isinstance(kind, inspect.IntType) else "number"
        return {"type": of, **{name: bound for name, bound in bounds.items() if bound is not None}}
    if isinstance(kind, inspect.EnumType):
        return {"enum": [member.value for member in kind.cls]}
    if isinstance(kind, inspect.CustomType):
        return _CUSTOM[kind.cls]
    if isinstance(kind, inspect.AnyType):
        return {}
    return {"type": _NAMES[type(kind)]}


_CUSTOM: dict[type, Schema] = {
    Duration: {"type": "string", "pattern": _DURATION},
    Span: {"type": "string", "pattern": _DURATION.replace("[+-]?", "")},
    Size: {"type": "string"},
    Path: {"type": "string"},
    Amount: {"type": ["string", "integer"], "minimum": 0},
    Rate: {"type": ["string", "integer"], "minimum": 0},
}
_NAMES = {inspect.BoolType: "boolean", inspect.StrType: "string"}


def dump_schema(schema: Schema | None = None) -> str:
    """Format the schema of the configuration as config/evictd.schema.json, or another one."""
    return json.dumps(json_schema() if schema is None else schema, indent=2, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    sys.stdout.write(dump_schema(world_schema() if "--world" in sys.argv else None))
