"""A soft threshold that was met while its grace period went on."""

import msgspec

from evictd.core.units.duration import SECOND
from evictd.render.history.soft_met import soft_met_text
from tests.render.recorded_journal import journal


def said(*left: int | None, met: bool = True) -> str:
    """What is said of thresholds of memory with so many seconds of their grace period left."""
    findings = tuple(
        {
            "threshold": {"signal": "memory.available"},
            "met": met,
            "graceLeftNanoseconds": None if each is None else each * SECOND,
        }
        for each in left
    )
    return soft_met_text(msgspec.structs.replace(journal()[0], findings=findings))


def test_what_is_left_of_the_grace_period_is_named() -> None:
    """A condition began without an eviction, and nothing said that a grace period went on (world 34)."""
    assert said(90) == (
        "the soft threshold of memory.available was met with 1m30s of its grace period left then, so no pod had to go yet"
    )


def test_nothing_is_said_where_none_goes_on() -> None:
    assert said(90, met=False) == ""
    assert said(None) == ""
    assert said(90, 0) == "", "a hard threshold is met as well"
    assert soft_met_text(msgspec.structs.replace(journal()[0], findings=({"met": True},))) == ""
