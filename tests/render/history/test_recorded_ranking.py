"""The ranking of one cycle, read from its record."""

from evictd.core.model.signal import Signal
from evictd.render.history.recorded_ranking import ranked_pods, ranking_rows
from tests.daemon.world import GI
from tests.render.recorded_incident import OLD, recorded


def test_the_rows_are_in_the_order_of_eviction_with_the_evicted_pod_marked() -> None:
    record = next(each for each in recorded() if any(d.get("kind") == "EvictPod" for d in each.decisions))
    rows = list(ranking_rows(record, Signal.MEMORY_AVAILABLE, OLD.uid))
    assert (rows[0].number, rows[0].pod, rows[0].chosen) == (1, "default/hog-old", True)
    assert 0 < (rows[0].usage or 0) < 8 * GI
    assert ranked_pods(record, Signal.MEMORY_AVAILABLE) == len(rows) == 3
    assert list(ranking_rows(record, Signal.PID_AVAILABLE, OLD.uid)) == []
