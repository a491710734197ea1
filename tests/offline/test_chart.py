"""What of a story goes into its picture."""

from evictd.core.duration import SECOND
from evictd.core.signal import NodeCondition, Signal
from evictd.offline.chart import Band, Chart, Level, MarkKind, chart_of
from tests.offline.stories import GI, MI, played


def test_the_picture_of_a_story() -> None:
    chart = chart_of(played("min-reclaim")[1])
    assert [panel.signal for panel in chart.panels] == [Signal.NODEFS_AVAILABLE], "containerfs is nodefs here"
    panel = chart.panels[0]
    assert panel.levels == (Level(kind="hard", limit=GI), Level(kind="min-reclaim", limit=GI + 500 * MI))
    assert panel.points[:3] == ((0, 1400 * MI), (10 * SECOND, 800 * MI), (10 * SECOND, 810 * MI))
    assert chart.bands == (Band(condition=NodeCondition.DISK_PRESSURE, start=10 * SECOND, end=120 * SECOND),)
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


def test_no_story_no_picture() -> None:
    assert chart_of(()) == Chart()
