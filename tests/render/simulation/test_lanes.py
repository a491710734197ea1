"""The lanes of marks: no label touches another one or the line of a mark."""

from evictd.core.units.duration import SECOND
from evictd.render.simulation import plot
from evictd.render.simulation.chart import Chart, Mark, MarkKind
from evictd.render.simulation.lanes import assign_lanes


def test_labels_do_not_lie_over_one_another() -> None:
    """Marks close together get lanes of their own; marks far apart share one."""
    marks = tuple(Mark(kind=MarkKind.EVICTION, at=at * SECOND, text="evict default/hog") for at in (0, 5, 10, 300))
    time = plot._time(Chart(start=0, end=600 * SECOND, marks=marks))
    assert assign_lanes(marks, plot._extents(marks, time)) == [2, 1, 0, 0], (
        "no label is crossed by the line of a later mark"
    )
    many = tuple(Mark(kind=MarkKind.EVICTION, at=at * SECOND, text="evict x") for at in range(100))
    assert assign_lanes(many, plot._extents(many, time))[-10:] == [-1, -1, 7, 6, 5, 4, 3, 2, 1, 0]


def test_a_label_to_the_left_is_crossed_by_no_line_of_a_mark_before_it() -> None:
    """At the right edge of incident 14 three lines went through labels."""
    marks = tuple(
        Mark(kind=MarkKind.EVICTION, at=at * SECOND, text="evict default/hog-with-a-long-name")
        for at in (580, 590, 592, 599)
    )
    time = plot._time(Chart(start=0, end=600 * SECOND, marks=marks))
    assert all(begin < mark.at / SECOND for (begin, _), mark in zip(plot._extents(marks, time), marks, strict=True))
    assert assign_lanes(marks, plot._extents(marks, time)) == [0, 1, 2, 3]
