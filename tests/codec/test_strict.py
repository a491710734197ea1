"""Documents are read strictly, and all faults are reported together, each with its path."""

from enum import Enum
from typing import Annotated

import msgspec
import pytest

from evictd.codec.strict import Amount, Duration, Rate, Size, Word, at, decode, unknown_fields
from evictd.core.units.duration import SECOND


class Color(Enum):
    RED = "Red"
    BLUE = "Blue"


class Inner(msgspec.Struct, kw_only=True, frozen=True):
    deep: bool = False


class Sample(msgspec.Struct, kw_only=True, frozen=True, rename="camel"):
    some_text: str = "t"
    a_number: Annotated[int, msgspec.Meta(ge=0, le=9)] = 1
    a_factor: float = 0.5
    a_duration: Duration = Duration(5)
    color: Color = Color.RED
    inner: Inner = Inner()
    texts: tuple[str, ...] = ()
    table: dict[str, str] | None = None


NAMES = "give one of someText, aNumber, aFactor, aDuration, color, inner, texts, table"
"""The remedy for a field that is like none of these."""


def problems(**fields: object) -> list[str]:
    _, found = decode(Sample, fields)
    return [str(one) for one in found]


def test_a_valid_document_is_read_completely() -> None:
    value, found = decode(
        Sample,
        {
            "someText": "x",
            "aNumber": 9,
            "aFactor": 1,
            "aDuration": "1s",
            "color": "Blue",
            "inner": {"deep": True},
            "texts": ["a"],
            "table": {"k": "v"},
        },
    )
    assert found == []
    assert value == Sample(
        some_text="x",
        a_number=9,
        a_factor=1.0,
        a_duration=Duration(SECOND),
        color=Color.BLUE,
        inner=Inner(deep=True),
        texts=("a",),
        table={"k": "v"},
    )


def test_null_means_absent() -> None:
    assert decode(Sample, {"someText": None, "table": None}) == (Sample(), [])


@pytest.mark.parametrize(
    ("fields", "line"),
    [
        ({"someTxt": "x"}, "someTxt: unknown field; did you mean someText?"),
        ({"zzz": None}, f"zzz: unknown field; {NAMES}"),
        ({"inner": {"dep": True}}, "inner.dep: unknown field; did you mean deep?"),
        ({"some thing": 1}, f"[some thing]: unknown field; {NAMES}"),
        ({"someText": 5}, 'someText: 5: is a number, not a text; write it in quotes, as in "5"'),
        ({"someText": ["a"]}, "someText: [...]: is a list, not a text; write one text"),
        ({"aNumber": "5"}, 'aNumber: "5": is a text, not a whole number; give a whole number from 0 to 9'),
        ({"aNumber": True}, "aNumber: true: is a truth value, not a whole number; give a whole number from 0 to 9"),
        ({"aNumber": 10}, "aNumber: 10: is out of range; give a whole number from 0 to 9"),
        ({"aNumber": 1.5}, "aNumber: 1.5: is a number, not a whole number; give a whole number from 0 to 9"),
        ({"aFactor": "x"}, 'aFactor: "x": is a text, not a number; give a number such as 0.9'),
        ({"inner": {"deep": 1}}, "inner.deep: 1: is a number, not true or false; write true or false, without quotes"),
        ({"aDuration": 5}, "aDuration: 5: is a number, not a duration; give a duration with its unit, such as 5s"),
        (
            {"aDuration": "5"},
            'aDuration: "5": time: missing unit in duration "5"; give a duration with its unit, such as 5s',
        ),
        ({"color": "red"}, 'color: "red": is not one of the values; give one of Red, Blue'),
        ({"color": {}}, "color: {...}: is a map, not a text; give one of Red, Blue"),
        ({"texts": "a"}, 'texts: "a": is not a list; write a list, as in `[a, b]`'),
        ({"texts": ["a", 1]}, 'texts[1]: 1: is a number, not a text; write it in quotes, as in "1"'),
        ({"table": []}, "table: [...]: is not a map; write one entry a line, as in `key: value`"),
        ({"table": {"a.b": 1}}, 'table[a.b]: 1: is a number, not a text; write it in quotes, as in "1"'),
        ({"inner": 5}, "inner: 5: is not a map of fields; write one field a line, as in `name: value`"),
    ],
)
def test_a_fault_is_one_line_with_path_value_and_remedy(fields: dict[str, object], line: str) -> None:
    assert problems(**fields) == [line]


def test_all_faults_are_found_at_once() -> None:
    assert len(problems(someText=1, aNumber="x", nope=1, texts=[1, 2], inner={"deep": 3})) == 6


def test_a_faulty_field_takes_its_default() -> None:
    value, _ = decode(Sample, {"aNumber": "x", "someText": "kept"})
    assert value == Sample(some_text="kept")


def test_ignored_fields_are_not_read() -> None:
    assert decode(Sample, {"other": object()}, ignored={"other"}) == (Sample(), [])


@pytest.mark.parametrize(("word", "truth"), [("yes", True), ("On", True), ("no", False), ("OFF", False)])
def test_a_yaml_word_is_a_truth_value_in_a_boolean_field_and_a_text_elsewhere(word: str, truth: bool) -> None:
    value, found = decode(Sample, {"inner": {"deep": Word(word)}, "someText": Word(word)})
    assert found == []
    assert (value.inner.deep, value.some_text) == (truth, word)


def test_a_document_that_is_no_map_is_one_fault() -> None:
    _, found = decode(Sample, [1])
    assert [str(one) for one in found] == [
        "the document: [...]: is not a map of fields; write one field a line, as in `name: value`"
    ]


def test_unusual_keys_of_a_path_are_in_brackets() -> None:
    assert (at("", "a"), at("a", "b"), at("a", "b.c")) == ("a", "a.b", "a[b.c]")


def test_a_field_that_is_known_beside_those_of_a_struct_is_no_fault() -> None:
    document = {"inner": {"deep": True, "deeper": 1, "dep": 2}, "table": {"any": "key"}, "other": 1}
    found = unknown_fields(Sample, document, also={Inner: ["deeper"], Sample: ["other"]})
    assert list(map(str, found)) == ["inner.dep: unknown field; did you mean deep?"]


class Amounts(msgspec.Struct, frozen=True):
    """The fields that a quantity is read into."""

    amount: Amount = Amount(0)
    rate: Rate = Rate(0)
    size: Size = Size(0)
    table: dict[str, Amount] = {}
    factor: float = 0.5
    percent: Annotated[float, msgspec.Meta(ge=0, le=100)] = 0.0


@pytest.mark.parametrize("field", ["amount", "rate", "size"])
@pytest.mark.parametrize("value", ["9223372036854775808", "10E", "1e30", "1e400"])
def test_an_amount_of_more_than_64_bits_is_a_fault(field: str, value: str) -> None:
    """They were read as 0, or called negative: `int64` of them wraps around."""
    read, found = decode(Amounts, {field: value})
    assert [each.wrong for each in found] == ["is out of range"]
    assert read == Amounts()


def test_cpu_and_a_binary_suffix_have_the_same_limit() -> None:
    read, found = decode(Amounts, {"amount": "9Ei", "table": {"cpu": "10E", "memory": "-1"}})
    assert [each.wrong for each in found] == ["is out of range", "is negative"]
    assert read.amount == 2**63 - 1  # a binary suffix saturates


def test_a_number_that_no_float_holds_is_a_fault() -> None:
    """`memoryThrottlingFactor` of 400 digits ended in a traceback."""
    assert [each.wrong for each in decode(Amounts, {"factor": 10**400})[1]] == ["is out of range"]


@pytest.mark.parametrize("value", [float("nan"), float("inf"), float("-inf"), -0.1, 100.5, 10**400])
def test_a_number_outside_of_its_bounds_is_a_fault(value: float) -> None:
    """A percentage of `.nan` or `.inf` in a world ended in a traceback, and one of 1000 was played."""
    [problem] = decode(Amounts, {"percent": value})[1]
    assert (problem.wrong, problem.remedy) == ("is out of range", "give a number from 0 to 100")
    assert not decode(Amounts, {"percent": 100, "factor": 1e300})[1]


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_what_is_no_finite_number_is_a_fault(value: float) -> None:
    assert [each.wrong for each in decode(Amounts, {"factor": value})[1]] == ["is out of range"]
