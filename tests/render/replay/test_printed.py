"""What is printed of entries that were decided again."""

import io
from dataclasses import replace

from evictd.core.model.decision import EvictPod, ReclaimNode, ReportConditions
from evictd.core.model.finding import ThresholdFinding
from evictd.core.model.observation import Reclaim
from evictd.core.units.quantity import of_bytes
from evictd.render.console import make_console
from evictd.render.replay.changed_values import changed_words
from evictd.render.replay.printed import print_replayed, print_victims, replay_document
from evictd.render.replay.replayed import NOTHING_UNKNOWN, Replayed, victims_text
from evictd.render.text import threshold_text
from tests.daemon.world import DISK, GI, NOW, step
from tests.render.replay.test_replayed import entry


def test_a_field_that_differs_is_named_in_words() -> None:
    """A reader could not interpret `measured of ReclaimNode: ["rotatedLogs"] -> []`."""
    reclaim = ReclaimNode(actions=(Reclaim.CONTAINERS,), threshold=DISK, measured=(Reclaim.ROTATED_LOGS,))
    then = replace(step(4 * GI), decisions=(reclaim,))
    now = replace(then, decisions=(replace(reclaim, measured=()),))
    out = io.StringIO()
    replayed, console = [Replayed(entry=entry(then), step=now)], make_console(out, 160)
    print_replayed(replayed, console, other=True)
    print_victims(replayed, NOTHING_UNKNOWN, console, other=True)
    assert out.getvalue().splitlines()[1:4] == [
        "  differs: delete unused containers for nodefs.available: rotated logs would not be measured",
        "1 entry, 1 would have been decided differently (that only in what is measured)",
        "No victim differs: no pod is evicted, then or now.",
    ]


def test_a_decision_with_another_threshold_as_its_reason_is_not_counted_as_another_one() -> None:
    """`1 would have been decided differently`, where the same pod went for a threshold of 600Mi instead of 500Mi (world 39)."""
    evicts = step(GI // 2)
    (eviction,) = (each for each in evicts.decisions if isinstance(each, EvictPod))
    higher = replace(eviction, message="m", because=replace(eviction.because, limit=of_bytes(3 * GI)))
    sooner = replace(higher, grace_period_seconds=eviction.grace_period_seconds + 1)
    for now, alone in ((higher, " (that only in the threshold and the amounts that are the reason)"), (sooner, "")):
        decisions = tuple(now if each is eviction else each for each in evicts.decisions)
        out = io.StringIO()
        one = Replayed(entry=entry(evicts), step=replace(evicts, decisions=decisions))
        print_replayed([one], make_console(out, 160), other=True)
        assert out.getvalue().splitlines()[-1] == f"1 entry, 1 would have been decided differently{alone}"
        assert ("at 2026" in out.getvalue()) is not bool(alone), "it is in the count alone"


def test_entries_that_differ_only_in_node_conditions_are_counted_apart() -> None:
    """`8 entries, 7 would have been decided differently` were seven reports of MemoryPressure, and played three pods go."""
    met, calm = step(GI // 2), step(4 * GI)
    reports = replace(met, decisions=tuple(each for each in met.decisions if isinstance(each, ReportConditions)))
    assert reports.decisions
    for other, alone in ((reports, " (that only in the node conditions that are reported)"), (met, "")):
        out = io.StringIO()
        one = Replayed(entry=entry(other), step=replace(calm, decisions=()))
        print_replayed([one], make_console(out, 160), other=True)
        assert out.getvalue().splitlines()[-1] == f"1 entry, 1 would have been decided differently{alone}"


def test_cycles_of_one_second_are_told_apart() -> None:
    """Five cycles of the same second had the same heading: a journal has whole seconds (world 22)."""
    never = Replayed(entry=entry(step(GI // 2)), step=step(4 * GI))
    later = replace(never, entry=replace(never.entry, now=NOW + 200_000_000))
    out = io.StringIO()
    print_replayed([never, later], make_console(out, 160), other=True)
    headings = [each for each in out.getvalue().splitlines() if each.startswith("at ")]
    assert headings == [
        "at 2026-01-01T00:00:00Z",
        "at 2026-01-01T00:00:00Z (200ms after the first cycle of that second)",
    ]


def test_differences_past_the_end_of_the_readings_are_marked() -> None:
    """They stood as `would have been decided differently` beside `the recorded readings end at the first of 7 evictions`."""
    never = Replayed(entry=entry(step(GI // 2)), step=step(4 * GI))
    late = Replayed(entry=entry(step(4 * GI)), step=step(GI // 2))
    mark = "From here on the readings are those after an eviction that would not have been:"
    for replayed, at in (([never, late, replace(late)], 1), ([late, never], None), ([never], None)):
        out = io.StringIO()
        print_replayed(replayed, make_console(out, 160), other=True)
        lines = [each for each in out.getvalue().splitlines() if each.startswith("at ") or each == mark]
        assert (lines.index(mark) if mark in lines else None, len(lines)) == (at, len(replayed) + (at is not None))


def test_evictions_by_readings_without_one_that_would_have_been_are_marked() -> None:
    """Two pods of shop/web were named that no play evicts: the pod that went before them grew on in the recorded readings."""
    late = Replayed(entry=entry(step(4 * GI)), step=step(GI // 2))
    out = io.StringIO()
    print_replayed([late, replace(late)], make_console(out, 160), other=True)
    lines = [each for each in out.getvalue().splitlines() if each.startswith(("at ", "From"))]
    assert lines == [
        lines[0],
        "From here on the readings are those without an eviction that would have been:",
        lines[0],
    ]


def test_the_document_marks_readings_of_another_course() -> None:
    """Its entries after an eviction that would have been looked like decisions by readings that would have been."""
    late = Replayed(entry=entry(step(4 * GI)), step=step(GI // 2))
    never = Replayed(entry=entry(step(GI // 2)), step=step(4 * GI))
    without, after = "without an eviction that would have been", "after an eviction that would not have been"
    for first, other, marked in ((late, True, without), (never, True, after), (late, False, "")):
        entries = replay_document([first, replace(first)], NOTHING_UNKNOWN, other=other)["entries"]
        assert [each["readings"] for each in entries] == ["", marked]


def test_many_differences_past_the_end_of_the_readings_are_counted() -> None:
    """Forty lines that say nothing of the other configuration stood between the first difference and the conclusion."""
    never = Replayed(entry=entry(step(GI // 2)), step=step(4 * GI))
    out = io.StringIO()
    print_replayed([never, *(replace(never) for _ in range(5))], make_console(out, 200), other=True)
    lines = out.getvalue().splitlines()
    assert len([each for each in lines if each.startswith("at ")]) == 1
    assert lines[-2:] == [
        "5 more entries differ, by readings after an eviction that would not have been; --output json has them.",
        "6 entries, 6 would have been decided differently",
    ]
    victim = Replayed(entry=entry(step(4 * GI)), step=step(GI // 2))
    out = io.StringIO()
    print_replayed([never, *(replace(never) for _ in range(4)), victim], make_console(out, 200), other=True)
    assert out.getvalue().count("\nat ") == 5, "a pod that goes now is not left out"


def test_a_threshold_that_the_readings_before_an_eviction_met_is_named() -> None:
    """It claimed the same pods at the same times, where the pod goes 1m42s earlier: those readings are not in the journal."""
    evicts = step(GI // 2)
    recorded = next(each for each in evicts.findings if isinstance(each, ThresholdFinding) and each.met)
    name, signal = threshold_text(recorded.threshold), recorded.threshold.signal.value
    limit = recorded.limit.value()
    now = replace(evicts, findings=(replace(recorded, limit=of_bytes(limit + GI)),))
    trend = [[130.5, limit + 2 * GI], [90.0, limit + 1], [4.0, limit - 1], [0.0, GI // 2], ["damaged", 1], 7]
    then = replace(entry(evicts), extra={"trend": {signal: trend}})
    one = Replayed(entry=then, step=now)
    out = io.StringIO()
    console = make_console(out, 240)
    print_replayed([one], console, other=True)
    print_victims([one], NOTHING_UNKNOWN, console, other=True)
    lines = out.getvalue().splitlines()
    assert any(
        line.startswith("1 entry, ") and line.endswith(", but a threshold would have been met earlier")
        for line in lines
    )
    assert victims_text([one]) == "No victim differs in the recorded readings: default/hog."
    earlier = "would have been met at least 1m30s before the eviction of default/hog at 2026-01-01T00:00:00Z"
    assert (
        f"{name} {earlier}; the journal has no complete reading of that time, when another pod may have gone." in lines
    )
    assert replay_document([one], NOTHING_UNKNOWN, other=True)["entries"][0]["metEarlier"] == [
        {"threshold": name, "seconds": 90.0}
    ]
    calm = Replayed(entry=entry(step(4 * GI)), step=step(4 * GI))
    assert replay_document([calm], NOTHING_UNKNOWN, other=True)["entries"][0]["metEarlier"] == []


def test_words_that_are_replaced_are_shown_with_what_they_are() -> None:
    """`payments/cache -> batch/crawler-0, 4.24Gi -> 2.44Gi, 2Gi -> 1Gi` did not say which amounts these are."""
    then, now = (
        f"evict {pod} (grace period 60s) for memory.available: 1.9Gi left, threshold 2Gi; it uses {uses}, requests {asks}"
        for pod, uses, asks in (("payments/cache", "4.24Gi", "2Gi"), ("batch/crawler-0", "2.44Gi", "1Gi"))
    )
    assert changed_words(then, now) == (
        "evict payments/cache -> batch/crawler-0, uses 4.24Gi -> 2.44Gi, requests 2Gi -> 1Gi"
    )


def test_words_that_one_side_lacks_are_not_shown_as_replaced() -> None:
    """`just under -> nothing, 500Mi -> 1.94Gi (2Gi less what no process can allocate` could not be read."""
    rest = "left, threshold 500Mi; it uses 1.37Gi, requests none"
    assert (
        changed_words(f"(grace period 1s) for memory: 500Mi {rest}", f"(grace period 30s) for memory: 500Mi {rest}")
        == "period 1s -> 30s"
    )
    assert (
        changed_words(
            f"(grace period 1s) for memory: just under 500Mi {rest}", f"(grace period 30s) for memory: 500Mi {rest}"
        )
        == ""
    )
