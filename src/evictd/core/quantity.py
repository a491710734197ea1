"""What does `1.5Gi` mean, and how is it written back?

Kubernetes' `resource.Quantity` (apimachinery `pkg/api/resource`): exact decimal values down to 10^-9, three output formats, and
its habit of printing some texts back unchanged. The value is one Python int of nano-units, so arithmetic is exact.

The Go type holds a value either as int64 * 10^scale or as a big decimal, and the two overflow differently; `Quantity.scale`
remembers which, because `value()` and `milli_value()` show it.
"""

import re
from dataclasses import dataclass
from enum import Enum
from functools import lru_cache

from evictd.errors import InvalidValueError

NANO = 10**9
MAX_INT64 = 2**63 - 1

_MAX_TEXT = 1024
_MAX_EXPONENT = 4096
_SMALL_DIGITS = 18  # what surely fits an int64
_UNCHECKED_STEPS = {0, 1, 2, 3, 6, 9}  # powers of ten for which Go's int64 form wraps around; for others it gives 0


class Format(Enum):
    """How a quantity is written: powers of 1024, of 1000 with a letter, or of 1000 as an exponent."""

    BINARY_SI = "BinarySI"
    DECIMAL_SI = "DecimalSI"
    DECIMAL_EXPONENT = "DecimalExponent"


_DECIMAL_SUFFIXES = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_BINARY_SUFFIXES = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}
_DECIMAL_BY_EXPONENT = {exponent: suffix for suffix, exponent in _DECIMAL_SUFFIXES.items()}
_BINARY_BY_STEP = ["", *_BINARY_SUFFIXES]

_SHAPE = re.compile(r"([+-]?)0*([0-9]*)(?:\.([0-9]*))?([eEinumkKMGTP]*[+-]?[0-9]*)", re.ASCII)
_EXPONENT = re.compile(r"[eE]([+-]?[0-9]+)", re.ASCII)


@dataclass(frozen=True, slots=True, eq=False)
class Quantity:
    """An exact amount with the format it is written in.

    `nano` is the value in units of 10^-9. `text` is what a freshly parsed quantity prints back, where it does.
    `scale` is the power of ten of Go's int64 form, `None` for its big decimals. Comparison looks at the value only.
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
        """The sum; a zero receiver takes the other's format (Go `Quantity.Add`)."""
        return Quantity(self.nano + other.nano, self.format if self.nano else other.format)

    def __sub__(self, other: "Quantity") -> "Quantity":
        """The difference, formatted as in a sum (Go `Quantity.Sub`)."""
        return Quantity(self.nano - other.nano, self.format if self.nano else other.format)

    def __str__(self) -> str:
        return self.text if self.text is not None else _canonical(self.nano, self.format)

    @property
    def sign(self) -> int:
        """-1, 0 or 1."""
        return (self.nano > 0) - (self.nano < 0)

    def value(self) -> int:
        """The amount as an int64, rounded as Go's `Value()` does; beyond 64 bits it is Go's wrapped or zero."""
        return _scaled(self.nano, 0, self.scale)

    def milli_value(self) -> int:
        """The amount in thousandths, with the rounding and overflow of Go's `MilliValue()`."""
        return _scaled(self.nano, -3, self.scale)


ZERO = Quantity(0)


def of_bytes(count: int) -> Quantity:
    """A quantity from a counter of bytes: binary."""
    return Quantity(count * NANO, Format.BINARY_SI)


def of_count(count: int) -> Quantity:
    """A quantity from a counter of inodes or PIDs: decimal."""
    return Quantity(count * NANO, Format.DECIMAL_SI)


@lru_cache(maxsize=4096)
def parse_quantity(text: str) -> Quantity:
    """Read a quantity as Go's `ParseQuantity` does, wider grammar included.

    Raises `InvalidValueError` with the text of Go's error; also for exponents over 4096 and texts over 1024 characters,
    which Go would work on for minutes.
    """
    shape = _SHAPE.fullmatch(text) if 0 < len(text) <= _MAX_TEXT else None
    if shape is None:
        raise InvalidValueError(
            "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
        )
    sign, whole, fraction, suffix = shape[1], shape[2], shape[3] or "", shape[4]
    if not whole and shape[3] is None and not suffix:
        return ZERO  # only zeros, or a lone sign: Go stops before it looks at anything else
    form, exponent = _suffix(suffix)
    digits = (whole or "0") + fraction
    mantissa = int(digits) * (-1 if sign == "-" else 1)
    if form is Format.BINARY_SI:
        return _binary(text, mantissa, whole or "0", fraction, exponent)
    return _decimal(text, mantissa, digits, exponent - len(fraction), form)


def _suffix(suffix: str) -> tuple[Format, int]:
    if suffix in _DECIMAL_SUFFIXES:
        return Format.DECIMAL_SI, _DECIMAL_SUFFIXES[suffix]
    if suffix in _BINARY_SUFFIXES:
        return Format.BINARY_SI, _BINARY_SUFFIXES[suffix]
    exponent = _EXPONENT.fullmatch(suffix)
    if exponent is None or abs(int(exponent[1])) > _MAX_EXPONENT:
        raise InvalidValueError("unable to parse quantity's suffix")
    return Format.DECIMAL_EXPONENT, int(exponent[1])


def _decimal(text: str, mantissa: int, digits: str, scale: int, form: Format) -> Quantity:
    small = len(digits) <= _SMALL_DIGITS and scale >= -9
    as_written = small and scale % 3 == 0 and not digits.endswith("000") and not digits.startswith("0")
    nano = mantissa * 10 ** (scale + 9) if scale >= -9 else _divide_away(mantissa, 10 ** (-9 - scale))
    return Quantity(nano, form, text if as_written else None, scale if small else None)


def _binary(text: str, mantissa: int, whole: str, fraction: str, exponent: int) -> Quantity:
    product = mantissa << exponent
    small = not fraction and 15 - len(whole) - int(exponent * 0.3) - 1 >= 0 and abs(product) <= MAX_INT64
    nano = _divide_away(product * NANO, 10 ** len(fraction))
    if abs(nano) >= MAX_INT64 * NANO:  # the cap, which only binary suffixes have
        return Quantity(MAX_INT64 * NANO * (1 if nano > 0 else -1), Format.BINARY_SI)
    form = Format.DECIMAL_SI if 0 < abs(nano) < NANO else Format.BINARY_SI
    return Quantity(nano, form, text if small and mantissa % 8 else None, 0 if small else None)


def _divide_away(value: int, divisor: int) -> int:
    """Divide, rounding away from zero: asking for a little gets a little."""
    quotient = -(-abs(value) // divisor)
    return quotient if value >= 0 else -quotient


def _scaled(nano: int, to: int, scale: int | None) -> int:
    """Give the amount in units of 10^`to` as an int64, overflowing as Go's two representations do."""
    unit = NANO * 10**to if to >= 0 else NANO // 10**-to
    if scale is None:
        return _scaled_decimal(nano, unit)
    result = _divide_away(nano, unit)
    fits = -MAX_INT64 - 1 <= result <= MAX_INT64
    return _wrap(result) if fits or scale - to in _UNCHECKED_STEPS else 0


def _scaled_decimal(nano: int, unit: int) -> int:
    if nano > MAX_INT64:
        return _wrap(-(-nano // unit))
    # Go takes this path for every negative number, however large, after it was cut to 64 bits.
    nano = _wrap(nano)
    truncated = abs(nano) // unit * (1 if nano >= 0 else -1)
    return truncated + (nano % unit != 0)


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
