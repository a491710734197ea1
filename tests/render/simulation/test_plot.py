"""The picture: the same story gives the same bytes, and every kind of story can be drawn."""

import re
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from evictd.cli import main
from evictd.commands.inputs.source import check_plot, own_config
from evictd.core.units.duration import SECOND
from evictd.errors import InputError
from evictd.render.simulation import plot
from evictd.render.simulation.chart import Chart, chart_of
from evictd.render.simulation.plot import draw
from evictd.simulation import simulate
from tests.stories import GI, ROOT, SCENARIOS, memory_step, memory_story, played, pod

NAMES = sorted(path.stem for path in SCENARIOS.glob("*.yaml"))


def test_the_same_story_gives_the_same_svg(tmp_path: Path) -> None:
    scenario, cycles = played("ten-minutes")
    for name in ("a.svg", "b.svg"):
        draw(scenario.name, cycles, tmp_path / name)
    assert (tmp_path / "a.svg").read_bytes() == (tmp_path / "b.svg").read_bytes()
    assert b"<dc:date>" not in (tmp_path / "a.svg").read_bytes()


def test_the_picture_of_the_readme_is_the_one_that_its_command_makes(tmp_path: Path) -> None:
    """Its words are compared: another version of the drawing library moves a line by a hair."""
    made = tmp_path / "story.svg"
    assert main(["simulate", str(SCENARIOS / "ten-minutes.yaml"), "--plot", str(made)]) == 0
    assert _words(made) == _words(ROOT / "docs" / "images" / "story.svg")


def _words(svg: Path) -> list[str]:
    """Matplotlib writes the text of a label as a comment beside its outline."""
    return re.findall(r"<!-- (.*?) -->", svg.read_text())


@pytest.mark.parametrize("name", NAMES)
def test_every_story_can_be_drawn(name: str, tmp_path: Path) -> None:
    scenario, cycles = played(name)
    draw(scenario.name, cycles, tmp_path / "story.png", subtitle="x")
    assert (tmp_path / "story.png").read_bytes().startswith(b"\x89PNG")


def test_the_labels_of_the_picture_tell_the_story() -> None:
    words = _words(ROOT / "docs" / "images" / "story.svg")
    for label in (
        "memory.available",
        "nodefs.available",
        "MemoryPressure",
        "DiskPressure",
        "soft 1Gi (1m)",
        "hard 300Mi",
        "evict batch/crawler",
        "evict batch/training",
        "reclaim containers, images",
    ):
        assert label in words


def test_a_single_reading_and_an_empty_story_can_be_drawn(tmp_path: Path) -> None:
    scenario = memory_story([memory_step("0s", 2 * GI, {})], [])
    draw("one", tuple(simulate(scenario, own_config(scenario))), tmp_path / "one.svg")
    draw("none", (), tmp_path / "none.svg")
    unread = memory_story([{"at": "0s"}], [])
    draw("unread", tuple(simulate(unread, own_config(unread))), tmp_path / "unread.svg")
    assert {name: name in _words(tmp_path / f"{name}.svg") for name in ("one", "none", "unread")} == {
        "one": True,
        "none": True,
        "unread": True,
    }


def test_dollars_in_names_are_no_formula(tmp_path: Path) -> None:
    """A pod may be called anything, and a label with two dollars is mathematics to matplotlib."""
    name = "$\\frac{$"
    scenario = memory_story([memory_step("0s", GI // 4, {name: 7 * GI})], [pod(name)])
    draw("$\\bad{$", tuple(simulate(scenario, own_config(scenario))), tmp_path / "x.svg")
    assert any(name in words for words in _words(tmp_path / "x.svg"))


def test_a_line_at_zero_does_not_lie_on_the_axis() -> None:
    """It could not be told from the axis."""
    feet = []
    for last in (0, 2 * GI):
        story = memory_story([memory_step("0s", 4 * GI, {}), memory_step("10s", last, {})], [])
        figure = plot._figure("", "", chart_of(tuple(simulate(story, own_config(story)))), None)
        feet.append(figure.axes[0].get_ylim()[0])
    assert feet[0] < 0
    assert feet[1] == 0, "nothing is near the axis"


def test_the_line_breaks_where_nothing_was_recorded() -> None:
    points = [(at * SECOND, 5) for at in (0, 10, 20, 30, 300, 310)] + [(320 * SECOND, None), (5 * SECOND, 5)]
    xs, ys = plot._with_gaps(points)
    gaps = [x for x, y in zip(xs, ys, strict=True) if y != y]
    assert gaps == [300, 320, 5], "a long time, a reading without the signal, a clock that began anew"


def test_an_svg_has_a_title_a_description_and_dark_colours(tmp_path: Path) -> None:
    draw("a <b> & c", played("ten-minutes")[1], tmp_path / "a.svg")
    root = ET.parse(tmp_path / "a.svg").getroot()
    space = "{http://www.w3.org/2000/svg}"
    assert [child.tag for child in root[:3]] == [f"{space}title", f"{space}desc", f"{space}style"]
    assert (root.get("role"), root[0].text) == ("img", "a <b> & c")
    assert "7m40s evict batch/training" in str(root[1].text)
    assert "prefers-color-scheme: dark" in str(root[2].text)


def test_recorded_data_has_the_time_of_the_day(tmp_path: Path) -> None:
    draw("a", played("ten-minutes")[1], tmp_path / "a.svg", begin=1_790_000_000 * SECOND)
    words = _words(tmp_path / "a.svg")
    assert "14:14:00" in words
    assert "UTC, from 2026-09-21" in words


def test_a_story_of_months_has_a_readable_axis() -> None:
    time = plot._time(Chart(start=0, end=300 * 86400 * SECOND))
    assert 300 * 86400 / time.tick <= 11


@pytest.mark.parametrize("name", ["story.pdf", "story", "story.svg.gz"])
def test_only_svg_and_png(name: str) -> None:
    with pytest.raises(InputError, match=r"give FILE.svg or FILE.png"):
        check_plot(Path(name))


def test_without_matplotlib_one_line_says_what_to_do(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda _name: None)
    assert main(["simulate", str(SCENARIOS / "min-reclaim.yaml"), "--plot", "x.svg"]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err == (
        "evictd: --plot: matplotlib is not installed; it comes with the extra `plot`: in a clone run make setup; beside the "
        "Debian package run sudo python3 -m pip --python /usr/lib/evictd/bin/python3 install matplotlib\n"
    )


def test_a_picture_that_cannot_be_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["simulate", str(SCENARIOS / "min-reclaim.yaml"), "--plot", str(tmp_path / "no" / "x.svg")]) == 2
    assert "No such file or directory" in capsys.readouterr().err


def test_times_are_short() -> None:
    assert [plot._clock(seconds) for seconds in (0, 30, 60, 90, 600, 3600, 5400)] == [
        "0s", "30s", "1m", "1m30s", "10m", "1h", "1h30m",
    ]  # fmt: skip
