"""Parses percentages such as `5.5%` into single-precision fractions.

Follows Go's `strconv.ParseFloat(text, 32)`, through which every percentage of an eviction threshold goes (kubelet
`parsePercentage`): signs, exponents, hexadecimal floats, single underscores between digits, `inf` and `nan` are all
accepted. The text is rounded once, straight to single precision, and divided by 100 in single precision, because
thresholds are compared to the byte.
"""

import math
import re
import struct

from evictd.core.model.problem import quoted
from evictd.errors import InvalidValueError

_MAX_TEXT = 1024
_MAX_EXPONENT = 10_000  # Go clamps exponents here: a value beyond is infinite or zero
_MANTISSA_BITS = 24
_SMALLEST = -149  # the exponent of the smallest subnormal float32

_D = r"[0-9](?:_?[0-9])*"
_H = r"[0-9a-fA-F](?:_?[0-9a-fA-F])*"
_DECIMAL = re.compile(rf"([+-]?)(?:({_D})(?:\.({_D})?)?|\.({_D}))(?:[eE]([+-]?{_D}))?")
_HEXADECIMAL = re.compile(rf"([+-]?)0[xX](?:_?({_H})(?:\.({_H})?)?|\.({_H}))[pP]([+-]?{_D})")
_INFINITY = re.compile(r"([+-]?)inf(?:inity)?", re.IGNORECASE | re.ASCII)


def float32(value: float) -> float:
    """Round to single precision, as the kubelet does with every percentage."""
    return float(struct.unpack("f", struct.pack("f", value))[0])


def parse_percentage(text: str) -> float:
    """Read a percentage as a fraction in single precision; any number of trailing `%` is removed first.

    May be negative, NaN or infinite. Raises `InvalidValueError` with the text of Go's error.
    """
    return float32(parse_float32(text.rstrip("%")) / 100)


def parse_float32(text: str) -> float:
    """Read a float32 as Go's `ParseFloat(text, 32)` does; raises `InvalidValueError` with the text of Go's error."""
    if text.lower() == "nan":
        return math.nan
    if special := _INFINITY.fullmatch(text):
        return -math.inf if special[1] == "-" else math.inf
    bounded = text if len(text) <= _MAX_TEXT else ""
    base, shape = 10, _DECIMAL.fullmatch(bounded)
    if shape is None:
        base, shape = 16, _HEXADECIMAL.fullmatch(bounded)
    if shape is None:
        raise InvalidValueError(f"strconv.ParseFloat: parsing {quoted(text)}: invalid syntax")
    sign, whole, after_point, only_fraction, exponent_text = shape.groups(default="")
    fraction = (after_point or only_fraction).replace("_", "")
    mantissa = int(whole.replace("_", "") + fraction, base)
    exponent = max(-_MAX_EXPONENT, min(_MAX_EXPONENT, int(exponent_text or "0")))
    value = _scaled(mantissa, exponent, len(fraction), base)
    if math.isinf(value):
        raise InvalidValueError(f"strconv.ParseFloat: parsing {quoted(text)}: value out of range")
    return -value if sign == "-" else value


def _scaled(mantissa: int, exponent: int, fraction_digits: int, base: int) -> float:
    """Return mantissa * (2 or 10)^exponent / base^fraction_digits."""
    radix = 2 if base == 16 else 10
    numerator = mantissa * radix ** max(exponent, 0)
    return _nearest_float32(numerator, base**fraction_digits * radix ** max(-exponent, 0))


def _nearest_float32(numerator: int, denominator: int) -> float:
    """Round a positive fraction once, half to even; infinite beyond the largest float32."""
    exponent = max(numerator.bit_length() - denominator.bit_length() - _MANTISSA_BITS, _SMALLEST)
    if numerator << max(-exponent, 0) >= denominator << (max(exponent, 0) + _MANTISSA_BITS):
        exponent += 1
    divisor = denominator << max(exponent, 0)
    quotient, rest = divmod(numerator << max(-exponent, 0), divisor)
    quotient += 2 * rest > divisor or (2 * rest == divisor and quotient % 2)
    if quotient.bit_length() + exponent > 128:
        return math.inf
    return math.ldexp(quotient, exponent)
