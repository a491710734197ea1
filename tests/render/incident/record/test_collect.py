"""An incident, collected from the records of a journal."""

from dataclasses import replace

import msgspec
import pytest

from evictd.codec.records.journal_record import (
    RecordedExtra,
    RecordedMemory,
    RecordedNode,
    RecordedSummary,
    decode_record,
)
from evictd.commands.played.world_journal import journal_lines as journal_lines_of
from evictd.core.model.signal import Signal
from evictd.core.units.duration import SECOND
from evictd.render.history.evictions import evictions_of, find_eviction
from evictd.render.history.history import EventKind
from evictd.render.incident.record.aftermath import MetAfter
from evictd.render.incident.record.collect import incident_of
from evictd.render.incident.relief.relief import relief_lines
from evictd.render.incident.remedy.avoidance import avoidance
from evictd.render.incident.remedy.avoided import Avoidance
from tests.daemon.world import GI
from tests.render.played_worlds import incident_run, unread_leak_run
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


def test_later_evictions_for_the_same_resource_are_known_however_late() -> None:
    records = recorded()
    (event,) = evictions_of(records)
    late = replace(event, at="2026-01-01T01:00:30Z", uid="late")
    other = replace(late, evidence={"because": {"signal": "pid.available"}})
    soon = replace(event, at="2026-01-01T00:05:30Z", uid="soon")
    assert incident_of(records, [event, soon, late, other], event.uid).evicted_later == (late,)


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
    less = "less usage, or a higher limit of its own, which growth reaches later: "
    assert avoidance(found) == Avoidance(by=(f"{less}no other pod had a part in it",))
    because = {"signal": "ephemeralpodfs.limit", "usage": "2200Mi", "limit": "2Gi"}
    known = replace(found, event=replace(event, evidence={**event.evidence, "because": because}))
    held = "it used 2.15Gi with a limit of 2Gi; "
    assert avoidance(known) == Avoidance(by=(f"{less}{held}no other pod had a part in it",))


def test_how_long_tasks_stalled_for_memory_is_read() -> None:
    records = recorded()
    memory = RecordedMemory(stalled=2500)
    seen = msgspec.structs.replace(
        records[1].observation, summary=RecordedSummary(node=RecordedNode(node_name="node-1", memory=memory))
    )
    records[1] = msgspec.structs.replace(records[1], observation=seen)
    assert incident_of(records, evictions_of(records), "last").stalled == 2500
    assert incident().stalled == 0


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


def test_what_came_before_is_told_since_the_supply_began_to_fill() -> None:
    """Two evictions and the pause after them were eleven minutes before, and left out (world 02)."""
    lines = journal_lines_of(incident_run("02-host-path-writer"), end=1_800_000_000 * SECOND)
    records = [decode_record(line) for line in lines]
    found = incident_of(records, evictions_of(records), "default/web-2")
    assert [each.pod for each in found.before if each.kind is EventKind.EVICTED] == ["default/web-0", "default/web-1"]
    assert any(each.kind is EventKind.NO_ACTION for each in found.before)


def test_a_pod_leaves_until_the_journal_has_its_end() -> None:
    """A pod with a grace period of 600 s was said to have gone while it still ran (world 16)."""
    records = recorded()
    cut = next(n for n, each in enumerate(records) if any(d.get("kind") == "EvictPod" for d in each.decisions)) + 1
    for last, leaves in ((cut, True), (cut + 1, False), (len(records), False)):
        assert incident_of(records[:last], evictions_of(records), "last").leaves is leaves
    dry = recorded(dry_run=True)[:cut]
    assert not incident_of(dry, evictions_of(dry), "last").leaves, "a dry run evicts no pod"


@pytest.mark.parametrize(("since", "alone"), [(180, True), (240, False)])
def test_one_pod_alone_that_was_not_read_is_measured_by_the_rest_of_the_pods_cgroup(since: int, alone: bool) -> None:
    """It said that how much the pod took is not known, beside `it uses 2.63Gi` and `all of it default/leak`."""
    lines = journal_lines_of(unread_leak_run(since, alone=alone), end=1_800_000_000 * SECOND)
    records = [decode_record(line) for line in lines]
    found = incident_of(records, evictions_of(records), "last")
    assert found.event.pod == "default/leak"
    assert found.measured is alone
