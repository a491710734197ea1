"""Until when evictions pause at the end of a journal."""

from typing import Any

import msgspec
import pytest

from evictd.codec.journal_record import JournalRecord
from evictd.core.model.signal import Signal
from evictd.core.units.duration import MINUTE, SECOND
from evictd.render.incident.pause import pause_clause
from tests.render.recorded_journal import journal

NOW = 3600 * SECOND
PAUSE = "evictions pause until 01:20:00, and one more pod goes then if a threshold is still met"


def paused(**changed: Any) -> JournalRecord:
    """A record whose evictions pause for twenty minutes more."""
    finding = {"kind": "NoAction", "why": "EvictionsDoNotHelp", "signal": "nodefs.available", "needed": "3Gi"}
    finding |= {"until": NOW + 20 * MINUTE} | changed
    return msgspec.structs.replace(journal()[0], wall="2026-01-01T01:00:00Z", now=NOW, findings=(finding,))


def test_it_says_until_when_they_pause_and_what_was_missing() -> None:
    """`now` named the writer to look for, and not that one more pod goes twenty minutes later (world 03)."""
    told = f"3Gi was missing at the last record; {PAUSE}"
    assert pause_clause(paused(), Signal.NODEFS_AVAILABLE) == told
    assert pause_clause(paused(), Signal.CONTAINERFS_AVAILABLE) == told, "of the same condition"


def test_a_count_has_a_unit_and_an_amount_that_is_not_known_is_left_out() -> None:
    pids = paused(signal="pid.available", needed="91")
    assert pause_clause(pids, Signal.PID_AVAILABLE).startswith("91 processes were missing at the last record; ")
    assert pause_clause(paused(needed=None), Signal.NODEFS_AVAILABLE) == PAUSE
    assert pause_clause(paused(needed="0"), Signal.NODEFS_AVAILABLE) == PAUSE


@pytest.mark.parametrize(
    "changed", [{"why": "NoCandidates"}, {"until": None}, {"signal": "memory.available"}, {"signal": "new"}]
)
def test_nothing_is_said_without_a_pause_of_that_condition(changed: dict[str, Any]) -> None:
    assert pause_clause(paused(**changed), Signal.NODEFS_AVAILABLE) == ""


def test_nothing_is_said_of_a_damaged_time_or_a_limit_of_the_pod_alone() -> None:
    assert pause_clause(msgspec.structs.replace(paused(), wall="damaged"), Signal.NODEFS_AVAILABLE) == ""
    assert pause_clause(paused(), None) == ""
