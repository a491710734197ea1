"""Parts of plain values; `test_plain` has them in objects."""

import math

import pytest

from evictd.codec.scalars import SCALARS, MismatchError, a_pair, check_texts, found_text, signed_64
from evictd.core.units.quantity import Quantity
from evictd.errors import InputError, InvalidValueError


@pytest.mark.parametrize(
    ("kind", "plain"),
    [
        (int, True), (int, 1.0), (int, 1 << 63), (int, -(1 << 63) - 1), (int, "1"), (int, None),
        (str, 1), (str, "\ud800"), (str, b""),
        (bool, 0), (bool, "true"), (bool, None),
        (float, 0.5), (float, "0x1p99999"), (float, "x"),
        (Quantity, 1), (Quantity, "1GB"), (Quantity, "\ud800"),
    ],
)  # fmt: skip
def test_a_value_of_another_type_is_refused(kind: type, plain: object) -> None:
    with pytest.raises(MismatchError):
        SCALARS[kind](plain)


def test_values_are_read() -> None:
    assert SCALARS[int](-(1 << 63)) == -(1 << 63)
    assert SCALARS[str]("\u00e9") == "\u00e9"
    assert SCALARS[bool](False) is False
    assert SCALARS[float]("0x1p-1") == 0.5
    assert math.isnan(SCALARS[float]("nan"))
    assert SCALARS[float]("inf") == math.inf
    assert str(SCALARS[Quantity]("1Gi")) == "1Gi"
    assert a_pair([1, 2]) == [1, 2]


def test_a_message_shows_no_more_than_a_line_of_a_text() -> None:
    assert found_text("red") == "red"
    assert len(found_text("x\n" * 1000)) < 200
    assert "\n" not in found_text("x\n")
    assert found_text([1]) == "list"


def test_a_text_that_is_not_utf_8_is_found_anywhere() -> None:
    check_texts({"a": ["\u00e9", {"b": 1}, None]}, "pod")
    deep: list[object] = []
    for _ in range(100_000):
        deep = [deep]
    for plain in ("\ud800", ["a", "\ud800"], {"a": {"b": "\udfff"}}, {"\ud800": 1}, deep):
        with pytest.raises(InputError, match=r"^pod: "):
            check_texts(plain, "pod")


def test_a_number_without_sign_is_converted_as_by_go() -> None:
    assert [signed_64(value) for value in (None, 0, 2**63 - 1, 2**63, 2**64 - 1, -1)] == [
        None,
        0,
        2**63 - 1,
        -(2**63),
        -1,
        -1,
    ]
    for value in (2**64, -(2**63) - 1):
        with pytest.raises(InvalidValueError):
            signed_64(value)
