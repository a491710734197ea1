"""Conversion between RFC 3339 and nanoseconds."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evictd.codec.times import format_time, parse_stamp, parse_time, rfc3339
from evictd.errors import InvalidValueError


@pytest.mark.parametrize(
    ("text", "nanoseconds"),
    [
        ("1970-01-01T00:00:00Z", 0),
        ("2026-01-01T00:00:01Z", 1767225601 * 10**9),
        ("2026-01-01T01:00:01+01:00", 1767225601 * 10**9),
        ("1970-01-01T00:00:00.000000001Z", 1),
        ("1970-01-01T00:00:00.5Z", 500_000_000),
    ],
)
def test_times_are_read_to_the_last_digit(text: str, nanoseconds: int) -> None:
    """In any zone."""
    assert parse_time(text) == nanoseconds


@pytest.mark.parametrize(
    "text", ["", "now", "2026-01-01", "2026-13-01T00:00:00Z", "2026-01-01T00:00:00", "1970-01-01T00:00:00Z\n"]
)
def test_anything_else_is_refused(text: str) -> None:
    """The error shows a valid example."""
    with pytest.raises(InvalidValueError, match="is not a time"):
        parse_time(text)


@given(st.integers(0, 4 * 10**18))
def test_what_is_written_can_be_read_again(nanoseconds: int) -> None:
    """Also stamps of the boot-time clock, written as if the node had booted in 1970."""
    assert parse_time(format_time(nanoseconds)) == nanoseconds


def test_the_api_s_times_have_whole_seconds_and_those_of_events_microseconds() -> None:
    assert rfc3339(1_795_000_000 * 10**9 + 5_000) == "2026-11-18T11:06:40Z"
    assert rfc3339(1_795_000_000 * 10**9 + 5_000, micro=True) == "2026-11-18T11:06:40.000005Z"


def test_a_stamp_has_no_more_than_64_bits() -> None:
    assert parse_stamp("2262-01-01T00:00:00Z") == parse_time("2262-01-01T00:00:00Z")
    for text in ("2263-01-01T00:00:00Z", "1600-01-01T00:00:00Z", "9999-12-31T23:59:59Z"):
        with pytest.raises(InvalidValueError, match="years"):
            parse_stamp(text)
