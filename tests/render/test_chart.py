"""What of a story goes into its picture."""

from evictd.core.model.signal import NodeCondition, Signal
from evictd.core.units.duration import SECOND
from evictd.render.chart import Band, Chart, Level, MarkKind, chart_of
from tests.stories import GI, MI, played


def test_the_picture_of_a_story() -> None:
    chart = chart_of(played("min-reclaim")[1])
    assert [panel.signal for panel in chart.panels] == [Signal.NODEFS_AVAILABLE], "containerfs is nodefs here"
    panel = chart.panels[0]
    assert panel.levels == (Level(kind="hard", limit=GI), Level(kind="min-reclaim", limit=GI + 500 * MI))
    assert panel.points[:3] == ((0, 1400 * MI), (10 * SECOND, 800 * MI), (10 * SECOND, 810 * MI))
    assert chart.bands == (
        Band(condition=NodeCondition.DISK_PRESSURE, start=10 * SECOND, end=30 * SECOND),
        Band(condition=NodeCondition.DISK_PRESSURE, start=30 * SECOND, end=120 * SECOND, held=True),
    )
    assert [(mark.kind, mark.at // SECOND, mark.text, mark.level) for mark in chart.marks] == [
        (MarkKind.RECLAIM, 10, "reclaim containers, images", 800 * MI),
        (MarkKind.EVICTION, 10, "evict default/scratch-a", 810 * MI),
        (MarkKind.RECLAIM, 20, "reclaim containers, images", 1210 * MI),
        (MarkKind.EVICTION, 20, "evict default/scratch-b", 1210 * MI),
    ]


def test_a_soft_threshold_carries_its_grace() -> None:
    levels = chart_of(played("soft-grace")[1]).panels[0].levels
    assert levels == (Level(kind="hard", limit=200 * MI), Level(kind="soft", limit=GI, grace=90 * SECOND))


def test_a_condition_that_lasts_is_a_band_to_the_end() -> None:
    chart = chart_of(played("protected-culprit")[1])
    assert chart.bands == (Band(condition=NodeCondition.MEMORY_PRESSURE, start=10 * SECOND, end=40 * SECOND),)


def test_findings_and_rejections_are_marks_from_where_they_begin() -> None:
    [culprit] = chart_of(played("protected-culprit")[1]).marks
    assert (culprit.kind, culprit.at, culprit.text) == (
        MarkKind.FINDING, 10 * SECOND, "protected culprit kube-system/collector",
    )  # fmt: skip
    assert [
        mark.text for mark in chart_of(played("transition-period")[1]).marks if mark.kind is MarkKind.REJECTION
    ] == ["reject default/best-effort"]
    assert "instead of default/web" in {mark.text for mark in chart_of(played("prefer-and-avoid")[1]).marks}


def test_no_story_no_picture() -> None:
    assert chart_of(()) == Chart()
