"""Parses and formats durations such as `1m30s`; a duration is an int of nanoseconds.

Follows Go's `time.ParseDuration` and `Duration.String()`, which the kubelet uses for every duration of its configuration.
"""

import re
from functools import lru_cache

from evictd.errors import InvalidValueError

NANOSECOND = 1
MICROSECOND = 1_000
MILLISECOND = 1_000_000
SECOND = 1_000_000_000
MINUTE = 60 * SECOND
HOUR = 60 * MINUTE

_MAX_INT64 = 2**63 - 1
_MAX_TEXT = 1024
_UNITS = {
    "ns": NANOSECOND,
    "us": MICROSECOND,
    "\u00b5s": MICROSECOND,  # the micro sign
    "\u03bcs": MICROSECOND,  # the Greek letter mu
    "ms": MILLISECOND,
    "s": SECOND,
    "m": MINUTE,
    "h": HOUR,
}
_NUMBER = re.compile(r"([0-9]*)(\.[0-9]*)?([^0-9.]*)", re.ASCII)


@lru_cache(maxsize=1024)
def parse_duration(text: str) -> int:
    """Read a Go duration; raises `InvalidValueError` with the text of Go's error."""
    body = text[1:] if text[:1] in {"-", "+"} else text
    negative = text.startswith("-")
    if body == "0":
        return 0
    if not body or len(text) > _MAX_TEXT:
        raise _invalid(text)
    total, at = 0, 0
    while at < len(body):
        part = _NUMBER.match(body, at)
        if part is None or part.end() == at:
            raise _invalid(text)
        total += _part(text, part)
        at = part.end()
    # The one value of int64 without a positive twin is accepted, as in Go.
    if total > _MAX_INT64 and not (negative and total == _MAX_INT64 + 1):
        raise _invalid(text)
    return -total if negative else total


def _part(text: str, part: re.Match[str]) -> int:
    whole, fraction, unit = part[1], part[2] or "", part[3]
    if not whole and fraction in {"", "."}:
        raise _invalid(text)
    if not unit:
        raise InvalidValueError(f"time: missing unit in duration {_quoted(text)}")
    if unit not in _UNITS:
        raise InvalidValueError(f"time: unknown unit {_quoted(unit)} in duration {_quoted(text)}")
    nanoseconds = int(whole or "0") * _UNITS[unit]
    digits = fraction[1:]
    if digits:
        nanoseconds += int(digits) * _UNITS[unit] // 10 ** len(digits)
    return nanoseconds


def _invalid(text: str) -> InvalidValueError:
    return InvalidValueError(f"time: invalid duration {_quoted(text)}")


def _quoted(text: str) -> str:
    shown = text if len(text) <= 40 else text[:37] + "..."
    return '"' + shown.encode("unicode_escape").decode("ascii").replace('"', '\\"') + '"'


def format_duration(nanoseconds: int) -> str:
    """Write a duration as Go's `Duration.String()`: `0s`, `1.5ms`, `1m30s`, `1h0m0s`."""
    if nanoseconds == 0:
        return "0s"
    sign, rest = ("-", -nanoseconds) if nanoseconds < 0 else ("", nanoseconds)
    if rest < SECOND:
        unit, size = next((u, s) for u, s in (("ms", MILLISECOND), ("\u00b5s", MICROSECOND), ("ns", 1)) if rest >= s)
        return f"{sign}{_decimal(rest, size)}{unit}"
    hours, rest = divmod(rest, HOUR)
    minutes, rest = divmod(rest, MINUTE)
    text = f"{_decimal(rest, SECOND)}s"
    if hours or minutes:
        text = f"{minutes}m{text}"
    if hours:
        text = f"{hours}h{text}"
    return sign + text


def format_seconds(nanoseconds: int) -> str:
    """Write a duration as `format_duration` does, to the nearest second."""
    return format_duration(round(nanoseconds / SECOND) * SECOND)


def _decimal(value: int, unit: int) -> str:
    whole, rest = divmod(value, unit)
    if not rest:
        return str(whole)
    width = len(str(unit)) - 1
    return f"{whole}.{rest:0{width}}".rstrip("0")


_LONGEST_EXAMPLE = 9
"""Digits of a number that is repeated in a message."""


def duration_remedy(text: str) -> str:
    """Suggest how to write a duration that could not be read; a bare number is most likely meant as seconds."""
    example = f"{text}s" if text.isascii() and text.isdigit() and len(text) <= _LONGEST_EXAMPLE else "1m30s"
    return f"give a duration with its unit, such as {example}"


def seconds_remedy(text: str) -> str:
    """Suggest the number that was meant by a duration in a field of seconds; return "" for any other text."""
    try:
        seconds = parse_duration(text) // SECOND
    except InvalidValueError:
        return ""
    return "" if text.isdigit() else f"give seconds, such as {seconds}"
