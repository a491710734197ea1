"""Kernel files are parsed strictly: invalid numbers are errors."""

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evictd.core.model.stats import PressureStall
from evictd.errors import NodeError
from evictd.observe.cgroups.kernel_text import parse_count, parse_limit, parse_pressure, parse_stat
from tests.trees import PSI

GARBAGE = [
    b"",
    b"\n",
    b"12",
    b"-1\n",
    b"+1\n",
    b" 1\n",
    b"1_0\n",
    b"1 2\n",
    b"1\n2\n",
    b"0x10\n",
    b"max\n",
    b"1\0\n",
    b"\xb2\n",
    b"9" * 5000 + b"\n",
]


@given(st.integers(0, 2**64 - 1))
def test_every_64_bit_number_is_read(number: int) -> None:
    assert parse_count(b"%d\n" % number, "f") == number
    assert parse_limit(b"%d\n" % number, "f") == number
    assert parse_stat(b"a 1\nb %d\n" % number, b"b", "f") == number


@pytest.mark.parametrize("text", GARBAGE, ids=lambda text: repr(text[:20]))
def test_any_other_text_is_an_error(text: bytes) -> None:
    with pytest.raises(NodeError, match="unexpected content"):
        parse_count(text, "f")


@given(st.integers(2**64))
def test_a_number_beyond_64_bits_is_an_error(number: int) -> None:
    with pytest.raises(NodeError):
        parse_count(b"%d\n" % number, "f")


def test_max_is_no_limit() -> None:
    assert parse_limit(b"max\n", "f") is None


@given(st.binary(max_size=200), st.binary(max_size=40))
def test_random_bytes_give_a_number_or_a_node_error(text: bytes, before: bytes) -> None:
    def outcome(parse: Callable[..., object], *arguments: object) -> object:
        try:
            return parse(*arguments)
        except NodeError as error:
            return error

    assert isinstance(outcome(parse_count, text, "f"), int | NodeError)
    assert isinstance(outcome(parse_limit, text, "f"), int | NodeError | None)
    assert isinstance(outcome(parse_stat, before + b"\nkey " + text, b"key", "f"), int | NodeError)
    assert isinstance(outcome(parse_pressure, before + b"some avg10=" + text, "f"), dict | NodeError)


def test_a_key_is_not_found_inside_another() -> None:
    text = b"total_inactive_file 1\nxinactive_file 2\ninactive_file 3\n"
    assert parse_stat(text, b"inactive_file", "f") == 3
    assert parse_stat(text, b"total_inactive_file", "f") == 1
    with pytest.raises(NodeError, match="no active_file"):
        parse_stat(text, b"active_file", "f")


def test_a_number_truncated_at_the_end_of_the_file_is_an_error() -> None:
    with pytest.raises(NodeError):
        parse_stat(b"inactive_file 12", b"inactive_file", "f")


def test_pressure_has_its_two_lines() -> None:
    assert parse_pressure(PSI.encode(), "f") == {
        "some": PressureStall(avg10=1.5, avg60=0.25, avg300=0.0, total_us=12345),
        "full": PressureStall(avg10=0.5, avg60=0.0, avg300=0.0, total_us=678),
    }


@pytest.mark.parametrize(
    "text",
    [
        b"some avg10=1.00\n",
        *(
            b"some avg10=%s avg60=0.00 avg300=0.00 total=0\n" % avg
            for avg in (b"x", b"nan", b"inf", b"1e9", b"9" * 5000)
        ),
        b"some avg10=0.00 avg60=0.00 avg300=0.00 total=-1\n",
        b"some avg10=0.00 avg60=0.00 avg300=0.00 total=" + b"9" * 5000 + b"\n",
    ],
    ids=lambda text: repr(text[:40]),
)
def test_a_truncated_line_of_pressure_is_an_error(text: bytes) -> None:
    with pytest.raises(NodeError):
        parse_pressure(text, "f")
