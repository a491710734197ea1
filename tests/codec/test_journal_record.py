"""The part of a journal line that a history reads."""

import pytest

from evictd.codec.records.journal_record import RecordedHoldings, RecordedLevel, decode_record, name_of, uid_of
from evictd.errors import InputError
from tests.codec.test_journal import LINE


def test_a_record_has_what_happened_and_skips_the_rest() -> None:
    record = decode_record(LINE)
    assert (record.wall, record.now, record.extra.dry_run) == ("2026-01-01T00:00:00Z", 5, True)
    assert record.decisions[-1]["kind"] == "Wait"


@pytest.mark.parametrize(
    "line",
    [b"", b"{}", LINE[:-20], b"\xff", b"[]", LINE.replace(b'"now":5', b'"now":{}'), LINE.replace(b"/v1", b"/v9")],
)
def test_a_cut_or_foreign_line_is_refused(line: bytes) -> None:
    with pytest.raises(InputError):
        decode_record(line)


def test_holders_that_are_read_again_keep_the_lowest_amounts() -> None:
    """A pod may have taken all of it since the cycle before, and what belongs to no pod is the rest of what was read."""
    level = RecordedLevel(used=10, lowest=8, lowest_before=9, since=0)
    held = RecordedHoldings(used={"a": 5}, lowest={"a": 4, "gone": 1}, lowest_before={"a": 5}, elsewhere=level)
    again = held.read_again({"a": 3}, 7)
    assert (again.used, again.lowest_of_both("a")) == ({"a": 3}, 3)
    assert again.elsewhere is not None
    assert (again.elsewhere.used, again.elsewhere.lowest) == (7, 7)
    assert held.read_again({"a": 9}, None).elsewhere == level


def test_of_a_damaged_decision_uid_and_name_are_what_is_left_of_them() -> None:
    whole = {"pod": {"namespace": "shop", "name": "web", "uid": "u"}}
    assert (name_of(whole), uid_of(whole)) == ("shop/web", "u")
    assert name_of({"pod": {"name": "web", "namespace": None}}) == "web"
    damaged: list[dict[str, object]] = [{}, {"pod": 3}, {"pod": {}}]
    assert {name_of(each) + uid_of(each) for each in damaged} == {""}
