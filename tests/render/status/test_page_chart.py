"""The line of a signal on the page: its scales and marks."""

from dataclasses import replace

from evictd.core.model.signal import Signal
from evictd.render.status.page_chart import EvictionMark, eviction_marks, page_chart

MI = 1 << 20


def test_the_time_that_was_recorded_takes_the_whole_width() -> None:
    made = page_chart([(10.0, 100 * MI), (0.0, 50 * MI)], [("hard", 20 * MI)], Signal.MEMORY_AVAILABLE)
    assert made is not None
    assert made.begin == "10s ago"
    assert [point.split(",")[0] for point in made.points.split()] == ["0.0", "120.0"]
    assert (made.top, made.bottom) == ("120Mi", "0")
    assert [kind for kind, _ in made.lines] == ["hard"]


def test_without_a_time_between_readings_there_is_no_line() -> None:
    assert page_chart([], [], Signal.MEMORY_AVAILABLE) is None
    assert page_chart([(0.0, 1)], [], Signal.MEMORY_AVAILABLE) is None
    assert page_chart([(0.2, 1), (0.0, 2)], [], Signal.MEMORY_AVAILABLE) is None


def test_the_line_goes_on_to_the_present_at_the_height_of_the_last_reading() -> None:
    """It ended before "now". What was not read is drawn apart from what was."""
    made = page_chart([(10.0, 4), (5.0, 2)], [], Signal.PID_AVAILABLE)
    assert made is not None
    assert [point.split(",")[0] for point in made.points.split()] == ["0.0", "60.0"]
    assert [point.split(",")[0] for point in made.held.split()] == ["60.0", "120.0"]
    assert len({point.split(",")[1] for point in (*made.held.split(), made.points.split()[1])}) == 1
    up_to_date = page_chart([(10.0, 4), (0.0, 2)], [], Signal.PID_AVAILABLE)
    assert up_to_date is not None
    assert up_to_date.held == ""


def test_one_reading_is_no_line() -> None:
    """A flat line since the only reading looked as if it had been read all the time."""
    assert page_chart([(3.0, 4)], [], Signal.PID_AVAILABLE) is None


def test_it_says_since_when_nothing_was_read() -> None:
    late = page_chart([(400.0, 4), (300.0, 2)], [], Signal.PID_AVAILABLE)
    assert late is not None
    assert late.unread == "5m0s"
    for usual in ([(400.0, 4), (14.0, 2)], [(30.0, 4), (7.0, 2)]):
        soon = page_chart(usual, [], Signal.PID_AVAILABLE)
        assert soon is not None
        assert soon.unread == "", "a calm node is read every ten seconds"


def test_labels_do_not_cover_each_other() -> None:
    def labels(*limits: int, capacity: int = 0) -> tuple[tuple[str, float], ...]:
        made = page_chart(
            [(9.0, 90), (0.0, 90)], [("hard", each) for each in limits], Signal.PID_AVAILABLE, capacity=capacity
        )
        assert made is not None
        return made.labels

    assert labels() == (("100", 0), ("0", 100))
    assert labels(50) == (("100", 0), ("50", 50), ("0", 100))
    assert labels(5) == (("100", 0), ("5", 83), ("0", 100)), "0 had no place below it"
    assert labels(15, 30) == (("100", 0), ("30", 66), ("15", 83), ("0", 100)), "they touched, 15 apart"
    assert labels(40, 41, 41) == (("100", 0), ("41", 43), ("40", 60), ("0", 100))
    assert labels(91, 99) == (("99", 7.2), ("91", 24.2), ("0", 100)), "120 has no place above it"
    assert labels(50, capacity=95) == (("95", 0), ("50", 47.4), ("0", 100))
    assert labels(50, capacity=80) == labels(50), "a capacity below what was seen is none"


def test_a_mark_outside_of_the_time_is_left_out() -> None:
    marks = [EvictionMark(ago=5, pod="a/b"), EvictionMark(ago=50, pod="a/old")]
    made = page_chart([(10.0, 4), (0.0, 4)], [], Signal.PID_AVAILABLE, marks)
    assert made is not None
    assert made.marks == ((60.0, marks[0]),)
    assert marks[0].text == "a/b evicted 5.0s ago"


def test_the_marks_are_those_of_the_last_decisions_by_signal() -> None:
    one = {
        "at": "2026-01-01T00:00:00Z",
        "kind": "EvictPod",
        "pod": "a/b",
        "signal": "memory.available",
        "incident": "0123",
        "dryRun": True,
    }
    damaged = {**one, "at": "yesterday"}
    status = {"at": "2026-01-01T00:01:00Z", "ageSeconds": 2.0, "decisions": [one, damaged, {"at": "", "pod": ""}]}
    (mark,) = eviction_marks(status)["memory.available"]
    assert (mark.ago, mark.incident) == (62.0, "0123")
    assert mark.text == "a/b would have been evicted 1m2s ago"


def test_an_eviction_a_reclaim_and_what_a_dry_run_would_do_have_marks_of_their_own() -> None:
    evicted = EvictionMark(ago=5, pod="a/b")
    reclaimed = EvictionMark(ago=5)
    assert len({each.style for mark in (evicted, reclaimed) for each in (mark, replace(mark, dry_run=True))}) == 4
    assert reclaimed.text == "began to remove what no pod needs 5.0s ago"
    assert replace(reclaimed, dry_run=True).text == "would have removed what no pod needs 5.0s ago"


def test_a_reclaim_is_marked_on_its_signal() -> None:
    one = {"at": "2026-01-01T00:00:00Z", "kind": "ReclaimNode", "pod": "", "signal": "nodefs.available"}
    status = {"at": "2026-01-01T00:01:00Z", "ageSeconds": 2.0, "decisions": [one]}
    assert [mark.pod for mark in eviction_marks(status)["nodefs.available"]] == [""]


def test_a_reclaim_does_not_cover_the_mark_of_an_eviction() -> None:
    """Each eviction on a disk is followed by a reclaim at the same place."""
    marks = [EvictionMark(ago=ago, pod=pod) for ago, pod in ((30.0, ""), (8.0, "n/a"), (8.0, ""), (2.0, "n/b"))]
    chart = page_chart([(60.0, 9), (0.0, 5)], [], Signal.PID_AVAILABLE, marks)
    assert chart is not None
    assert [(mark.pod, mark.ago) for _, mark in chart.marks] == [("", 30.0), ("", 8.0), ("n/a", 8.0), ("n/b", 2.0)]


def test_a_line_is_said_in_words() -> None:
    """A screen reader said what the line is of, and no amount."""

    def course(*amounts: int) -> str:
        trend = [(10.0 * (len(amounts) - number), each) for number, each in enumerate(amounts)]
        made = page_chart(trend, [], Signal.PID_AVAILABLE)
        return "" if made is None else made.course

    assert course(900, 500, 300) == "900 at first, 300 now"
    assert course(500, 300, 900, 700) == "500 at first, 300 at the least, 900 at the most, 700 now"
