"""Parsing and formatting of Go durations."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evictd.core.units.duration import (
    SECOND,
    duration_remedy,
    format_duration,
    format_seconds,
    parse_duration,
    seconds_remedy,
)
from evictd.errors import InvalidValueError

READ = {
    "90s": "1m30s", "5m": "5m0s", "1h": "1h0m0s", "1.5h": "1h30m0s", "300ms": "300ms", "100us": "100\u00b5s",
    "0.5ns": "0s", "1s1m": "1m1s", "1m1m": "2m0s", "5.s": "5s", ".5s": "500ms", "1ms1us": "1.001ms", "+1s": "1s",
    "-0": "0s", "+0": "0s", "00s": "0s", "24h": "24h0m0s", "1\u00b5s": "1\u00b5s", "1\u03bcs": "1\u00b5s", "0": "0s",
}  # fmt: skip

REFUSED = {
    "": "invalid", "1": "missing unit", "1d": "unknown unit", "1w": "unknown unit", "1 s": "unknown unit",
    "s": "invalid", ".s": "invalid", "1h1": "missing unit", "1e3s": "unknown unit", "1S": "unknown unit",
    "--1s": "invalid", "1m-1s": "unknown unit", "9223372036854775808ns": "invalid", "\u0661s": "invalid",
}  # fmt: skip


@pytest.mark.parametrize(("text", "written"), READ.items())
def test_reads_and_writes_as_go_does(text: str, written: str) -> None:
    """As Go's `time.ParseDuration`."""
    assert format_duration(parse_duration(text)) == written


@pytest.mark.parametrize(("text", "why"), REFUSED.items())
def test_refuses_what_go_refuses(text: str, why: str) -> None:
    """With the text of Go's error."""
    with pytest.raises(InvalidValueError, match=f"^time: {why}"):
        parse_duration(text)


def test_the_most_negative_duration_is_accepted() -> None:
    """-2^63 ns, which has no positive counterpart in int64."""
    assert parse_duration("-9223372036854775808ns") == -(2**63)


@given(st.integers(-(2**63), 2**63 - 1))
def test_what_is_written_can_be_read_again(nanoseconds: int) -> None:
    """Format -> parse is the identity over all of int64."""
    assert parse_duration(format_duration(nanoseconds)) == nanoseconds


@given(st.text(max_size=20))
def test_any_text_is_read_or_refused(text: str) -> None:
    """Any text either parses or raises `InvalidValueError` with a one-line message."""
    try:
        parse_duration(text)
    except InvalidValueError as error:
        assert "\n" not in str(error)


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("5", 'time: missing unit in duration "5"'),
        ("5d", 'time: unknown unit "d" in duration "5d"'),
        ('"', 'time: invalid duration "\\""'),
        ("x" * 41, f'time: invalid duration "{"x" * 37}..."'),
    ],
)
def test_an_error_quotes_the_text(text: str, wrong: str) -> None:
    with pytest.raises(InvalidValueError) as caught:
        parse_duration(text)
    assert str(caught.value) == wrong


def test_a_text_of_more_than_1024_characters_is_refused() -> None:
    assert parse_duration("0" * 1023 + "s") == 0
    with pytest.raises(InvalidValueError):
        parse_duration("0" * 1024 + "s")


@pytest.mark.parametrize(
    ("text", "example"), [("90", "90s"), ("123456789", "123456789s"), ("1234567890", "1m30s"), ("soon", "1m30s")]
)
def test_a_bare_number_is_taken_for_seconds(text: str, example: str) -> None:
    assert duration_remedy(text) == f"give a duration with its unit, such as {example}"


def test_a_time_in_whole_seconds_is_rounded() -> None:
    """1.9 s were shown as 1s."""
    assert [format_seconds(tenths * SECOND // 10) for tenths in (19, 14, 899)] == ["2s", "1s", "1m30s"]


@pytest.mark.parametrize(
    ("text", "remedy"),
    [("60s", "give seconds, such as 60"), ("1m30s", "give seconds, such as 90"), ("0", ""), ("60", ""), ("soon", "")],
)
def test_a_duration_in_a_field_of_seconds_is_told_as_seconds(text: str, remedy: str) -> None:
    assert seconds_remedy(text) == remedy
