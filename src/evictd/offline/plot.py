"""What did the story look like? One picture: each signal against its thresholds, over one time axis.

Small multiples, one for each signal that has a threshold of its own; node conditions are bands, reclaim and evictions are marks
in a lane above, with a thin line down to the reading that they were decided on. Colours are those of Okabe and Ito, and every
one of them is said by shape or text as well. The same story gives the same SVG, byte for byte.

matplotlib is the optional extra `plot`, imported when a picture is drawn and nowhere else.
"""

import argparse
import importlib.util
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evictd.core.duration import HOUR, MINUTE, SECOND, format_duration
from evictd.core.signal import SIGNAL_TO_CONDITION, SIGNAL_TO_RESOURCE, NodeCondition, Resource
from evictd.errors import InputError
from evictd.offline.chart import Band, Chart, Level, Mark, MarkKind, Panel, chart_of
from evictd.offline.rehearse import Cycle
from evictd.offline.words import clean, units_words

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_INK, _QUIET, _GRID = "#1a1a1a", "#6b6b6b", "#e4e4e4"
_LINE = "#0072B2"
_LEVELS: dict[str, tuple[str, Any]] = {
    "hard": ("#D55E00", "solid"),
    "soft": ("#B07A00", (0, (5, 2))),
    "min-reclaim": (_QUIET, (0, (1, 2))),
}
_MARKS = {MarkKind.EVICTION: ("X", "#A3003F"), MarkKind.RECLAIM: ("v", "#00795A")}
_BANDS = {
    NodeCondition.MEMORY_PRESSURE: "#CC79A7",
    NodeCondition.DISK_PRESSURE: "#E69F00",
    NodeCondition.PID_PRESSURE: "#56B4E9",
}
_STYLE: Any = {
    "font.family": "DejaVu Sans",
    "font.size": 9,
    "svg.hashsalt": "evictd",
    "svg.fonttype": "path",
    "axes.edgecolor": "#b5b5b5",
    "axes.linewidth": 0.8,
    "text.color": _INK,
    "text.parse_math": False,  # names are text, whatever is in them
    "xtick.color": _QUIET,
    "ytick.color": _QUIET,
}
_WIDTH, _PANEL_HEIGHT, _LANE_HEIGHT = 10.0, 1.75, 0.24
_LEFT, _RIGHT, _TOP, _BOTTOM = 0.75, 1.35, 0.95, 0.05
"""In inches: margins around the panels; the names of the thresholds stand in the right one."""
_TITLE = 0.3
_MAX_LANES = 8
_LONGEST_TITLE = 90
_HEADROOM = 1.27
"""The names of the bands stand above the line."""
_DOTTED = 60
"""Up to so many readings each has a dot."""
_LETTER = 0.074
"""Width of a letter of the marks' labels, in inches; names are mostly narrow letters, so this is generous."""
_BINARY_STEPS = (1, 2, 5, 10, 20, 50, 100, 200, 256, 512)
_DECIMAL_STEPS = (1, 2, 5, 10, 20, 50, 100, 200, 500)
_TICKS = (1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 21600, 43200, 86400)


def add_plot_argument(parser: argparse.ArgumentParser) -> None:
    """Add `--plot`."""
    parser.add_argument("--plot", type=Path, metavar="FILE", help="draw the story: FILE.svg or FILE.png")


def check_plot(path: Path | None) -> None:
    """Refuse, before any work is done, a picture that could not be drawn; raises `InputError`."""
    if path is None:
        return
    if path.suffix not in {".svg", ".png"}:
        raise InputError(f"--plot: {path}: is no picture that can be drawn; give FILE.svg or FILE.png")
    if importlib.util.find_spec("matplotlib") is None:
        raise InputError(
            "--plot: matplotlib is not installed; it comes with the extra `plot`: pip install 'evictd[plot]'"
        )


def draw(title: str, cycles: Sequence[Cycle], path: Path, *, subtitle: str = "") -> None:
    """Draw the story into a file, SVG or PNG by its name; raises `InputError` if it cannot be written."""
    from matplotlib import rc_context  # noqa: PLC0415 - the optional extra

    chart = chart_of(cycles)
    form = path.suffix.removeprefix(".")
    metadata = {"Date": None, "Creator": "evictd"} if form == "svg" else {"Software": "evictd"}
    with rc_context(_STYLE):
        figure = _figure(title, subtitle, chart)
        try:
            figure.savefig(path, format=form, dpi=160, metadata=metadata)
        except OSError as error:
            raise InputError(f"--plot: {path}: {error.strerror or error}") from error


@dataclass(frozen=True, slots=True, kw_only=True)
class _Time:
    """The shared axis: from, to, and the distance between two ticks, in seconds."""

    start: float
    end: float
    tick: int

    @property
    def inches(self) -> float:
        """Inches a second."""
        return (_WIDTH - _LEFT - _RIGHT) / (self.end - self.start)


def _figure(title: str, subtitle: str, chart: Chart) -> "Figure":
    from matplotlib.figure import Figure  # noqa: PLC0415

    time = _time(chart)
    lanes = _assign_lanes(chart.marks, time)
    if unnamed := lanes.count(-1):
        subtitle = f"{subtitle}; {unnamed} marks have no room for a label".removeprefix("; ")
    lane_height = _LANE_HEIGHT * (max(lanes, default=-1) + 1)
    height = _TOP + lane_height + _PANEL_HEIGHT * max(1, len(chart.panels)) + _BOTTOM
    figure = Figure(figsize=(_WIDTH, height), facecolor="white")
    figure.text(
        _LEFT / _WIDTH, 1 - 0.30 / height, clean(title)[:_LONGEST_TITLE], fontsize=13, fontweight="bold", va="center"
    )
    if subtitle:
        figure.text(_LEFT / _WIDTH, 1 - 0.54 / height, subtitle, fontsize=9, color=_QUIET, va="center")
    bottom = height - _TOP - lane_height  # the first panel's title stands above this
    panels = chart.panels or (Panel(signal=None),)
    for index, panel in enumerate(panels):
        top = bottom - _PANEL_HEIGHT * index
        axes = _axes(figure, top - _PANEL_HEIGHT + 0.38, _PANEL_HEIGHT - 0.38, height)
        _draw_panel(axes, panel, chart, time, last=index == len(panels) - 1)
    if lanes:
        _draw_lanes(_axes(figure, bottom + _TITLE, lane_height, height), chart.marks, lanes, time)
    return figure


def _axes(figure: "Figure", bottom: float, tall: float, height: float) -> "Axes":
    wide = (_WIDTH - _LEFT - _RIGHT) / _WIDTH
    return figure.add_axes((_LEFT / _WIDTH, bottom / height, wide, tall / height))


def _time(chart: Chart) -> _Time:
    start, end = chart.start / SECOND, max(chart.end, chart.start + SECOND) / SECOND
    days = -int(-(end - start) // (11 * _TICKS[-1]))
    tick = next((t for t in _TICKS if (end - start) / t <= 11), days * _TICKS[-1])
    room = (end - start) * 0.012
    return _Time(start=start - room, end=end + room, tick=tick)


# --- one signal -------------------------------------------------------------------------------------------------------


def _draw_panel(axes: "Axes", panel: Panel, chart: Chart, time: _Time, *, last: bool) -> None:
    axes.set_xlim(time.start, time.end)
    _draw_time_axis(axes, time, last=last)
    if panel.signal is None:
        return
    resource = SIGNAL_TO_RESOURCE[panel.signal]
    background = {"facecolor": "white", "edgecolor": "none", "pad": 1.5}
    axes.set_title(panel.signal.value, loc="left", fontsize=9.5, fontweight="bold", pad=5, bbox=background)
    _draw_amount_axis(axes, panel, resource)
    condition = SIGNAL_TO_CONDITION[panel.signal]
    for band in chart.bands:
        if band.condition is condition:
            _draw_band(axes, band, chart, time)
    _draw_levels(axes, panel.levels, resource)
    xs, ys = [at / SECOND for at, _ in panel.points], [value for _, value in panel.points]
    axes.plot(xs, ys, color=_LINE, linewidth=1.7, solid_joinstyle="round", zorder=4)
    if len(xs) <= _DOTTED:
        axes.plot(xs, ys, linestyle="none", marker="o", markersize=2.6, color=_LINE, zorder=4)
    for mark in chart.marks:
        _draw_mark(axes, panel, mark)


def _draw_time_axis(axes: "Axes", time: _Time, *, last: bool) -> None:
    first = -(-int(time.start) // time.tick) * time.tick
    ticks = list(range(first, int(time.end) + 1, time.tick))
    axes.set_xticks(ticks, [_clock(tick) for tick in ticks] if last else [])
    axes.grid(visible=True, axis="x", color=_GRID, linewidth=0.7)
    axes.set_axisbelow(True)
    axes.tick_params(length=0, labelsize=8)
    axes.spines[["top", "right", "left"]].set_visible(False)


def _clock(seconds: int) -> str:
    """Write a time as Go does, without the zeros at its end: `1m30s`, `2m`, `1h`."""
    text = format_duration(seconds * SECOND)
    if seconds and seconds * SECOND % MINUTE == 0:
        text = text.removesuffix("0s")
    return text.removesuffix("0m") if seconds and seconds * SECOND % HOUR == 0 else text


def _draw_amount_axis(axes: "Axes", panel: Panel, resource: Resource) -> None:
    highest = max([*(value for _, value in panel.points), *(level.limit for level in panel.levels)])
    lowest = min([0, *(value for _, value in panel.points)])
    step = _nice_step(max(highest, 1), binary=resource in {Resource.MEMORY, Resource.EPHEMERAL_STORAGE})
    ticks = list(range(0, int(highest * _HEADROOM) + 1, step))
    axes.set_ylim(lowest * 1.1, max(highest, 1) * _HEADROOM)
    axes.set_yticks(ticks, [units_words(tick, resource) for tick in ticks])
    axes.grid(visible=True, axis="y", color=_GRID, linewidth=0.7)


def _nice_step(highest: float, *, binary: bool) -> int:
    """Give the distance between two ticks: at most four of them, in round numbers of the unit that fits."""
    base = 1
    while binary and base * 1024 <= highest:
        base *= 1024
    if binary and highest / base < 2 and base > 1:
        base //= 1024
    unit = base
    while True:
        for factor in _BINARY_STEPS if binary else _DECIMAL_STEPS:
            if highest / (unit * factor) <= 4:
                return max(1, unit * factor)
        unit *= 1024 if binary else 1000


def _draw_band(axes: "Axes", band: Band, chart: Chart, time: _Time) -> None:
    colour = _BANDS[band.condition]
    end = time.end if band.end >= chart.end else band.end / SECOND
    axes.axvspan(band.start / SECOND, end, color=colour, alpha=0.16, linewidth=0, zorder=1)
    if (end - band.start / SECOND) * time.inches > len(band.condition.value) * _LETTER:
        axes.annotate(
            band.condition.value,
            (band.start / SECOND, 1),
            xycoords=("data", "axes fraction"),
            xytext=(4, -9),
            textcoords="offset points",
            fontsize=7.5,
            color=_QUIET,
            zorder=5,
            bbox={"facecolor": "white", "edgecolor": "none", "alpha": 0.7, "pad": 1.2},
        )


def _draw_levels(axes: "Axes", levels: Sequence[Level], resource: Resource) -> None:
    """Draw the thresholds, and name each at the right, apart from one another."""
    low, high = axes.get_ylim()
    least = (high - low) * 0.13
    at = low - least
    for level in sorted(levels, key=lambda level: level.limit):
        colour, dashes = _LEVELS[level.kind]
        axes.axhline(level.limit, color=colour, linewidth=1.1, linestyle=dashes, zorder=3)
        at = max(level.limit, at + least)
        label = f"{level.kind} {units_words(level.limit, resource)}"
        label += f" ({_clock(level.grace // SECOND)})" if level.grace else ""
        axes.annotate(
            label,
            (1, at),
            xycoords=("axes fraction", "data"),
            xytext=(5, 0),
            textcoords="offset points",
            fontsize=8,
            color=colour,
            va="center",
            annotation_clip=False,
        )


def _draw_mark(axes: "Axes", panel: Panel, mark: Mark) -> None:
    """Draw a thin line through every panel, and the mark itself on the signal it was for."""
    shape, colour = _MARKS[mark.kind]
    axes.axvline(mark.at / SECOND, color=colour, linewidth=0.8, alpha=0.55, zorder=2)
    if mark.signal is panel.signal and mark.level is not None:
        size = 7.5 if mark.kind is MarkKind.EVICTION else 6.5
        axes.plot(
            [mark.at / SECOND],
            [mark.level],
            marker=shape,
            markersize=size,
            color=colour,
            markeredgecolor="white",
            zorder=6,
        )


# --- the lane of marks ------------------------------------------------------------------------------------------------


def _assign_lanes(marks: Sequence[Mark], time: _Time) -> list[int]:
    """Give each mark the lowest lane in which its label touches no other; -1 where every lane is taken."""
    ends: list[float] = []
    lanes: list[int] = []
    for mark in marks:
        start, end = _extent(mark, time)
        lane = next((i for i, taken in enumerate(ends) if taken < start), len(ends))
        if lane == _MAX_LANES:
            lanes.append(-1)
            continue
        if lane == len(ends):
            ends.append(end)
        ends[lane] = max(ends[lane], end)
        lanes.append(lane)
    return lanes


def _extent(mark: Mark, time: _Time) -> tuple[float, float]:
    """Give what mark and label take of the lane, in seconds; the label stands left of the mark where it has no room right."""
    at, wide = mark.at / SECOND, (len(mark.text) * _LETTER + 0.22) / time.inches
    return (at - wide, at + 0.1 / time.inches) if at + wide > time.end + _RIGHT / time.inches else (at, at + wide)


def _draw_lanes(axes: "Axes", marks: Sequence[Mark], lanes: Sequence[int], time: _Time) -> None:
    axes.set_xlim(time.start, time.end)
    axes.set_ylim(-0.5, max(lanes) + 0.5)
    axes.axis("off")
    axes.set_zorder(-1)
    for mark, lane in zip(marks, lanes, strict=True):
        if lane < 0:
            continue
        shape, colour = _MARKS[mark.kind]
        at = mark.at / SECOND
        foot = -0.5 - _TITLE / _LANE_HEIGHT
        axes.plot([at, at], [foot, lane], color=colour, linewidth=0.8, alpha=0.55, clip_on=False, zorder=2)
        axes.plot(
            [at], [lane], marker=shape, markersize=6.5, color=colour, markeredgecolor="white", clip_on=False, zorder=5
        )
        left = _extent(mark, time)[0] < at
        axes.annotate(
            mark.text,
            (at, lane),
            xytext=(-7 if left else 7, 0),
            textcoords="offset points",
            fontsize=8,
            color=colour,
            va="center",
            ha="right" if left else "left",
            bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.8},
            zorder=4,
            annotation_clip=False,
        )
