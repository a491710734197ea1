"""The tests of incident/relief."""

from dataclasses import replace

import pytest

from evictd.core.model.signal import Signal
from evictd.core.units.duration import SECOND
from evictd.render.history.history import EventKind, HistoryEvent
from evictd.render.incident.record.aftermath import MetAfter
from evictd.render.incident.record.incident import Incident
from evictd.render.incident.record.verdict import EvictionVerdict, Grower, Need
from evictd.render.incident.relief.relief import (
    cut_grace_lines,
    killed_at_end_text,
    reclaim_short_text,
    relief_lines,
    unsettled_text,
    went_for_reclaim,
)
from evictd.render.incident.summary import summary_text
from tests.render.recorded_incident import incident
from tests.stories import GI


def test_it_says_what_was_missing_what_came_back_and_whether_that_lasted() -> None:
    assert list(relief_lines(incident())) == [
        "1.5Gi was missing to 2Gi, the soft threshold; default/hog-old held 6Gi",
        "it had ended 2s later",
        "up to 5.5Gi came back: enough",
        "no threshold of memory.available was met again up to the journal's last record, 6m40s later",
        "ReplicaSet/hog created default/hog-new on this node within 12s",
    ]


def test_how_much_of_a_soft_grace_period_had_passed_is_said_where_the_hard_threshold_acted() -> None:
    """A pod went for 500Mi, and only `1Gi, the soft threshold` was named, which it had met for 52 of 90 s."""
    found = replace(incident(), soft=2 * GI, soft_grace=90 * SECOND, grace_left=38 * SECOND)
    said = "the soft threshold, 2Gi, had been met for 52s of its grace period of 1m30s when the hard one, 1Gi, acted"
    assert list(relief_lines(found))[1] == said
    for other in (replace(found, grace_left=0), replace(found, grace_left=None), replace(found, soft=None)):
        assert list(cut_grace_lines(other)) == []


def test_what_a_pod_held_of_pids_are_processes() -> None:
    """It said `held 29245`, of nothing."""
    first = next(relief_lines(replace(incident(), signal=Signal.PID_AVAILABLE)))
    assert first.endswith("default/hog-old held 6.44G processes")


def test_what_the_journal_shows_in_the_same_second_is_within_a_second() -> None:
    """The journal's times are whole seconds: "0.0s later" was said."""
    assert "it had ended within a second" in list(relief_lines(replace(incident(), gone_after=0.0)))


def test_a_threshold_that_was_met_again_and_many_new_pods_are_told() -> None:
    pods = tuple((f"default/hog-{number}", float(number)) for number in range(1, 118))
    lines = list(relief_lines(replace(incident(), met=MetAfter(again=13.0), successors=pods)))
    assert "13s later a threshold of memory.available was met again" in lines
    assert not any("up to the journal's last record" in line for line in lines)
    assert lines[-2:] == ["ReplicaSet/hog created default/hog-3 on this node within 3s", "and 114 more after it"]


def test_a_new_pod_that_is_recorded_late_may_have_come_long_before() -> None:
    lines = list(relief_lines(replace(incident(), successors=(("default/hog-new", 1763.0),))))
    assert lines[-1] == "ReplicaSet/hog created default/hog-new on this node, first recorded 29m23s later"


def test_a_missing_amount_of_a_few_bytes_has_a_unit() -> None:
    """`1 was missing` was said of memory."""
    found = replace(incident(), available=2 * GI - 1)
    assert next(relief_lines(found)).startswith("less than 1Ki was missing to 2Gi, the soft threshold")


def test_a_usage_of_an_earlier_cycle_is_said_to_be_one() -> None:
    first = next(relief_lines(replace(incident(), measured=False)))
    assert first.endswith("default/hog-old held 6Gi, as measured before: in that cycle it was not measured")


def test_what_a_pod_has_in_swap_is_said_beside_what_it_held() -> None:
    first, *_ = relief_lines(replace(incident(), swapped=2 * GI))
    assert first.endswith("default/hog-old held 6Gi, 2Gi of it in swap")


def test_where_nothing_came_back_no_amount_is_said() -> None:
    """`up to 0 came back` was said of a full disk."""
    points = ((0.0, 512 << 20), (3.0, 512 << 20))
    found = replace(incident(), points=points, clear=None, next_eviction=9.0, met=MetAfter(again=9.0))
    assert "nothing came back" in list(relief_lines(found))


def test_what_came_back_for_some_seconds_only_is_said_to() -> None:
    """`enough` was said of what lasted 12 s."""
    assert any(line.endswith("enough for 10s") for line in relief_lines(replace(incident(), met=MetAfter(again=12.5))))


@pytest.mark.parametrize(("risen", "left"), [(0, "nothing"), (-GI // 8, "nothing"), (GI // 8, "128Mi")])
def test_what_came_back_and_was_taken_again_by_the_last_record_is_not_said_to_be_there(risen: int, left: str) -> None:
    """300Mi "came back up to the last record", in which again nothing was left (world 02)."""
    points = ((0.0, GI // 2), (0.5, GI // 2 + GI // 4), (2.0, GI // 2 + risen))
    found = replace(incident(), points=points, known_for=2.0, clear=None, met=MetAfter(still=2.0))
    said = f"up to 256Mi came back, of which {left} is left at the journal's last record, 2s later"
    assert unsettled_text(found) == said
    assert said in list(relief_lines(found))


def test_where_growth_took_what_was_freed_it_is_not_said_that_nothing_was() -> None:
    """`nothing came back` was said where 300Mi were freed, and growth of 200Mi a second took them."""
    points = ((0.0, 512 << 20), (3.0, 512 << 20))
    grower = Grower(pod="", rate=200 << 20)
    verdict = EvictionVerdict(need=Need.NO_POD_HELPS, pod="default/hog-old", growers=(grower,), played=0)
    found = replace(incident(), points=points, clear=None, next_eviction=9.0, met=MetAfter(again=9.0), verdict=verdict)
    assert "no more was available afterwards: what grew took what its end freed" in list(relief_lines(found))


def test_memory_that_came_back_without_an_eviction_is_told() -> None:
    """The kernel killed a daemon of the host, and no command said that its 6GiB came back."""
    points = ((0.0, GI // 2), (60.0, GI // 2), (90.0, 6 * GI), (120.0, 5 * GI))
    found = replace(incident(), points=points, capacity=8 * GI, after=())
    told = "5.5Gi came back until 00:02:00 without an eviction: a process ended, or the kernel killed one (`journalctl -k`)"
    assert told in list(relief_lines(found))
    gone = HistoryEvent(at="2026-01-01T00:01:45Z", kind=EventKind.GONE, text="default/other is gone")
    assert told not in list(relief_lines(replace(found, after=(gone,))))
    assert told not in list(relief_lines(replace(found, capacity=64 * GI)))


def test_what_was_missing_says_what_is_counted() -> None:
    """`1 was missing` was said of processes."""
    found = replace(incident(), signal=Signal.PID_AVAILABLE, available=99, levels=(("hard", 100),))
    assert next(relief_lines(found)).startswith("1 process was missing to 100, the hard threshold")
    assert next(relief_lines(replace(found, available=9))).startswith("91 processes were missing to 100")


def test_that_no_pod_of_the_owner_came_says_how_long_the_journal_knows_of_unless_the_line_above_does() -> None:
    """`no new pod was seen` was said without a time, as if the owner had created none since."""
    told = "no new pod of ReplicaSet/hog was seen on this node"
    assert list(relief_lines(replace(incident(), successors=())))[-1] == told
    again = replace(incident(), successors=(), met=MetAfter(again=13.0))
    assert list(relief_lines(again))[-1] == f"{told} up to the journal's last record, 6m40s later"


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


def test_a_pod_that_does_not_end_on_sigterm_is_named() -> None:
    """It was killed at the end of its grace period, and only the seconds until its end were told (world 16)."""
    event = replace(incident().event, evidence={**incident().event.evidence, "gracePeriodSeconds": 30})
    found = replace(incident(), event=event, gone_after=30.0, after=())
    killed = ": it had not ended on SIGTERM, and was killed at the end of its grace period"
    assert killed_at_end_text(found) == killed
    assert f"it had ended 30s later{killed}" in list(relief_lines(found))
    assert "; it ended only when it was killed; " in summary_text(found)
    assert killed_at_end_text(replace(found, gone_after=12.0)) == ""
    assert killed_at_end_text(replace(found, gone_after=None)) == ""
    at = "2026-01-01T00:00:46Z"
    short = replace(event, kind=EventKind.SHORTENED, at=at, evidence={"gracePeriodSeconds": 1})
    cut = replace(found, event=replace(event, evidence={"gracePeriodSeconds": 600}), after=(short,), gone_after=18.0)
    assert killed_at_end_text(cut) == f"{killed}, shortened to 17s after the eviction"
    brief = replace(event, evidence={"gracePeriodSeconds": 1})
    assert killed_at_end_text(replace(found, event=brief)) == "", "a second is little for any pod"
