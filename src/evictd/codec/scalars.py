"""Reads the parts of plain JSON values strictly: numbers, texts, enums, quantities, lists and objects.

Integers are those of the wire (int64), texts are UTF-8, a float is its hexadecimal text.
"""

from collections.abc import Callable, Mapping
from enum import Enum
from typing import Any

from evictd.core.model.problem import shown
from evictd.core.units.quantity import MAX_INT64, Quantity, parse_quantity
from evictd.errors import InputError, InvalidValueError

Plain = dict[str, Any]
Convert = Callable[[Any], Any]


class MismatchError(Exception):
    """A part is not of its type; `where` is its path, put together on the way out."""

    def __init__(self, message: str, where: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.where = where

    def within(self, place: str) -> "MismatchError":
        """Return the same error with the place of the part in front."""
        return MismatchError(self.message, place + self.where)


def a_list(plain: Any) -> list[Any]:
    """Return the value if it is a list; raises `MismatchError`."""
    if not isinstance(plain, list):
        raise wrong("a list", plain)
    return plain


def an_object(plain: Any) -> Plain:
    """Return the value if it is an object; raises `MismatchError`."""
    if not isinstance(plain, dict):
        raise wrong("an object", plain)
    return plain


def a_pair(plain: Any) -> list[Any]:
    """Return the value if it is a list of two; raises `MismatchError`."""
    if len(a_list(plain)) != 2:
        raise wrong("a list of two", plain)
    return a_list(plain)


def wrong(want: str, plain: Any) -> MismatchError:
    """Return the error for a value of another type than the wanted one."""
    return MismatchError(f"want {want}, found {found_text(plain)}")


def found_text(plain: Any) -> str:
    """Return what to show of a value in a message: a text in short, of anything else its type."""
    return shown(plain) if isinstance(plain, str) else type(plain).__name__


def signed_64(value: int | None) -> int | None:
    """Convert an unsigned number of 64 bits as Go's `int64(x)` does; raises `InvalidValueError` for a longer number."""
    if value is not None and not -(2**63) <= value < 2**64:
        raise InvalidValueError("a number has more than 64 bits")
    return value - 2**64 if value is not None and value >= 2**63 else value


def unsigned_64(value: int | None) -> int | None:
    """Convert back a number that `signed_64` has converted."""
    return value + 2**64 if value is not None and value < 0 else value


def is_unicode(text: str) -> bool:
    """Whether a text can be written: JSON can hold half of a surrogate pair, and no protocol that the text would go to."""
    return text.isascii() or not any("\ud800" <= each <= "\udfff" for each in text)


def check_texts(plain: Any, path: str) -> None:
    """Raise `InputError` if any text in the value is not UTF-8; for values of other decoders."""
    try:
        _check_texts(plain)
    except (MismatchError, RecursionError) as error:
        raise InputError(f"{path}: {error}") from error


def _check_texts(plain: Any) -> None:
    if isinstance(plain, str):
        _text(plain)
    elif isinstance(plain, dict):
        for key, item in plain.items():
            _text(key)
            _check_texts(item)
    elif isinstance(plain, list):
        for item in plain:
            _check_texts(item)


def as_it_is(value: Any) -> Any:
    """Return the value."""
    return value


def enum_decoder(kind: type[Enum]) -> Convert:
    """Return what reads members of an enum by their values."""
    by_value = {each.value: each for each in kind}

    def decode(plain: Any) -> Enum:
        if not isinstance(plain, str) or plain not in by_value:
            raise wrong(f"a {kind.__name__}", plain)
        return by_value[plain]

    return decode


def _int(plain: Any) -> int:
    if type(plain) is not int or not -MAX_INT64 - 1 <= plain <= MAX_INT64:
        raise wrong("an integer of 64 bits", plain)
    return plain


def _text(plain: Any) -> str:
    if type(plain) is not str or not (plain.isascii() or is_unicode(plain)):  # in most cases without a call
        raise wrong("a text", plain)
    return plain


def _bool(plain: Any) -> bool:
    if type(plain) is not bool:
        raise wrong("true or false", plain)
    return plain


def _float(plain: Any) -> float:
    try:
        return float.fromhex(_text(plain))
    except (ValueError, OverflowError) as error:
        raise wrong("a number in hexadecimal", plain) from error


def _quantity(plain: Any) -> Quantity:
    try:
        return parse_quantity(_text(plain))
    except InvalidValueError as error:
        raise MismatchError(f"{found_text(plain)} {error}") from error


SCALARS: Mapping[Any, Convert] = {
    int: _int,
    str: _text,
    bool: _bool,
    float: _float,
    Quantity: _quantity,
    object: as_it_is,
    Any: as_it_is,
}
"""Readers by declared type."""
