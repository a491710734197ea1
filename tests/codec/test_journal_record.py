"""The part of a journal line that a history reads."""

import pytest

from evictd.codec.journal_record import decode_record
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
