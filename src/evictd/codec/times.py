"""RFC 3339 in the API's JSON, nanoseconds in the core.

A stamp is counted from 1970 whatever clock it comes from: a stamp on the boot-time clock is written as if the node had booted
at the epoch, which loses nothing, since stamps are only compared with others of the same source.
"""

import re
from datetime import UTC, datetime
from functools import lru_cache

from evictd.errors import InvalidValueError

_SHAPE = re.compile(r"(\d{4}-\d{2}-\d{2})[Tt](\d{2}:\d{2}:\d{2})(?:\.(\d{1,9}))?(Z|z|[+-]\d{2}:\d{2})", re.ASCII)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@lru_cache(maxsize=256)
def parse_time(text: str) -> int:
    """Read an RFC 3339 time as nanoseconds since 1970, to the last digit; raises `InvalidValueError`."""
    shape = _SHAPE.fullmatch(text)
    if shape is None:
        raise InvalidValueError(f"{text!r} is not a time; an RFC 3339 time looks like 2026-01-31T12:00:00Z")
    zone = "+00:00" if shape[4] in "Zz" else shape[4]
    try:
        moment = datetime.fromisoformat(f"{shape[1]}T{shape[2]}{zone}")
    except ValueError as error:
        raise InvalidValueError(f"{text!r} is not a time: {error}") from error
    since = moment - _EPOCH
    return (since.days * 86_400 + since.seconds) * 10**9 + int((shape[3] or "0").ljust(9, "0"))


def format_time(nanoseconds: int) -> str:
    """Write nanoseconds since 1970 as RFC 3339 in UTC, with as many digits as there are."""
    seconds, rest = divmod(nanoseconds, 10**9)
    text = datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%S")
    return f"{text}.{rest:09}".rstrip("0") + "Z" if rest else text + "Z"
