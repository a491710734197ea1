"""What of a story goes into its picture."""

from evictd.commands.inputs.source import own_config, read_story
from evictd.core.model.config import Policy
from evictd.core.model.signal import NodeCondition, Signal
from evictd.core.units.duration import SECOND
from evictd.render.simulation.chart import Band, Chart, Level, MarkKind, chart_of
from evictd.render.simulation.worlds.world_view import cycles_to_draw
from evictd.world.file import WorldFile
from evictd.world.loop import play
from tests.stories import GI, MI, ROOT, played


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


def chart_of_incident(name: str, policy: Policy = Policy.STANDARD) -> Chart:
    """The picture of a recorded incident."""
    file = read_story(ROOT / "config" / "incidents" / f"{name}.yaml")
    assert isinstance(file, WorldFile)
    return chart_of(cycles_to_draw(play(file.world, own_config(file, policy))))


def test_many_marks_that_stand_close_together_are_one_with_their_number() -> None:
    """A hundred evictions were a bar, in which some had a label and the first had none."""
    (mark,) = chart_of_incident("01-recreated-hog").marks
    assert (mark.text, mark.kind) == ("evict default/leak and 116 more until 14m58s", MarkKind.EVICTION)
    assert mark.until is not None
    assert mark.until > mark.at
    assert len(mark.others) == 116, "each one is drawn, and one was"
    assert all(each.level is not None for each in mark.others)


def test_a_refused_eviction_is_no_eviction() -> None:
    marks = chart_of_incident("42-budget-of-one").marks
    assert [mark.text for mark in marks if mark.kind is MarkKind.EVICTION] == ["evict default/batch-0"]
    (refusals,) = [mark for mark in marks if mark.kind is MarkKind.REFUSAL]
    assert refusals.text.startswith("refused: default/batch-1 and 1073 more until 19m5")


def test_a_signal_that_stays_calm_has_no_panel() -> None:
    chart = chart_of_incident("02-host-path-writer")
    assert [panel.signal for panel in chart.panels] == [Signal.NODEFS_AVAILABLE]
    assert chart.calm == (Signal.NODEFS_INODES_FREE,)


def test_short_bands_that_alternate_are_one() -> None:
    bands = chart_of_incident("01-recreated-hog").bands
    assert len(bands) <= 2, "there were 234, too short for a name"
    assert not bands[0].held
