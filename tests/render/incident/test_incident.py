"""An incident, collected from the records of a journal."""

from dataclasses import replace

import msgspec
import pytest

from evictd.codec.journal_record import (
    RecordedExtra,
    RecordedMemory,
    RecordedNode,
    RecordedSummary,
    decode_record,
)
from evictd.commands.world_journal import journal_lines as journal_lines_of
from evictd.core.model.signal import Signal
from evictd.core.units.duration import SECOND
from evictd.render.history.evictions import evictions_of, find_eviction
from evictd.render.history.history import EventKind
from evictd.render.incident.aftermath import MetAfter
from evictd.render.incident.avoidance import Avoidance, avoidance
from evictd.render.incident.incident import incident_of
from evictd.render.incident.relief import relief_lines
from evictd.render.incident.verdict import EvictionVerdict, Need
from tests.daemon.world import GI
from tests.render.played_worlds import incident_run
from tests.render.recorded_incident import incident, recorded


def test_it_has_the_signal_the_ranking_and_what_came_back() -> None:
    found = incident()
    assert (found.event.pod, found.signal, found.available) == ("default/hog-old", Signal.MEMORY_AVAILABLE, GI // 2)
    assert found.levels == (("soft", 2 * GI), ("hard", GI))
    assert found.points[0] == (-30.0, 3 * GI)
    assert (-10.0, 3 * GI // 2) in found.points
    assert [(row.pod, row.chosen, row.protected) for row in found.ranking] == [
        ("default/hog-old", True, False), ("default/etcd", False, True), ("default/web", False, False)
    ]  # fmt: skip
    assert found.gone_after == 2
    assert found.successors == (("default/hog-new", 12.0),)
    assert found.rate == pytest.approx(5 * GI / 2 / 30, rel=0.1)


def test_readings_of_one_second_are_in_the_order_in_which_they_were_made() -> None:
    """Of an eviction and the relief 0.2 s later the chart showed the second at the time of the first."""
    records = recorded()
    index = next(n for n, each in enumerate(records) if any(d.get("kind") == "EvictPod" for d in each.decisions))
    evicting, later = records[index : index + 2]
    soon = msgspec.structs.replace(later, wall=evicting.wall, now=evicting.now + SECOND // 5)
    found = incident_of([*records[:index], evicting, soon], evictions_of(records), "last")
    assert dict(found.points)[0.0] == GI // 2
    assert 0.2 in dict(found.points)
    next_second = msgspec.structs.replace(soon, wall=later.wall.replace("00:00:32", "00:00:31"))
    found = incident_of([*records[:index], evicting, next_second], evictions_of(records), "last")
    assert found.gone_after == pytest.approx(0.2), (
        "it was told to have ended 1s later, beside a chart that ended after 0.2 s"
    )


def test_what_is_missing_counts_to_the_highest_limit_or_the_minimum_reclaim() -> None:
    """`1.17Gi left, threshold 1Gi` stood there without a word of the minimum reclaim."""
    found = incident()
    assert found.short_of == ("soft", 2 * GI, 3 * GI // 2)
    assert not found.kept_by_min_reclaim
    kept = replace(found, available=9 * GI // 4, min_reclaim=GI)
    assert kept.short_of == ("minimum reclaim of the soft", 3 * GI, 3 * GI // 4)
    assert kept.kept_by_min_reclaim
    assert replace(kept, min_reclaim=0).short_of is None


def test_it_knows_its_node_and_whether_a_threshold_was_met_again() -> None:
    found = incident()
    assert (found.node, found.met, found.known_for, found.of_owner) == ("node-1", MetAfter(), 400.0, 1)
    records = recorded()
    short = [each for each in records if any(d.get("kind") == "EvictPod" for d in each.decisions)]
    again = msgspec.structs.replace(short[0], wall="2026-01-01T00:05:00Z", now=records[-2].now + 250 * SECOND)
    later = [*records[:-1], again]
    assert incident_of(later, evictions_of(records), "last").met == MetAfter(again=270.0)


def test_a_supply_that_was_clear_without_a_record_got_back_what_was_missing() -> None:
    """`stayed met for 15m10s` was said of a disk that was clear after a second, and `too little` of 3Gi."""
    records = recorded()
    short = next(each for each in records if any(d.get("kind") == "EvictPod" for d in each.decisions))
    state = msgspec.structs.replace(short.state, clear_since={"memory.available": short.now + 2 * SECOND})
    again = msgspec.structs.replace(short, wall="2026-01-01T00:05:00Z", now=short.now + 270 * SECOND, state=state)
    again = msgspec.structs.replace(again, decisions=(), observation=records[2].observation, extra=RecordedExtra())
    found = incident_of([*records[:2], again], evictions_of(records), "last")
    assert (found.clear, found.was_clear, found.met) == (2.0, True, MetAfter(again=270.0))
    assert found.came_back == found.missing == 3 * GI // 2
    assert "at least 1.5Gi came back: enough" in list(relief_lines(replace(found, gone_after=2.0)))


def test_whether_the_host_filled_it_is_read_from_the_attribution() -> None:
    found = recorded()
    assert incident_of(found, evictions_of(found), "last").host_filled
    outdated = [
        msgspec.structs.replace(
            each, findings=tuple({**f, "outdated": 1} if f["kind"] == "Attribution" else f for f in each.findings)
        )
        for each in found
    ]
    assert not incident_of(outdated, evictions_of(outdated), "last").host_filled


def test_what_is_around_it_is_told_and_the_events_are() -> None:
    found = incident()
    assert [event.text for event in found.after][:1] == ["default/hog-old is gone"]
    assert "MemoryPressure begins" in [event.text for event in found.before]
    reason, message = found.events[-1]
    assert reason == "Evicted"
    assert message == (
        "The node was low on resource: memory. Threshold quantity: 1Gi, available: 512Mi. Evicted default/hog-old (6Gi): it "
        "requests none and uses 6Gi; default/web, the next, exceeds its request of 1Gi by 4Gi; both have priority 0, so the "
        "larger excess decides."
    )


def test_what_came_before_a_boot_is_before_it() -> None:
    """The clock of the records begins anew at a boot: by it, what came before was after."""
    first, *others = recorded()
    earlier = msgspec.structs.replace(
        recorded()[1], now=first.now * 9, wall="2025-12-31T23:59:00Z", decisions=({"kind": "ReportConditions",
        "conditions": ["PIDPressure"]},),
    )  # fmt: skip
    records = [earlier, first, *others]
    found = incident_of(records, evictions_of(records), "last")
    assert "PIDPressure begins" in [event.text for event in found.before]
    assert "PIDPressure begins" not in [event.text for event in found.after]


def test_a_dry_run_wrote_no_event_and_nothing_came_back() -> None:
    found = incident(dry_run=True)
    assert "Evicted" not in [reason for reason, _ in found.events]
    assert found.event.why.startswith("Would evict")


def test_damaged_findings_give_less_and_no_error() -> None:
    records = [
        msgspec.structs.replace(
            record, findings=({"kind": "Threshold", "threshold": 3}, {"kind": "Ranking", "rows": [{}]})
        )
        for record in recorded()
    ]
    found = incident_of(records, evictions_of(records), "last")
    assert (found.ranking, found.levels, found.came_back) == ((), (), None)
    assert list(relief_lines(found))
    assert avoidance(found).not_by


def test_an_eviction_for_a_limit_of_its_own_has_no_signal() -> None:
    records = recorded()
    event = find_eviction(evictions_of(records), "last")
    own = replace(event, evidence={**event.evidence, "because": {"signal": "ephemeral-storage limit"}})
    found = incident_of(records, [own], "last")
    assert found.signal is None
    assert list(relief_lines(found)) == []
    assert avoidance(found) == Avoidance(
        by=("a higher limit of its own, or less usage: no other pod had a part in it",)
    )


def test_how_long_tasks_stalled_for_memory_is_read() -> None:
    records = recorded()
    memory = RecordedMemory(stalled=2500)
    seen = msgspec.structs.replace(
        records[1].observation, summary=RecordedSummary(node=RecordedNode(node_name="node-1", memory=memory))
    )
    records[1] = msgspec.structs.replace(records[1], observation=seen)
    assert incident_of(records, evictions_of(records), "last").stalled == 2500
    assert incident().stalled == 0


def test_what_came_back_is_judged_only_once_it_was_read() -> None:
    """Seconds after an eviction `too little` was said of 68Gi: no reading had been made since."""
    short = replace(
        incident(), points=((0.0, GI // 2), (2.0, GI // 2)), clear=None, known_for=2.5, met=MetAfter(still=2.0)
    )
    assert not short.settled
    lines = list(relief_lines(short))
    assert "nothing came back up to the journal's last record, 2s later" in lines
    assert not any("stayed met" in each for each in lines)
    later = replace(short, known_for=20.0)
    assert later.settled
    assert "nothing came back" in list(relief_lines(later))
    open_end = replace(later, met=MetAfter(still=11.0))
    last = "a threshold of memory.available was still met at the journal's last record, 11s later"
    assert last in list(relief_lines(open_end)), "`stayed met for 11s` reads as if it had ended then"
    ended = replace(open_end, clear=70.0, met=MetAfter(still=70.0))
    assert "a threshold of memory.available stayed met for 1m10s after its eviction" in list(relief_lines(ended))
    assert replace(short, next_eviction=2.0).settled, "another pod was chosen, which waits for what comes back"
    assert not replace(later, gone_after=None).settled


def test_what_evictd_measured_came_back_where_a_reading_has_less() -> None:
    found = replace(incident(), points=((-10.0, 0), (40.0, 2 * GI)), available=0, clear=None, freed=3 * GI)
    assert found.came_back == 3 * GI
    assert replace(found, freed=GI).came_back == 2 * GI


def test_it_knows_whether_the_condition_stood_at_the_end() -> None:
    records = recorded()
    assert not incident_of(records, evictions_of(records), "last").pressed
    cut = next(n for n, each in enumerate(records) if any(d.get("kind") == "EvictPod" for d in each.decisions)) + 1
    short = incident_of(records[:cut], evictions_of(records), "last")
    assert short.pressed
    assert short.still_met
    clear = incident_of(records[: cut + 1], evictions_of(records), "last")
    assert clear.pressed
    assert not clear.still_met, "the condition stands for minutes after the threshold cleared"


def test_a_full_disk_was_full_since_its_first_reading_without_anything_left() -> None:
    """The headline left out that the disk had been full for 90 s while evictd paused."""
    found = replace(incident(), available=0, points=((-120.0, 5), (-90.0, 0), (-30.0, 0), (0.0, 0), (1.0, 7)))
    assert found.full_since == 90.0
    assert replace(found, available=5).full_since is None
    assert replace(found, points=((-90.0, 0), (0.0, 5))).full_since is None


def test_the_end_of_pods_is_needed_for_a_time_only_where_no_pod_fills_it() -> None:
    """A program read `Needed` where the account said `for a time only`."""
    verdict = EvictionVerdict(need=Need.NEEDED, pod="default/hog-old", played=0)
    found = replace(incident(), verdict=verdict, host_filled=True, met=MetAfter(again=60.0))
    assert found.need is Need.FOR_A_TIME
    assert replace(found, host_filled=False).need is Need.NEEDED
    assert replace(found, verdict=None).need is None


def test_the_rate_is_that_of_a_burst_which_began_within_the_minute() -> None:
    """A pod that took 200Mi a second for 27 s was said to grow by 62Mi a second."""
    flat = ((-80.0, 6 * GI), (-50.0, 6 * GI), (-27.0, 6 * GI))
    burst = (*flat, (-15.0, 6 * GI - 12 * GI // 5), (0.0, 6 * GI - 27 * GI // 5))
    assert replace(incident(), points=burst).rate == pytest.approx(GI / 5, rel=0.02)


def test_the_chart_of_a_supply_that_was_empty_for_long_begins_with_the_fall() -> None:
    """It was flat at 0 for its five minutes (world 14)."""
    fell = ((-700.0, GI), (-600.0, 0), (-400.0, 0), (-200.0, 0), (0.0, 0), (9.0, 0), (500.0, GI))
    found = replace(incident(), available=0, points=fell)
    assert found.drawn == fell[:-1]
    assert replace(found, available=1, points=((-700.0, GI), *((at, 1) for at, _ in fell[1:-1]))).drawn[0][0] == -200.0


def test_what_came_before_is_told_since_the_supply_began_to_fill() -> None:
    """Two evictions and the pause after them were eleven minutes before, and left out (world 02)."""
    lines = journal_lines_of(incident_run("02-host-path-writer"), end=1_800_000_000 * SECOND)
    records = [decode_record(line) for line in lines]
    found = incident_of(records, evictions_of(records), "default/web-2")
    assert [each.pod for each in found.before if each.kind is EventKind.EVICTED] == ["default/web-0", "default/web-1"]
    assert any(each.kind is EventKind.NO_ACTION for each in found.before)
