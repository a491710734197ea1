"""Reads a document of which parts are unreadable, or not needed.

A pod with a malformed size limit or toleration still runs, uses memory and can be evicted. If the whole pod were left out, it
would be no candidate, and another pod would be evicted in its place.
"""

import json
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin

import msgspec

from evictd.codec.pods.pod_wire import WireQuantity
from evictd.codec.scalars import is_unicode
from evictd.core.model.problem import shown
from evictd.core.units.quantity import parse_quantity
from evictd.errors import InvalidValueError

_ABSENT = object()
_MAX_INT_DIGITS = 20
_OBJECT = msgspec.json.Decoder(dict[str, msgspec.Raw])
_TEXT = msgspec.json.Decoder(str)


def plain_values(data: bytes) -> object:
    """Read JSON into plain values; numbers too large for any field stay texts. Raises `ValueError` or `RecursionError`."""
    text = data.decode("utf-8", errors="replace")
    return json.loads(text, parse_float=str, parse_int=lambda text: int(text) if len(text) <= _MAX_INT_DIGITS else text)


def readable(kind: Any, document: object) -> tuple[object, tuple[str, ...]]:
    """Return the part of a document that converts to the type `kind`, and the paths of the parts removed."""
    dropped: list[str] = []
    kept = _prune(kind, document, "", dropped)
    return ({} if kept is _ABSENT else kept), tuple(dropped)


def _prune(kind: Any, value: object, path: str, dropped: list[str]) -> object:
    optional = NoneType in get_args(kind)
    kind = _without_none(kind)
    if (optional and value is None) or _fits(kind, value):
        return value
    if isinstance(value, dict) and isinstance(kind, type) and issubclass(kind, msgspec.Struct):
        fields = {field.encode_name: field.type for field in msgspec.structs.fields(kind)}
        return _entries({name: value[name] for name in fields if name in value}, fields.__getitem__, path, dropped)
    if isinstance(value, dict) and get_origin(kind) is dict:
        item = get_args(kind)[1]
        return _entries(value, lambda _: item, path, dropped)
    if isinstance(value, list) and get_origin(kind) is tuple:
        item = get_args(kind)[0]
        kept = (_prune(item, one, f"{path}[{index}]", dropped) for index, one in enumerate(value))
        return [one for one in kept if one is not _ABSENT]
    dropped.append(path or "the document")
    return _ABSENT


def _entries(values: dict[str, Any], kind_of: Any, path: str, dropped: list[str]) -> dict[str, object]:
    below = {name: f"{path}.{shown(name)}".removeprefix(".") for name in values}
    dropped.extend(below[name] for name in values if not is_unicode(name))
    kept = {name: _prune(kind_of(name), one, below[name], dropped) for name, one in values.items() if is_unicode(name)}
    return {name: one for name, one in kept.items() if one is not _ABSENT}


def _without_none(kind: Any) -> Any:
    """Return the type of a field without its `None`; a union of more than one other type stays one."""
    if get_origin(kind) not in {Union, UnionType}:
        return kind
    return Union[tuple(one for one in get_args(kind) if one is not NoneType)]  # noqa: UP007 - built from a tuple


def _fits(kind: Any, value: object) -> bool:
    """Whether a scalar value converts to the type; containers do not, because a malformed quantity may be inside."""
    if kind == WireQuantity:
        return isinstance(value, str | int) and not isinstance(value, bool) and _is_quantity(str(value).strip(" "))
    if isinstance(value, dict | list):
        return False  # checked item by item, because a quantity may be inside
    if isinstance(value, str) and not is_unicode(value):
        return False
    try:
        msgspec.convert(value, kind)
    except (msgspec.ValidationError, ValueError):
        return False
    return True


def _is_quantity(text: str) -> bool:
    try:
        parse_quantity(text)
    except InvalidValueError:
        return False
    return True


def text_at(text: str, *keys: str) -> str:
    """Return the string below these keys of a JSON text; empty if it has another form.

    Only the objects on the way are read: the rest may be all labels and environment variables of a pod.
    """
    raw: str | msgspec.Raw = text
    try:
        for key in keys:
            raw = _OBJECT.decode(raw)[key]
        return _TEXT.decode(raw)
    except (KeyError, ValueError, RecursionError):
        return ""
