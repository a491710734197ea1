"""Checks the ranking of one cycle, its amounts and its times, from its record, which may be damaged."""

import msgspec
import pytest
from msgspec.structs import replace as changed

from evictd.codec.records.journal_record import JournalRecord, RecordedKill
from evictd.core.model.signal import Signal
from evictd.core.units.duration import SECOND
from evictd.render.history.cause.recorded import (
    between_readings,
    ranked_pods,
    ranking_of,
    ranking_rows,
    recorded_amount,
)
from evictd.render.history.history import EventKind, history
from tests.daemon.world import GI
from tests.render.recorded_incident import OLD, recorded


def test_the_rows_are_in_the_order_of_eviction_with_the_evicted_pod_marked() -> None:
    record = next(each for each in recorded() if any(d.get("kind") == "EvictPod" for d in each.decisions))
    rows = list(ranking_rows(record, Signal.MEMORY_AVAILABLE, OLD.uid))
    assert (rows[0].number, rows[0].pod, rows[0].chosen) == (1, "default/hog-old", True)
    assert 0 < (rows[0].usage or 0) < 8 * GI
    assert ranked_pods(record, Signal.MEMORY_AVAILABLE) == len(rows) == 3
    assert list(ranking_rows(record, Signal.PID_AVAILABLE, OLD.uid)) == []


@pytest.mark.parametrize(("damaged", "rows"), [(["1e300", [1], {"usage": "5"}], [{}, {}, {}]), ("abc", []), (5, [])])
def test_a_row_that_is_damaged_is_an_empty_one(damaged: object, rows: list[object]) -> None:
    """`incident` ended in a traceback. The rows behind it keep their numbers."""
    ranking = {"kind": "Ranking", "signal": "memory.available", "rows": damaged, "pods": "many"}
    record = changed(recorded()[0], findings=(ranking,))
    assert ranking_of(record, Signal.MEMORY_AVAILABLE)["rows"] == rows
    assert ranked_pods(record, Signal.MEMORY_AVAILABLE) == len(rows)
    assert not list(ranking_rows(record, Signal.MEMORY_AVAILABLE, OLD.uid))


@pytest.mark.parametrize(
    ("text", "amount"), [("4Gi", 4 << 30), (12, 12), ("1500m", 2), ("damaged", None), (None, None), ({}, None)]
)
def test_an_amount_that_is_missing_or_damaged_is_none(text: object, amount: int | None) -> None:
    assert recorded_amount(text) == amount


def found_after(seconds: int | None, wall: str = "2026-01-01T11:50:29Z") -> JournalRecord:
    """A record with a kill, so long after the cycle before."""
    whole = recorded()[-1]
    last = None if seconds is None else whole.now - seconds * SECOND
    state = msgspec.structs.replace(whole.state, last_cycle_at=last)
    extra = msgspec.structs.replace(
        whole.extra, kernel_killed=(RecordedKill(where="default/static", uid="uid-static", count=1),)
    )
    return msgspec.structs.replace(whole, wall=wall, state=state, extra=extra)


def test_a_kill_was_between_the_last_reading_and_the_one_that_found_it() -> None:
    """A kill was dated 10 s after the time from which on no threshold was met, which it was the cause of (world 15)."""
    between = "; it was between 11:50:19 and 11:50:29"
    record = found_after(10)
    assert between_readings(record) == between
    (killed,) = (each for each in history([record]) if each.kind is EventKind.KERNEL)
    assert killed.text.endswith(f"not at a limit of the pod{between}")


def test_it_is_not_said_where_the_time_of_the_last_reading_is_not_known_or_a_moment_before() -> None:
    assert between_readings(found_after(None)) == ""
    assert between_readings(found_after(0)) == ""
    assert between_readings(found_after(10, wall="damaged")) == ""
