"""An eviction that cleared the threshold, and not its minimum reclaim."""

from dataclasses import replace

import pytest

from evictd.render.history.history import EventKind, HistoryEvent
from evictd.render.incident.incident import Incident
from evictd.render.incident.reclaim_short import reclaim_short_text, went_for_reclaim
from evictd.render.incident.relief import relief_lines
from evictd.render.incident.summary import summary_text
from tests.render.recorded_incident import incident
from tests.stories import GI


def then(available: str, signal: str = "memory.available") -> HistoryEvent:
    """An eviction that followed."""
    because = {"signal": signal, "limit": "2Gi", "available": available}
    return HistoryEvent(
        at="2026-01-01T00:00:33Z", kind=EventKind.EVICTED, text="evict", uid=available, evidence={"because": because}
    )


def for_more(*after: HistoryEvent, min_reclaim: int = 8 * GI) -> Incident:
    """The incident, after which these pods went, with a minimum reclaim larger than what came back."""
    found = incident()
    return replace(found, min_reclaim=min_reclaim, after=(*found.after, *after))


def test_pods_that_went_for_the_minimum_reclaim_are_counted() -> None:
    """One pod was said to be enough, and four more went within a second (world 22)."""
    short = "not for its minimum reclaim of 8Gi; 2 more pods went for that"
    found = for_more(then("3Gi"), then("5Gi"))
    assert reclaim_short_text(found) == short
    lines = list(relief_lines(found))
    assert f"up to 5.5Gi came back: enough for the threshold, {short}" in lines
    assert not any(each.startswith("no threshold of") for each in lines)
    assert f"enough for the threshold, {short}" in summary_text(found)
    assert reclaim_short_text(for_more(then("3Gi"))).endswith("; 1 more pod went for that")


@pytest.mark.parametrize(
    ("found", "count"),
    [
        (for_more(then("3Gi"), then("1Gi"), then("3Gi")), 1),
        (for_more(then("1Gi")), 0),
        (for_more(then("3Gi", "pid.available")), 0),
        (for_more(then("no amount")), 0),
        (for_more(then("3Gi"), min_reclaim=GI), 0),
    ],
    ids=["met again", "met", "another signal", "damaged", "reclaimed"],
)
def test_other_evictions_do_not_count(found: Incident, count: int) -> None:
    assert went_for_reclaim(found) == count
