"""Decodes a document into its type strictly and reports all faults together.

The types are msgspec structs, read through `msgspec.inspect`, because `msgspec.convert` stops at the first fault.
An unknown field is a fault, a `null` is an absent field, as in the kubelet's strict decoding.
"""

import re
import sys
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any, TypeVar

import msgspec
from msgspec import inspect

from evictd.core.model.problem import ConfigProblem, quoted, shown
from evictd.core.units.duration import SECOND, duration_remedy, parse_duration, seconds_remedy
from evictd.core.units.quantity import MAX_INT64, NANO, Quantity, parse_quantity
from evictd.errors import InvalidValueError, most_similar

S = TypeVar("S", bound=msgspec.Struct)

_MISSING = object()
_SMALL = re.compile(r"[0-9.]+[mun]", re.ASCII)
_LEAST = 1024 * NANO
"""From this on an amount in thousandths is taken as meant: Kubernetes writes some so."""
_INDEX = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*", re.ASCII)
_MOST_LISTED = 20
"""The most names that a remedy lists: those of any part of a scenario, a world or an EvictdConfiguration."""


class Duration(int):
    """Nanoseconds, written as a Go duration such as `1m30s`."""


class Size(int):
    """Bytes, written as a quantity such as `16Mi`."""


class Span(int):
    """Nanoseconds, written as a Go duration; none is negative."""


class Amount(int):
    """A count, written as a number or as a quantity such as `1Gi`; none is negative."""


class Rate(int):
    """A count per second, written as an amount per second (`10Mi`, `10Mi/s`), or for a time (`1Gi/10m`); none is negative."""


class Word(str):
    """An unquoted `yes`, `no`, `on` or `off` of YAML 1.1: a boolean for a boolean field, a text elsewhere."""

    __slots__ = ()


def decode(
    cls: type[S], document: object, path: str = "", *, ignored: Collection[str] = ()
) -> tuple[S, list[ConfigProblem]]:
    """Read a mapping into `cls`; a faulty field takes its default and is listed as a problem.

    `ignored` are top-level fields whose value is not read.
    """
    reader = _Reader()
    value = reader.struct(cls, document, path, ignored)
    return value, reader.problems


def unknown(name: str, known: Collection[str], path: str) -> ConfigProblem:
    """Make the problem of an unknown field: the remedy is the most similar known name, or else all names if these are few."""
    meant = most_similar(name, known)
    others = f"give one of {', '.join(known)}" if 0 < len(known) <= _MOST_LISTED else "remove it"
    remedy = f"did you mean {meant}?" if meant else others
    return ConfigProblem(path=path, wrong="unknown field", remedy=remedy, unknown_field=True, meant=meant)


def unknown_fields(
    cls: type[msgspec.Struct],
    document: object,
    path: str = "",
    also: Mapping[type, Collection[str]] = MappingProxyType({}),
) -> Iterator[ConfigProblem]:
    """Yield the problem of each unknown field of a document of the form `cls`; `also` are further names, by struct.

    A struct without fields stands for an object of any form.
    """
    yield from _unknown_below(inspect.type_info(cls), document, path, also)


def _unknown_below(
    kind: inspect.Type, value: object, path: str, also: Mapping[type, Collection[str]]
) -> Iterator[ConfigProblem]:
    kind = unwrap(kind)
    if isinstance(kind, inspect.StructType) and kind.fields and isinstance(value, Mapping):
        fields = {each.encode_name: each.type for each in kind.fields}
        known = [*fields, *also.get(kind.cls, ())]
        for name, below in value.items():
            if name in fields:
                yield from _unknown_below(fields[name], below, at(path, name), also)
            elif name not in known:
                yield unknown(name, known, at(path, name))
    elif isinstance(kind, inspect.DictType) and isinstance(value, Mapping):
        for name, below in value.items():
            yield from _unknown_below(kind.value_type, below, at(path, name), also)
    elif isinstance(kind, inspect.VarTupleType) and isinstance(value, list):
        for index, below in enumerate(value):
            yield from _unknown_below(kind.item_type, below, f"{path}[{index}]", also)


def unwrap(kind: inspect.Type) -> inspect.Type:
    """Strip the description and `None` from a type; a `null` was handled before its type matters."""
    while isinstance(kind, inspect.Metadata):
        kind = kind.type
    if isinstance(kind, inspect.UnionType):
        return unwrap(next(one for one in kind.types if not isinstance(one, inspect.NoneType)))
    return kind


def at(path: str, key: str) -> str:
    """Return the path of the field `key` below `path`."""
    name = shown(key)
    if not _INDEX.fullmatch(name):
        return f"{path}[{name}]"
    return f"{path}.{name}" if path else name


@dataclass(slots=True)
class _Reader:
    problems: list[ConfigProblem] = field(default_factory=list)

    def struct(self, cls: type[S], document: object, path: str, ignored: Collection[str] = ()) -> S:
        if not isinstance(document, Mapping):
            self._wrong(path, document, "is not a map of fields", _fields_remedy(cls, document))
            return cls()
        fields = {one.encode_name: one for one in struct_fields(cls)}
        values = {}
        for name, value in document.items():
            if name in ignored or value is None:
                self._known(name, [*fields, *ignored], path)
            elif name in fields:
                read = self.value(fields[name].type, value, at(path, name))
                if read is not _MISSING:
                    values[fields[name].name] = read
            else:
                self._known(name, [*fields, *ignored], path)
        return cls(**values)

    def value(self, kind: inspect.Type, value: object, path: str) -> Any:
        kind = unwrap(kind)
        if isinstance(kind, inspect.StructType):
            return self.struct(kind.cls, value, path)
        if isinstance(kind, inspect.DictType):
            return self._map(kind, value, path)
        if isinstance(kind, inspect.ListType | inspect.VarTupleType):
            return self._list(kind.item_type, value, path)
        read, remedy = _OF_CPU if _is_cpu(kind, path) else _SCALARS[type(kind)]
        try:
            return read(kind, value)
        except InvalidValueError as error:
            self._wrong(path, value, str(error), _number_remedy(path, value) or remedy(kind, value))
        return _MISSING

    def _map(self, kind: inspect.DictType, value: object, path: str) -> Any:
        if not isinstance(value, Mapping):
            self._wrong(path, value, "is not a map", "write one entry a line, as in `key: value`")
            return _MISSING
        read = {key: self.value(kind.value_type, one, f"{path}[{shown(key)}]") for key, one in value.items()}
        return {key: one for key, one in read.items() if one is not _MISSING}

    def _list(self, kind: inspect.Type, value: object, path: str) -> Any:
        if not isinstance(value, list):
            self._wrong(path, value, "is not a list", "write a list, as in `[a, b]`")
            return _MISSING
        read = [self.value(kind, one, f"{path}[{index}]") for index, one in enumerate(value)]
        return tuple(one for one in read if one is not _MISSING)

    def _known(self, name: str, known: Collection[str], path: str) -> None:
        if name not in known:
            self.problems.append(unknown(name, known, at(path, name)))

    def _wrong(self, path: str, value: object, wrong: str, remedy: str) -> None:
        self.problems.append(ConfigProblem(path=path or "the document", value=_text(value), wrong=wrong, remedy=remedy))


def struct_fields(cls: type[msgspec.Struct]) -> tuple[inspect.Field, ...]:
    """Return the fields of a struct with their types, as msgspec knows them."""
    info = inspect.type_info(cls)
    assert isinstance(info, inspect.StructType)  # noqa: S101 - what a struct class gives
    return info.fields


# --- one value --------------------------------------------------------------------------------------------------------


def _read_bool(_kind: Any, value: object) -> bool:
    if isinstance(value, Word):
        return value.lower() in {"yes", "on"}
    if not isinstance(value, bool):
        raise _kind_error(value, "true or false")
    return value


def _read_int(kind: Any, value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise _kind_error(value, "a whole number")
    if not _in_bounds(kind, value):
        raise InvalidValueError("is out of range")
    return value


def _in_bounds(kind: Any, value: float) -> bool:
    return (kind.ge is None or value >= kind.ge) and (kind.le is None or value <= kind.le)


def _read_float(kind: Any, value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise _kind_error(value, "a number")
    if not -sys.float_info.max <= value <= sys.float_info.max or not _in_bounds(kind, value):
        raise InvalidValueError("is out of range")
    return float(value)


def _read_text(_kind: Any, value: object) -> str:
    if not isinstance(value, str):
        raise _kind_error(value, "a text")
    return value


def _read_enum(kind: Any, value: object) -> Any:
    for member in kind.cls:
        if member.value == value:
            return member
    raise InvalidValueError("is not one of the values" if isinstance(value, str) else f"is {_noun(value)}, not a text")


def _fields_remedy(cls: type[msgspec.Struct], value: object) -> str:
    """Suggest the field that a scalar was meant as, where there is only one."""
    names = [one.encode_name for one in struct_fields(cls)]
    if len(names) == 1 and isinstance(value, str):
        return f"write `{{{names[0]}: {shown(value)}}}`"
    return "write one field a line, as in `name: value`"


def _read_custom(kind: Any, value: object) -> Any:
    if kind.cls not in _CUSTOM:
        return value  # an object of a field that is not read
    return _CUSTOM[kind.cls][0](value)


def _read_duration(value: object) -> Duration:
    if not isinstance(value, str):
        raise _kind_error(value, "a duration")
    return Duration(parse_duration(value))


def _read_size(value: object) -> Size:
    return Size(_in_64_bits(parse_quantity(_read_text(None, value))))


def _read_amount(value: object) -> Amount:
    amount = _read_cpu(None, value)
    nano = parse_quantity(str(value)).nano
    if 0 < nano < NANO or (_SMALL.fullmatch(str(value)) and 0 < nano < _LEAST):
        raise InvalidValueError("is less than one" if nano < NANO else "is an amount in thousandths")
    return amount


def _read_cpu(_kind: Any, value: object) -> Amount:
    """Read an amount of CPU, which `m` is usual for."""
    if isinstance(value, bool) or not isinstance(value, str | int):
        raise _kind_error(value, "an amount")
    return Amount(_not_negative(_in_64_bits(parse_quantity(str(value)))))


def _in_64_bits(quantity: Quantity) -> int:
    """Return a quantity as a whole number; raises `InvalidValueError` where its `value` would wrap around."""
    if abs(quantity.nano) > MAX_INT64 * NANO:
        raise InvalidValueError("is out of range")
    return quantity.value()


def _is_cpu(kind: inspect.Type, path: str) -> bool:
    return isinstance(kind, inspect.CustomType) and kind.cls is Amount and path.endswith("[cpu]")


def _amount_remedy(text: str) -> str:
    """Suggest the unit that a small one was meant as: `80m` is eight hundredths."""
    number, slash, over = text.partition("/")
    return f"did you mean {number[:-1]}Mi{slash}{over}?" if _SMALL.fullmatch(number) and number[-1] == "m" else ""


def _read_rate(value: object) -> Rate:
    text, _, over = str(value).partition("/")
    each = _read_amount(value if isinstance(value, int) else text)
    span = parse_duration(over if over[:1].isdigit() else f"1{over}") if over else SECOND
    if span <= 0:
        raise InvalidValueError("is an amount for no time")
    rate = each * SECOND // span
    if each and not rate:
        raise InvalidValueError("is less than one in a second")
    return Rate(rate)


def _not_negative(number: int) -> int:
    if number < 0:
        raise InvalidValueError("is negative")
    return number


_CUSTOM: Mapping[type, tuple[Callable[[object], Any], Callable[[str], str]]] = {
    Duration: (_read_duration, duration_remedy),
    Size: (_read_size, lambda _: "give an amount such as 16Mi"),
    Path: (lambda value: Path(_read_text(None, value)), lambda _: "give an absolute path"),
    Span: (
        lambda value: Span(_not_negative(_read_duration(value))),
        lambda text: duration_remedy(text.removeprefix("-")),
    ),
    Amount: (_read_amount, lambda text: _amount_remedy(text) or "give an amount such as 500Mi"),
    Rate: (
        _read_rate,
        lambda text: _amount_remedy(text) or "give an amount per second, such as 50Mi, or for a time, such as 1Gi/10m",
    ),
}
"""The scalars of our own: how each is read, and what a faulty one should look like."""


def _custom_remedy(kind: Any, value: object) -> str:
    return _CUSTOM[kind.cls][1](str(value)) if kind.cls in _CUSTOM else ""


def _kind_error(value: object, wanted: str) -> InvalidValueError:
    return InvalidValueError(f"is {_noun(value)}, not {wanted}")


def _int_remedy(kind: Any, value: object) -> str:
    return seconds_remedy(str(value)) or f"give a whole number{_bounds(kind)}"


def _bounds(kind: Any) -> str:
    return "" if kind.ge is None or kind.le is None else f" from {kind.ge} to {kind.le}"


def _text_remedy(_kind: Any, value: object) -> str:
    return f'write it in quotes, as in "{_text(value)}"' if isinstance(value, bool | int | float) else "write one text"


_WHOLE = 100
"""The most percent that a threshold can have."""
_THRESHOLDS = ("evictionHard[", "evictionSoft[", "evictionMinimumReclaim[")


def _number_remedy(path: str, value: object) -> str:
    """Suggest what a bare number in a map of texts was meant as: in quotes alone it would be bytes, or no duration."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return ""
    number = _text(value)
    if path.startswith(_THRESHOLDS) and 0 < value < 1:
        return f'write a percentage, such as "{value * _WHOLE:.6g}%"; "{number}" is less than one'
    if path.startswith("pressure[") and path.endswith("].above") and 0 < value <= _WHOLE:
        return f'write a percentage, such as "{value * (_WHOLE if value < 1 else 1):.6g}%"'
    if isinstance(value, int) and path.startswith("evictionSoftGracePeriod["):
        return duration_remedy(number)
    if path.startswith(_THRESHOLDS) and path.endswith(".available]") and not path.endswith("[pid.available]"):
        percent = f' or "{number}%"' if value <= _WHOLE else ""
        return f'write it with its unit, such as "{number}Mi"{percent}; "{number}" alone is {number} bytes'
    return ""


_Read = tuple[Callable[[Any, object], Any], Callable[[Any, object], str]]
_SCALARS: Mapping[type[inspect.Type], _Read] = {
    inspect.BoolType: (_read_bool, lambda *_: "write true or false, without quotes"),
    inspect.IntType: (_read_int, _int_remedy),
    inspect.FloatType: (_read_float, lambda kind, _: f"give a number{_bounds(kind) or ' such as 0.9'}"),
    inspect.StrType: (_read_text, _text_remedy),
    inspect.EnumType: (_read_enum, lambda kind, _: "give one of " + ", ".join(m.value for m in kind.cls)),
    inspect.CustomType: (_read_custom, _custom_remedy),
    inspect.AnyType: (lambda _, value: value, lambda *_: ""),
}
_OF_CPU: _Read = (_read_cpu, _custom_remedy)
"""Of the amount with the key `cpu`."""


def _noun(value: object) -> str:
    number = dict.fromkeys((int, float), "a number")
    nouns: dict[type, str] = {bool: "a truth value", **number, str: "a text", list: "a list", dict: "a map"}
    return nouns.get(type(value), "nothing" if value is None else "something else")


def _text(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return quoted(value)
    return "{...}" if isinstance(value, dict) else "[...]" if isinstance(value, list) else shown(str(value))
