"""Amounts for people."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evictd.core.units.approximate import bytes_text, count_text, size_text
from evictd.core.units.quantity import NANO, parse_quantity


@pytest.mark.parametrize(
    ("count", "text"),
    [
        (0, "0"),
        (999, "999"),
        (1023, "1023"),
        (1024, "1Ki"),
        (62 * 2**20, "62Mi"),
        (1_567_741_050, "1.46Gi"),
        (-90 * 2**20, "-90Mi"),
        (2**30 - 1, "1Gi"),
        (100 * 2**40, "100Ti"),
        (1023 * 2**10 + 511, "1023Ki"),
        (1023 * 2**10 + 512, "1Mi"),
    ],
)
def test_bytes_have_three_digits_and_a_unit(count: int, text: str) -> None:
    assert bytes_text(count) == text


@given(st.integers(min_value=-(2**62), max_value=2**62))
def test_bytes_are_never_wrong_by_more_than_a_hundredth(count: int) -> None:
    """What is shown can be read back, close to what it stands for."""
    shown = bytes_text(count)
    assert abs(parse_quantity(shown).nano - count * NANO) <= abs(count) * NANO * 0.011


@pytest.mark.parametrize(
    ("count", "text"),
    [
        (0, "0"),
        (32768, "32768"),
        (99_999, "99999"),
        (100_000, "100k"),
        (655_360, "655k"),
        (1_000_000, "1M"),
        (1_234_000, "1.23M"),
        (9_995_000, "10M"),
        (12_340_000, "12.3M"),
    ],
)
def test_counts_are_exact_up_to_five_digits(count: int, text: str) -> None:
    assert count_text(count) == text


def test_a_size_below_a_ki_has_its_unit() -> None:
    """`160 wanted` stood in a sentence that named no unit."""
    assert [size_text(each) for each in (0, 1, 160, 1024, 62 << 20)] == [
        "0 bytes",
        "1 byte",
        "160 bytes",
        "1Ki",
        "62Mi",
    ]
