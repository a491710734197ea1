"""Converts values of the core to plain JSON values and back, by the types that their classes declare.

The rule: a dataclass or named tuple is an object with camelCase keys, an enum its value, a quantity its text, a float its
hexadecimal text (exact, and it can be NaN), a set a sorted list, a mapping whose keys are not texts a list of pairs. A value of
a union of classes carries a tag that names its class. So a field that is added to a class needs no code here.

Where the public form of a class differs from the rule, a `View` says how. Reading is strict: every part is checked against its
declared type (`codec.scalars`). Two things are allowed, so that files of an earlier and
of a later evictd are read: a field that has a default may be missing, and unknown keys are ignored.

Encoders and decoders are put together once for each type and kept: a state is encoded in every cycle.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import MISSING, field, fields, is_dataclass
from enum import Enum
from functools import reduce
from operator import attrgetter, or_
from types import NoneType, UnionType
from typing import Any, NamedTuple, Union, get_args, get_origin, get_type_hints

from evictd.codec.scalars import (
    SCALARS,
    Convert,
    MismatchError,
    Plain,
    a_list,
    a_pair,
    an_object,
    as_it_is,
    enum_decoder,
    found_text,
)
from evictd.core.frozen import frozen
from evictd.core.units.quantity import Quantity
from evictd.errors import InputError, InvalidValueError


@frozen
class View:
    """The exceptions in the plain form of one class."""

    keys: Mapping[str, str] = field(default_factory=dict)
    """Keys by field, where they are not the field's name in camelCase."""
    brief: frozenset[str] = frozenset()
    """Fields that are not written where they are their default, which is `None`, `True` or `False`."""
    apart: frozenset[str] = frozenset()
    """Fields that are neither written nor read: `Form.decode` is given them, or they have a default."""
    tag: tuple[str, str] | None = None
    """Key and value that name the class in a union, where they are not `kind` and the name of the class."""
    also: Callable[[Any], Plain] | None = None
    """Makes keys that are written beside the fields, and not read."""
    encode: Convert | None = None
    """Writes the whole value, in place of the rule."""
    decode: Convert | None = None
    """Reads the whole value, in place of the rule; raises `InputError` or `InvalidValueError`."""


class _Field(NamedTuple):
    name: str
    key: str
    kind: Any
    """The declared type; of an optional field that of its value."""
    default: Any
    """`MISSING` where a value must be given."""
    optional: bool


class Form:
    """One plain form of all values: the rule, and the views of the classes that differ from it."""

    def __init__(self, views: Mapping[type, View]) -> None:
        self.views = views
        self._encoders: dict[Any, Convert | None] = {}
        self._decoders: dict[Any, Convert] = {}

    def encode(self, kind: Any, value: Any) -> Any:
        """Return the plain form of a value whose declared type is `kind`."""
        encode = self._encoder(kind)
        return value if encode is None else encode(value)

    def decode(self, kind: Any, plain: Any, path: str, **given: Any) -> Any:
        """Return the value of the declared type; `given` are the fields that its view sets apart.

        Raises `InputError` with `path` and the place of the first part that is not of its type.
        """
        try:
            return self._record_decoder(kind)(plain, given) if given else self._decoder(kind)(plain)
        except MismatchError as error:
            where = error.where.removeprefix(".")
            raise InputError(f"{path}: {where}: {error.message}" if where else f"{path}: {error.message}") from error

    def _view(self, kind: Any) -> View:
        return self.views.get(kind, _AS_DECLARED) if isinstance(kind, type) else _AS_DECLARED

    # --- encoding -----------------------------------------------------------------------------------------------------

    def _encoder(self, kind: Any) -> Convert | None:
        """Return how values of a type are written; `None`: as they are."""
        if kind not in self._encoders:
            self._encoders[kind] = self._make_encoder(kind)
        return self._encoders[kind]

    def _make_encoder(self, kind: Any) -> Convert | None:
        origin, arguments, view = get_origin(kind), get_args(kind), self._view(kind)
        if view.encode is not None:
            return view.encode
        if origin in {Union, UnionType}:
            return self._union_encoder([each for each in arguments if each is not NoneType])
        if origin is not None:
            return self._container_encoder(origin, arguments)
        if isinstance(kind, type) and issubclass(kind, Enum):
            return attrgetter("_value_")
        if kind is Quantity:
            return attrgetter("exact_text")
        if kind is float:
            return float.hex
        return self._record_encoder(kind) if _has_fields(kind) else None

    def _union_encoder(self, kinds: Sequence[Any]) -> Convert | None:
        if len(kinds) == 1:
            encode_one = self._encoder(kinds[0])
            return None if encode_one is None else _unless_none(encode_one)
        tagged = {kind: (_tag(kind, self._view(kind)), self._record_encoder(kind)) for kind in kinds}

        def encode(value: Any) -> Any:
            (key, name), encode_fields = tagged[type(value)]
            return {key: name, **encode_fields(value)}

        return encode

    def _container_encoder(self, origin: Any, arguments: tuple[Any, ...]) -> Convert:
        if issubclass(origin, Mapping):
            return self._mapping_encoder(*arguments)
        encode = self._encoder(arguments[0])
        if issubclass(origin, frozenset):
            return sorted if encode is None else lambda value: sorted(map(encode, value))
        return list if encode is None else lambda value: list(map(encode, value))

    def _mapping_encoder(self, key_kind: Any, item_kind: Any) -> Convert:
        encode_key, encode_item = self._encoder(key_kind), self._encoder(item_kind)
        made = dict if _is_key(key_kind) else _pairs
        if encode_key is None and encode_item is None:
            return lambda value: made(value.items())
        encode_key, encode_item = encode_key or as_it_is, encode_item or as_it_is
        return lambda value: made(zip(map(encode_key, value), map(encode_item, value.values()), strict=True))

    def _record_encoder(self, kind: Any) -> Convert:
        view = self._view(kind)
        parts = _fields(kind, view)
        converts = [
            (each.name, each.key, self._encoder(each.kind), each.default if each.name in view.brief else _ALWAYS)
            for each in parts
        ]
        also = view.also

        def encode(value: Any) -> Plain:
            plain: Plain = {}
            for name, key, convert, left_out in converts:
                item = getattr(value, name)
                if item is not left_out:
                    plain[key] = item if convert is None or item is None else convert(item)
            return plain if also is None else plain | also(value)

        return encode

    # --- decoding -----------------------------------------------------------------------------------------------------

    def _decoder(self, kind: Any) -> Convert:
        if kind not in self._decoders:
            self._decoders[kind] = self._make_decoder(kind)
        return self._decoders[kind]

    def _make_decoder(self, kind: Any) -> Convert:
        origin, arguments, view = get_origin(kind), get_args(kind), self._view(kind)
        if view.decode is not None:
            return _mapped(view.decode)
        if kind in SCALARS:
            return SCALARS[kind]
        if origin in {Union, UnionType}:
            return self._union_decoder(arguments)
        if origin is not None:
            return self._container_decoder(origin, arguments)
        if issubclass(kind, Enum):
            return enum_decoder(kind)
        return self._record_decoder(kind)

    def _union_decoder(self, arguments: tuple[Any, ...]) -> Convert:
        kinds = [each for each in arguments if each is not NoneType]
        if len(kinds) > 1:
            return self._tagged_decoder(kinds)
        return _unless_none(self._decoder(kinds[0]))

    def _tagged_decoder(self, kinds: Sequence[Any]) -> Convert:
        [key] = {_tag(kind, self._view(kind))[0] for kind in kinds}
        by_name = {_tag(kind, self._view(kind))[1]: self._decoder(kind) for kind in kinds}

        def decode(plain: Any) -> Any:
            name = an_object(plain).get(key)
            if not isinstance(name, str) or name not in by_name:
                raise MismatchError(f"want one of {', '.join(by_name)}, found {found_text(name)}", f".{key}")
            return by_name[name](plain)

        return decode

    def _container_decoder(self, origin: Any, arguments: tuple[Any, ...]) -> Convert:
        if issubclass(origin, Mapping):
            return self._mapping_decoder(*arguments)
        decode = self._decoder(arguments[0])
        return lambda plain: origin(_each(decode, plain))

    def _mapping_decoder(self, key_kind: Any, item_kind: Any) -> Convert:
        decode_key, decode_item = self._decoder(key_kind), self._decoder(item_kind)

        def decode(plain: Any) -> dict[Any, Any]:
            pairs = list(an_object(plain).items()) if _is_key(key_kind) else [a_pair(each) for each in a_list(plain)]
            return {decode_key(key): _at(f"[{found_text(key)}]", decode_item, item) for key, item in pairs}

        return decode

    def _record_decoder(self, kind: Any) -> Callable[..., Any]:
        parts = [
            (name, key, _unless_none(self._decoder(of)) if optional else self._decoder(of), default is MISSING)
            for name, key, of, default, optional in _fields(kind, self._view(kind))
        ]

        def decode(plain: Any, given: Mapping[str, Any] = _NOTHING) -> Any:
            found, values = an_object(plain), dict(given)
            for name, key, convert, required in parts:
                if key in found:
                    values[name] = _at(f".{key}", convert, found[key])
                elif required:
                    raise MismatchError("is missing", f".{key}")
            return kind(**values)

        return decode


_AS_DECLARED = View()
_ALWAYS = object()
"""Default of a field that is always written."""
_NOTHING: Mapping[str, Any] = {}


def _has_fields(kind: Any) -> bool:
    return is_dataclass(kind) or hasattr(kind, "_fields")


def _fields(kind: Any, view: View) -> list[_Field]:
    hints = get_type_hints(kind)
    if is_dataclass(kind):
        defaults = {each.name: _default(each) for each in fields(kind) if each.init}
    else:
        defaults = {name: kind._field_defaults.get(name, MISSING) for name in kind._fields}
    return [
        _Field(name, view.keys.get(name, camel(name)), *_without_none(hints[name], default))
        for name, default in defaults.items()
        if name not in view.apart
    ]


def _default(of: Any) -> Any:
    return of.default if of.default_factory is MISSING else of.default_factory()


def _without_none(hint: Any, default: Any) -> tuple[Any, Any, bool]:
    """Return the type without `None`, the default, and whether `None` is allowed."""
    if get_origin(hint) in {Union, UnionType} and NoneType in get_args(hint):
        kinds = [each for each in get_args(hint) if each is not NoneType]
        return reduce(or_, kinds), default, True
    return hint, default, False


def camel(name: str) -> str:
    """Return a field's name in camelCase: `in_flight` becomes `inFlight`."""
    first, *rest = name.split("_")
    return first + "".join(part.title() for part in rest)


def _tag(kind: Any, view: View) -> tuple[str, str]:
    return view.tag or ("kind", kind.__name__)


def _is_key(kind: Any) -> bool:
    """Whether values of a type are written as the keys of an object."""
    return isinstance(kind, type) and issubclass(kind, str | Enum)


def _pairs(items: Iterable[tuple[Any, Any]]) -> list[list[Any]]:
    return [[key, item] for key, item in items]


def _unless_none(convert: Convert) -> Convert:
    return lambda value: None if value is None else convert(value)


def _at(place: str, decode: Convert, plain: Any) -> Any:
    try:
        return decode(plain)
    except MismatchError as error:
        raise error.within(place) from error


def _each(decode: Convert, plain: Any) -> list[Any]:
    return [_at(f"[{index}]", decode, each) for index, each in enumerate(a_list(plain))]


def _mapped(decode: Convert) -> Convert:
    def mapped(plain: Any) -> Any:
        try:
            return decode(plain)
        except (InputError, InvalidValueError) as error:
            raise MismatchError(str(error)) from error

    return mapped
