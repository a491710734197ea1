"""Parses, adds, compares and formats Kubernetes quantities such as `1.5Gi`.

Follows `resource.Quantity` (apimachinery `pkg/api/resource`): exact decimal values down to 10^-9, three output formats, and
some texts that are printed back unchanged. The value is one Python int of nano-units, so arithmetic is exact.

The Go type holds a value either as int64 * 10^scale or as a big decimal, and the two overflow differently; `Quantity.scale`
records which, because `value()` depends on it.

The API server accepts `1e5000` and a text of a million digits in any pod, so no pod's author must be able to cause a number
that takes long to compute or that Python refuses to print (4,300 digits). Amounts with a binary suffix saturate at the largest
int64, as in apimachinery; all others, and all sums, at 10^256, where Go's big decimals have no limit.
"""

import re
from collections.abc import Iterator
from enum import Enum
from functools import lru_cache

from evictd.core.frozen import frozen_by_position
from evictd.errors import InvalidValueError

NANO = 10**9
MAX_INT64 = 2**63 - 1

_MAX_MAGNITUDE = 256
_MAX_NANO: int = 10**_MAX_MAGNITUDE * NANO
_MAX_DIGITS = 512  # significant digits that are evaluated: more than lie between 10^256 and 10^-9
_MAX_CACHED = 64  # characters; a longer text is hostile, and a cache of them would be large
_MAX_KEPT = 1024  # characters of a text that is printed back unchanged
_MAX_PLACES = 6  # decimal places that are read as easily as thousandths of a byte
_SMALL_DIGITS = 18  # digits that always fit an int64
_UNCHECKED_STEPS = {0, 1, 2, 3, 6, 9}  # powers of ten for which Go's int64 form wraps around; for others it gives 0


class Format(Enum):
    """Output format of a quantity: powers of 1024, of 1000 with a letter, or of 1000 as an exponent."""

    BINARY_SI = "BinarySI"
    DECIMAL_SI = "DecimalSI"
    DECIMAL_EXPONENT = "DecimalExponent"


_DECIMAL_SUFFIXES = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_BINARY_SUFFIXES = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}
_DECIMAL_BY_EXPONENT = {exponent: suffix for suffix, exponent in _DECIMAL_SUFFIXES.items()}
_BINARY_BY_STEP = ["", *_BINARY_SUFFIXES]

# Possessive throughout: three runs of digits that may share characters would otherwise be tried in cubic time.
_SHAPE = re.compile(r"([+-]?+)0*+([0-9]*+)(?:\.([0-9]*+))?+([eEinumkKMGTP]*+[+-]?+[0-9]*+)", re.ASCII)
_EXPONENT = re.compile(r"[eE]([+-]?[0-9]+)", re.ASCII)


@frozen_by_position
class Quantity:
    """An exact amount with the format it is written in.

    `nano` is the value in units of 10^-9. `text` is the original text where a parsed quantity prints it back.
    `scale` is the power of ten of Go's int64 form, `None` for its big decimals. Comparison uses the value only.
    """

    nano: int
    format: Format = Format.DECIMAL_SI
    text: str | None = None
    scale: int | None = 0

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Quantity) and self.nano == other.nano

    def __hash__(self) -> int:
        return hash(self.nano)

    def __lt__(self, other: "Quantity") -> bool:
        return self.nano < other.nano

    def __le__(self, other: "Quantity") -> bool:
        return self.nano <= other.nano

    def __add__(self, other: "Quantity") -> "Quantity":
        """Add; a zero receiver takes the other's format (Go `Quantity.Add`)."""
        return Quantity(_bounded(self.nano + other.nano), self.format if self.nano else other.format)

    def __sub__(self, other: "Quantity") -> "Quantity":
        """Subtract; the format follows the rule of `__add__` (Go `Quantity.Sub`)."""
        return Quantity(_bounded(self.nano - other.nano), self.format if self.nano else other.format)

    def __str__(self) -> str:
        return self.text if self.text is not None else _canonical(self.nano, self.format)

    @property
    def written_text(self) -> str:
        """A text of exactly this amount, with a binary suffix where Go writes thousandths of a byte: `1.3Gi`."""
        if self.text is None and self.format is Format.BINARY_SI and self.nano % NANO:
            return next(_with_binary_fraction(self.nano), str(self))
        return str(self)

    @property
    def exact_text(self) -> str:
        """A text of exactly this amount; beyond the range of the suffixes `str` drops powers of ten, as Go does."""
        if self.text is not None or abs(self.nano) <= MAX_INT64 * NANO:
            return str(self)
        return _canonical_decimal(self.nano, Format.DECIMAL_EXPONENT)

    @property
    def sign(self) -> int:
        """-1, 0 or 1."""
        return (self.nano > 0) - (self.nano < 0)

    def value(self) -> int:
        """Return the amount as an int64, rounded as Go's `Value()` does; beyond 64 bits it wraps or is zero, as in Go."""
        whole, rest = divmod(self.nano, NANO)
        if not rest and self.scale is not None and -MAX_INT64 <= whole <= MAX_INT64:
            return whole  # nothing to round, and it fits: nearly every amount
        return _as_int64(self.nano, self.scale)


ZERO = Quantity(0)


def of_bytes(count: int) -> Quantity:
    """Make a quantity, binary, from a counter of bytes."""
    return Quantity(count * NANO, Format.BINARY_SI)


def of_count(count: int) -> Quantity:
    """Make a quantity, decimal, from a counter of inodes or PIDs."""
    return Quantity(count * NANO, Format.DECIMAL_SI)


def parse_quantity(text: str) -> Quantity:
    """Read a quantity as Go's `ParseQuantity` does, wider grammar included, in time linear in the text.

    Raises `InvalidValueError` with the text of Go's error, but in words where Go shows a regular expression. An amount that is
    too large is no error: it saturates.
    """
    return _cached(text) if len(text) <= _MAX_CACHED else _parse(text)


def _parse(text: str) -> Quantity:
    shape = _SHAPE.fullmatch(text) if text else None
    if shape is None:
        raise InvalidValueError("is not a quantity, which is a number with an optional unit such as Mi, Gi, M or G")
    sign, whole, fraction, suffix = -1 if shape[1] == "-" else 1, shape[2], shape[3] or "", shape[4]
    if not whole and shape[3] is None and not suffix:
        return ZERO  # only zeros, or a lone sign: Go returns before it checks the rest
    form, exponent = _suffix(suffix)
    if form is Format.BINARY_SI:
        return _binary(text, sign, whole or "0", fraction, exponent)
    return _decimal(text, sign, whole or "0", fraction, exponent=exponent, form=form)


_cached = lru_cache(maxsize=4096)(_parse)


def _suffix(suffix: str) -> tuple[Format, int]:
    if suffix in _DECIMAL_SUFFIXES:
        return Format.DECIMAL_SI, _DECIMAL_SUFFIXES[suffix]
    if suffix in _BINARY_SUFFIXES:
        return Format.BINARY_SI, _BINARY_SUFFIXES[suffix]
    exponent = _EXPONENT.fullmatch(suffix)
    if exponent is None:
        raise InvalidValueError("unable to parse quantity's suffix")
    return Format.DECIMAL_EXPONENT, _int32(exponent[1])


def _int32(text: str) -> int:
    """Read an exponent as Go does: one beyond an int64 is refused, one beyond an int32 loses its upper half."""
    digits = text.lstrip("+-").lstrip("0") or "0"
    value = int(digits) * (-1 if text.startswith("-") else 1) if len(digits) < 20 else None
    if value is None or not -MAX_INT64 - 1 <= value <= MAX_INT64:
        raise InvalidValueError("unable to parse quantity's suffix")
    return (value + 2**31) % 2**32 - 2**31


def _decimal(text: str, sign: int, whole: str, fraction: str, *, exponent: int, form: Format) -> Quantity:
    digits, scale = whole + fraction, exponent - len(fraction)
    small = len(digits) <= _SMALL_DIGITS and scale >= -9
    as_written = small and scale % 3 == 0 and not digits.endswith("000") and not digits.startswith("0")
    nano = sign * _nano(digits, scale)
    return Quantity(nano, form, _kept(text, keep=as_written), scale if small else None)


def _binary(text: str, sign: int, whole: str, fraction: str, exponent: int) -> Quantity:
    # 2^60 has 19 digits: an amount of at least 10^19 is capped without its suffix too, one of at most 10^-40 is 1n with it.
    nano = _nano(whole + fraction, -len(fraction), factor=1 << exponent)
    if nano >= MAX_INT64 * NANO:  # the cap, which only binary suffixes have
        return Quantity(sign * MAX_INT64 * NANO, Format.BINARY_SI)
    small = not fraction and 15 - len(whole) - int(exponent * 0.3) - 1 >= 0
    form = Format.DECIMAL_SI if 0 < nano < NANO else Format.BINARY_SI
    as_written = small and bool(int(whole) % 8)
    return Quantity(sign * nano, form, _kept(text, keep=as_written), 0 if small else None)


def _kept(text: str, *, keep: bool) -> str | None:
    return text if keep and len(text) <= _MAX_KEPT else None


def _nano(digits: str, scale: int, *, factor: int = 1) -> int:
    """Return `digits` * 10^`scale` * `factor` in nano-units, rounded up, at most `_MAX_NANO`; `factor` is at most 2^60.

    The magnitude is checked before any power is computed, and only as many digits are used as can matter, so every number here
    is short, whatever the length of the text and its exponent.
    """
    digits = digits.lstrip("0")
    magnitude = len(digits) + scale  # the amount without the factor is below 10^magnitude, and at least a tenth of it
    if not digits:
        return 0
    if magnitude > _MAX_MAGNITUDE:
        return _MAX_NANO
    if magnitude < -40:
        return 1
    head, tail = digits[:_MAX_DIGITS], digits[_MAX_DIGITS:]
    # The digits cut off lie below 10^-9. Only whether any is not zero matters, because the result is rounded up.
    mantissa = (int(head) + bool(tail.strip("0"))) * factor
    shift = scale + len(tail) + 9
    return _bounded(mantissa * _power(shift) if shift >= 0 else _divide_away(mantissa, _power(-shift)))


def _power(exponent: int) -> int:
    power: int = 10**exponent
    return power


def _bounded(nano: int) -> int:
    return max(-_MAX_NANO, min(nano, _MAX_NANO))


def _divide_away(value: int, divisor: int) -> int:
    """Divide, rounding away from zero, so that a small positive amount never becomes zero."""
    quotient = -(-abs(value) // divisor)
    return quotient if value >= 0 else -quotient


def _as_int64(nano: int, scale: int | None) -> int:
    """Return the amount in whole units as an int64, overflowing as Go's two representations do."""
    if scale is None:
        return _as_int64_of_decimal(nano)
    result = _divide_away(nano, NANO)
    fits = -MAX_INT64 - 1 <= result <= MAX_INT64
    return _wrap(result) if fits or scale in _UNCHECKED_STEPS else 0


def _as_int64_of_decimal(nano: int) -> int:
    if nano > MAX_INT64:
        return _wrap(-(-nano // NANO))
    # Go takes this path for every negative number, however large, after it was cut to 64 bits.
    nano = _wrap(nano)
    truncated = abs(nano) // NANO * (1 if nano >= 0 else -1)
    return truncated + (nano % NANO != 0)


def _wrap(value: int) -> int:
    return (value + MAX_INT64 + 1) % 2**64 - MAX_INT64 - 1


def _canonical(nano: int, form: Format) -> str:
    if nano == 0:
        return "0"
    whole, rest = divmod(nano, NANO)
    if form is Format.BINARY_SI and rest == 0 and not -1024 < whole < 1024:
        step = 0
        while step < len(_BINARY_SUFFIXES) and whole % 1024 == 0:
            whole //= 1024
            step += 1
        return f"{whole}{_BINARY_BY_STEP[step]}"
    return _canonical_decimal(nano, form)


def _with_binary_fraction(nano: int) -> Iterator[str]:
    """Yield the texts with a binary suffix and few decimal places that are exactly this amount, the largest suffix first."""
    for suffix, exponent in reversed(_BINARY_SUFFIXES.items()):
        unit = NANO << exponent
        places = next((each for each in range(1, _MAX_PLACES + 1) if not nano * _power(each) % unit), None)
        if places is not None and abs(nano) >= unit:
            sign, (whole, rest) = "-" if nano < 0 else "", divmod(abs(nano), unit)
            yield f"{sign}{whole}.{rest * _power(places) // unit:0{places}}{suffix}"


def _canonical_decimal(mantissa: int, form: Format) -> str:
    exponent = -9
    while mantissa % 10 == 0:
        mantissa //= 10
        exponent += 1
    while exponent % 3:
        mantissa *= 10
        exponent -= 1
    if form is Format.DECIMAL_EXPONENT:
        return f"{mantissa}e{exponent}" if exponent else str(mantissa)
    return f"{mantissa}{_DECIMAL_BY_EXPONENT.get(exponent, '')}"
