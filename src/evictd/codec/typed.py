"""Checks that a decoded value has, in every part, the types that its class declares.

Decoders of files that evictd wrote itself copy plain values into the core's classes. In a damaged file a number may be a text,
and the core would raise on it at every start. The check walks dataclasses, named tuples, tuples, mappings and sets by their
annotations, so it covers a field that is added later as well. Integers are those of the wire (int64), texts are UTF-8.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from enum import Enum
from functools import cache
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

from evictd.core.units.quantity import MAX_INT64, Quantity
from evictd.errors import InputError


def check_types(value: object, kind: Any, path: str) -> None:
    """Raise `InputError` with the path of the first part that is not of its declared type `kind`."""
    origin = get_origin(kind)
    if origin in {Union, UnionType}:
        _union(value, get_args(kind), path)
    elif origin is not None:
        _container(value, origin, get_args(kind), path)
    elif kind in _SCALARS:
        if not _SCALARS[kind](value):
            raise _wrong(value, kind, path)
    elif not isinstance(value, kind):
        raise _wrong(value, kind, path)
    elif not issubclass(kind, Enum | Quantity):  # both were made by their own parser
        for name, hint in _hints(kind).items():
            check_types(getattr(value, name), hint, f"{path}.{name}")


def _union(value: object, kinds: tuple[Any, ...], path: str) -> None:
    if value is None and NoneType in kinds:
        return
    rest = [kind for kind in kinds if kind is not NoneType]
    # Of several classes a value can only be the one it is an instance of.
    fitting = [kind for kind in rest if isinstance(kind, type) and isinstance(value, kind)]
    check_types(value, (fitting or rest)[0], path)


def _container(value: object, origin: Any, arguments: tuple[Any, ...], path: str) -> None:
    if not isinstance(value, origin):
        raise _wrong(value, origin, path)
    if isinstance(value, Mapping):
        key_kind, item_kind = arguments
        for key, item in value.items():
            check_types(key, key_kind, f"{path} (key)")
            check_types(item, item_kind, f"{path}[...]")
    else:  # tuple[X, ...] and frozenset[X]
        for item in value:
            check_types(item, arguments[0], f"{path}[...]")


@cache
def _hints(kind: type) -> Mapping[str, Any]:
    """Give the declared fields of a class that has any, with their types."""
    hints = get_type_hints(kind)
    if is_dataclass(kind):
        return {each.name: hints[each.name] for each in fields(kind) if each.init}
    return {name: hints[name] for name in getattr(kind, "_fields", ())}


def _is_text(value: object) -> bool:
    # A lone surrogate can be written in JSON, and in no protocol that the text would go to.
    return isinstance(value, str) and not any("\ud800" <= character <= "\udfff" for character in value)


def _is_int(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and abs(value) <= MAX_INT64


def _is_float(value: object) -> bool:
    return isinstance(value, float) and not math.isinf(value)  # a fraction that is not a number has a meaning


_SCALARS: Mapping[type, Callable[[object], bool]] = {
    int: _is_int,
    float: _is_float,
    str: _is_text,
    bool: lambda value: isinstance(value, bool),
}


def _wrong(value: object, kind: Any, path: str) -> InputError:
    name = getattr(kind, "__name__", str(kind))
    return InputError(f"{path}: want {name}, found {type(value).__name__}")
