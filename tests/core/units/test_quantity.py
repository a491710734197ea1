"""Quantities: the specification's sixty examples, the errors, and the laws of formatting and addition."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evictd.core.units.quantity import MAX_INT64, NANO, ZERO, Format, Quantity, of_bytes, of_count, parse_quantity
from evictd.errors import InvalidValueError

READ = [
    ("0", "0", 0), ("00", "0", 0), ("1", "1", 1), ("+1", "+1", 1), ("-1", "-1", -1), ("01", "01", 1),
    ("0.5", "500m", 1), (".5", "500m", 1), ("5.", "5.", 5), ("1.50", "1500m", 2), ("-0.5", "-500m", -1),
    ("1000", "1k", 1000), ("1024", "1024", 1024), ("1024000", "1024k", 1024000), ("12345", "12345", 12345),
    ("1000m", "1", 1), ("1500m", "1500m", 2), ("1.5m", "1500u", 1), ("1n", "1n", 1), ("0.1n", "1n", 1),
    ("0.0000000001", "1n", 1), ("1.1n", "2n", 1), ("0.123456789012", "123456790n", 1), ("1k", "1k", 1000),
    ("1000k", "1M", 1000000), ("1.0001k", "1000100m", 1001), ("0.001k", "1", 1), ("5E", "5E", 5 * 10**18),
    ("3000000000000000000000n", "3T", 3 * 10**12), ("1Ki", "1Ki", 1024), ("1024Ki", "1Mi", 1048576),
    ("1025Ki", "1025Ki", 1049600), ("1000Ki", "1000Ki", 1024000), ("1536Mi", "1536Mi", 1610612736),
    ("1.5Gi", "1536Mi", 1610612736), ("0.5Gi", "512Mi", 536870912), ("0.5Ki", "512", 512), ("0.1Ki", "102400m", 103),
    ("1.1Ki", "1126400m", 1127), ("0.0001Ki", "102400u", 1), ("-0.1Ki", "-102400m", -101), (".5Mi", "512Ki", 524288),
    ("+1Ki", "+1Ki", 1024), ("1.Ki", "1.Ki", 1024), ("100Mi", "100Mi", 104857600), ("7Ei", "7Ei", 7 * 2**60),
    ("8Ei", str(MAX_INT64), MAX_INT64), ("16Ei", str(MAX_INT64), MAX_INT64), ("-16Ei", str(-MAX_INT64), -MAX_INT64),
    ("1e3", "1e3", 1000), ("1E3", "1E3", 1000), ("1e+3", "1e+3", 1000), ("1.5e3", "1500", 1500),
    ("12e6", "12e6", 12000000), ("2.5e-1", "250e-3", 1), ("1e19", "10e18", 0), ("1e-10", "1e-9", 1),
    ("-", "0", 0), ("+", "0", 0), (".", "0", 0), ("e3", "0", 0), ("E", "0", 0), ("-0", "0", 0), ("0Mi", "0", 0),
]  # fmt: skip

REFUSED = [
    "", "1K", "1ki", "1mi", "1MiB", "1GB", "1Mi2", "1 Mi", " 1", "1 ", "1e", "5e", "1E6Mi", "1.5e", "10%", "0x10", "1,5",
    "1_000", "--1", "1-", "1..2", "1.2.3", "1Yi", "1Z", "1e99999999999999999999", "\u0661", "1\u00b5", "NaN", "1\n",
]  # fmt: skip


@pytest.mark.parametrize(("text", "written", "value"), READ, ids=[text for text, _, _ in READ])
def test_reads_and_writes_as_go_does(text: str, written: str, value: int) -> None:
    """As apimachinery's `resource.ParseQuantity`."""
    quantity = parse_quantity(text)
    assert (str(quantity), quantity.value()) == (written, value)


@pytest.mark.parametrize("text", REFUSED, ids=repr)
def test_refuses_what_go_refuses(text: str) -> None:
    """With the one-line text of Go's error."""
    with pytest.raises(InvalidValueError, match="quantit"):
        parse_quantity(text)


@pytest.mark.parametrize(
    ("text", "sign"),
    [
        ("9" * 900 + "e4095", 1), ("9" * 1_000_000, 1), ("1e5000", 1), ("1e2147483647", 1), ("-1e2147483647", -1),
        ("9" * 900 + "Ei", 1), ("0." + "0" * 600 + "1e601", 1), ("1" + "0" * 5000 + "e-5000", 1),
        ("0." + "0" * 900_000 + "1", 1), ("0." + "0" * 900_000 + "1Ei", 1), ("1e-99999", 1), ("-1e-2147483648", -1),
        ("0" * 1_000_000 + "7Ki", 1), ("." + "1" * 900_000 + "Ki", 1), ("0e2147483647", 0), ("1e" + "0" * 5000 + "3", 1),
    ],
    ids=lambda value: str(value)[:20],
)  # fmt: skip
def test_no_size_is_an_error_and_every_sum_can_be_printed(text: str, sign: int) -> None:
    """The API server stores these, so they saturate; Python prints at most 4,300 digits."""
    quantity = parse_quantity(text)
    total = quantity + quantity + parse_quantity("1")
    assert quantity.sign == sign
    assert all(len(str(one)) < 1100 for one in (quantity, total, total - quantity))
    assert all(parse_quantity(one.exact_text) == one for one in (quantity, total))
    assert quantity.value() in range(-(2**63), 2**63)


@pytest.mark.parametrize(
    ("text", "same"),
    [
        ("1e256", "1e257"), ("9" * 300, "1e5000"), ("0." + "0" * 600 + "1e601", "1"), ("1e-10", "1e-99999"),
        ("1" + "0" * 5000 + "e-5000", "1"), ("1." + "0" * 900 + "1", "1000000001n"), ("1e4294967299", "1e3"),
        ("1." + "0" * 900 + "1Ki", "1024000000001n"), ("0" * 2000 + "5.50", "5500m"), ("9" * 300 + "Ki", "16Ei"),
    ],
    ids=lambda value: str(value)[:20],
)  # fmt: skip
def test_saturation_and_rounding_keep_the_value(text: str, same: str) -> None:
    """Long texts have the value that short ones have; the exponent loses its upper half as in Go."""
    assert parse_quantity(text) == parse_quantity(same)


@pytest.mark.parametrize(
    "text", ["0" * 1_000_000 + "x", "1" * 1_000_000 + "x", "." + "1" * 1_000_000 + "x"], ids=["0", "1", "."]
)
def test_parsing_is_linear_in_the_text(text: str) -> None:
    """1,024 zeros and a letter took 1.2 s. A cubic or quadratic reader would not end here."""
    with pytest.raises(InvalidValueError):
        parse_quantity(text)


def test_overflow_wraps_or_vanishes_as_in_go() -> None:
    """int64 * 10^n gives zero, a big decimal wraps around."""
    assert parse_quantity("9223372036854775808").value() == -(2**63)
    assert parse_quantity("1e19").value() == 0


@given(st.integers(-(10**15), 10**15), st.sampled_from(Format))
def test_what_is_written_can_be_read_again(whole: int, form: Format) -> None:
    """Parse -> format -> parse is the identity on values."""
    quantity = Quantity(whole * NANO, form)
    assert parse_quantity(str(quantity)) == quantity


@given(st.text(max_size=30))
def test_any_text_is_read_or_refused(text: str) -> None:
    """Any text either parses or raises `InvalidValueError`."""
    try:
        assert isinstance(str(parse_quantity(text)), str)
    except InvalidValueError as error:
        assert "\n" not in str(error)


def test_sums_keep_the_receivers_format_unless_it_is_zero() -> None:
    """Go `Quantity.Add` and `Sub`."""
    gibi, kilo = parse_quantity("1Gi"), parse_quantity("1k")
    assert str(gibi + parse_quantity("1Gi")) == "2Gi"
    assert (ZERO + gibi).format is Format.BINARY_SI
    assert (kilo + gibi).format is Format.DECIMAL_SI
    assert str(gibi - gibi) == "0"


def test_comparison_uses_values_only() -> None:
    """1Ki equals 1024 in every format."""
    assert parse_quantity("1Ki") == parse_quantity("1024")
    assert hash(parse_quantity("1Ki")) == hash(parse_quantity("1024"))
    assert parse_quantity("1Ki") < parse_quantity("1025") <= parse_quantity("1025")
    assert [parse_quantity(text).sign for text in ("-1", "0", "1n")] == [-1, 0, 1]


def test_counters_are_written_by_what_they_count() -> None:
    """Bytes in powers of 1024, inodes and PIDs in powers of 1000."""
    assert str(of_bytes(1610612736)) == "1536Mi"
    assert str(of_bytes(1000000)) == "1000000"
    assert str(of_count(1000)) == "1k"


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("1.3Gi", "1.3Gi"),
        ("-1.05Gi", "-1.05Gi"),
        ("1500.3Mi", "1500.3Mi"),
        ("1.5Gi", "1536Mi"),
        ("1.3333333333Gi", "1431655765297541940n"),
        ("0.3", "300m"),
        ("1.3G", "1300M"),
        ("500Mi", "500Mi"),
    ],
)
def test_a_fraction_of_a_byte_is_written_as_it_was_configured(text: str, written: str) -> None:
    """`memory.available<1395864371200m` was shown of 1.3Gi."""
    assert parse_quantity(text).written_text == written
    assert parse_quantity(written) == parse_quantity(text)
