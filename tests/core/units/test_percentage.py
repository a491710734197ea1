"""Percentages are read as Go's ParseFloat(text, 32) reads them."""

import math
import struct
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evictd.core.units.percentage import float32, parse_float32, parse_percentage
from evictd.errors import InvalidValueError


def bits(value: float) -> int:
    found: int = struct.unpack("I", struct.pack("f", value))[0]
    return found


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("5", 5.0),
        ("+5", 5.0),
        ("-5", -5.0),
        (".5", 0.5),
        ("5.", 5.0),
        ("1e1", 10.0),
        ("1E-1", struct.unpack("f", struct.pack("f", 0.1))[0]),
        ("0x1p3", 8.0),
        ("13421772.9", 13421773.0),
        ("1e-45", 2.0**-149),
        ("7e-46", 0.0),
        ("0" * 1024, 0.0),
        ("0X1.8P1", 3.0),
        ("0x.8p1", 1.0),
        ("0x_1p0", 1.0),
        ("1_0", 10.0),
        ("1e1_0", 1e10),
        ("inf", math.inf),
        ("+Infinity", math.inf),
        ("-INF", -math.inf),
        ("3.4028235e38", 3.4028234663852886e38),
        ("1e-46", 0.0),
        ("1e-99999999999999999999", 0.0),
        ("0e99999999999999999999", 0.0),
        ("16777217", 16777216.0),
        ("16777219", 16777220.0),
        ("-0", -0.0),
    ],
)
def test_the_syntax_of_go_is_accepted(text: str, value: float) -> None:
    assert bits(parse_float32(text)) == bits(value)


def test_nan_has_no_sign() -> None:
    assert math.isnan(parse_float32("NaN"))
    with pytest.raises(InvalidValueError):
        parse_float32("+nan")


@pytest.mark.parametrize(
    "text",
    [
        "",
        " 5",
        "5 ",
        ".",
        "e5",
        "5e",
        "5e+",
        "0x1",
        "0xp1",
        "1__0",
        "_1",
        "1_",
        "1_.5",
        "1._5",
        "1e_5",
        "٣",
        "1,5",
        "infi",
    ],
)
def test_everything_else_is_a_syntax_error(text: str) -> None:
    with pytest.raises(InvalidValueError, match=r"^strconv\.ParseFloat: parsing \".*\": invalid syntax$"):
        parse_float32(text)


@pytest.mark.parametrize("text", ["1e39", "3.4028236e38", "1e99999999999999999999", "0x1p128"])
def test_too_large_is_out_of_range(text: str) -> None:
    with pytest.raises(InvalidValueError, match="value out of range"):
        parse_float32(text)


def test_a_very_long_text_is_refused() -> None:
    with pytest.raises(InvalidValueError, match="invalid syntax"):
        parse_float32("9" * 1_000_000)


def test_all_trailing_percent_signs_are_removed() -> None:
    assert parse_percentage("5%%") == parse_percentage("5%") == struct.unpack("f", struct.pack("f", 0.05))[0]


@settings(deadline=None)
@given(st.integers(0, 10**30), st.integers(-60, 40))
def test_the_nearest_single_is_found_in_one_rounding(mantissa: int, exponent: int) -> None:
    exact = Fraction(mantissa) * Fraction(10) ** exponent
    try:
        read = parse_float32(f"{mantissa}e{exponent}")
    except InvalidValueError:
        assert exact >= Fraction(3.4028235e38)
        return
    error = abs(Fraction(read) - exact)
    for neighbour in (bits(read) + 1, bits(read) - 1):
        if 0 <= neighbour < 0x7F800000:
            other = struct.unpack("f", struct.pack("I", neighbour))[0]
            assert error <= abs(Fraction(other) - exact)


@pytest.mark.parametrize(("value", "rounded"), [(0.1, 13421773 / 2**27), (math.inf, math.inf), (-math.inf, -math.inf)])
def test_a_number_is_rounded_to_single_precision(value: float, rounded: float) -> None:
    assert float32(value) == rounded
    assert math.isnan(float32(math.nan))


def test_a_number_of_more_than_1024_characters_is_refused() -> None:
    for text in ("0" * 1025, "0x" + "0" * 1021 + "p0"):
        with pytest.raises(InvalidValueError, match="invalid syntax"):
            parse_float32(text)
