"""Converts between RFC 3339 times and nanoseconds since 1970.

A stamp of the boot-time clock is written as if the node had booted in 1970. That loses nothing, because a stamp is only compared
with stamps of the same source.
"""

import re
from datetime import UTC, datetime, timedelta
from functools import lru_cache

from evictd.core.units.quantity import MAX_INT64
from evictd.errors import InvalidValueError

_SHAPE = re.compile(r"(\d{4}-\d{2}-\d{2})[Tt](\d{2}:\d{2}:\d{2})(?:\.(\d{1,9}))?(Z|z|[+-]\d{2}:\d{2})", re.ASCII)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@lru_cache(maxsize=256)
def parse_time(text: str) -> int:
    """Read an RFC 3339 time as nanoseconds since 1970, exactly; raises `InvalidValueError`."""
    shape = _SHAPE.fullmatch(text)
    if shape is None:
        raise InvalidValueError(f"{text!r} is not a time; an RFC 3339 time looks like 2026-01-31T12:00:00Z")
    zone = "+00:00" if shape[4] in "Zz" else shape[4]
    try:
        moment = datetime.fromisoformat(f"{shape[1]}T{shape[2]}{zone}")
    except ValueError as error:
        raise InvalidValueError(f"{text!r} is not a time: {error}") from error
    try:
        since = moment.astimezone(UTC) - _EPOCH
    except OverflowError as error:
        raise InvalidValueError(f"{text!r} is not a time: in UTC it is beyond the years 1 to 9999") from error
    return (since.days * 86_400 + since.seconds) * 10**9 + int((shape[3] or "0").ljust(9, "0"))


def parse_stamp(text: str | None) -> int | None:
    """Read an RFC 3339 time as `parse_time`, `None` for none; raises `InvalidValueError` also beyond 64 bits of nanoseconds."""
    if text is None:
        return None
    time = parse_time(text)
    if abs(time) > MAX_INT64:
        raise InvalidValueError(f"{text!r} is not a time of the years 1678 to 2262")
    return time


def format_time(nanoseconds: int) -> str:
    """Write nanoseconds since 1970 as RFC 3339 in UTC, with as many decimals as needed.

    Raises `InvalidValueError` beyond the years 1 to 9999, which RFC 3339 cannot write.
    """
    seconds, rest = divmod(nanoseconds, 10**9)
    try:
        text = (_EPOCH + timedelta(seconds=seconds)).replace(tzinfo=None).isoformat()
    except OverflowError as error:
        raise InvalidValueError("a time is beyond the years 1 to 9999") from error
    return f"{text}.{rest:09}".rstrip("0") + "Z" if rest else text + "Z"


def rfc3339(wall: int, *, micro: bool = False) -> str:
    """Write nanoseconds since 1970 as Kubernetes' `metav1.Time`, whole seconds, or with microseconds as its `MicroTime`."""
    text = format_time(wall // 10**9 * 10**9).removesuffix("Z")
    return f"{text}.{wall % 10**9 // 1000:06d}Z" if micro else f"{text}Z"
