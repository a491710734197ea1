"""Checks the ranking of one cycle, and single amounts, from its record, which may be damaged."""

import pytest
from msgspec.structs import replace as changed

from evictd.core.model.signal import Signal
from evictd.render.history.recorded import ranked_pods, ranking_of, ranking_rows, recorded_amount
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
