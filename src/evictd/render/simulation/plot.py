"""Draws a simulation as one picture: each signal against its thresholds, over one time axis.

Small multiples, one for each signal that has a threshold of its own; node conditions are bands, reclaim and evictions are marks
in a lane above, with a thin line down to the reading that they were decided on. Colours are those of Okabe and Ito, and each of
them is shown by shape or text as well. The same simulation gives the same SVG, byte for byte.

matplotlib is the optional extra `plot`, imported when a picture is drawn and nowhere else.
"""

import io
from collections.abc import Sequence
from itertools import pairwise
from math import nan
from pathlib import Path
from typing import TYPE_CHECKING, Any
from xml.sax.saxutils import escape

from evictd.codec.times import rfc3339
from evictd.core.frozen import frozen
from evictd.core.model.signal import SIGNALS, NodeCondition, Signal, Unit
from evictd.core.units.duration import HOUR, MINUTE, SECOND, format_duration
from evictd.errors import InputError
from evictd.render.axis import nice_step
from evictd.render.simulation.chart import Band, Chart, Level, Mark, MarkKind, Panel, chart_of
from evictd.render.simulation.lanes import Extent, assign_lanes
from evictd.render.text import clean, signal_amount
from evictd.simulation import SimulatedCycle

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

INK, QUIET, _GRID = "#1a1a1a", "#6b6b6b", "#e4e4e4"
LINE, HARD, SOFT = "#0072B2", "#D55E00", "#B07A00"
_LEVELS: dict[str, tuple[str, Any]] = {
    "hard": (HARD, "solid"),
    "soft": (SOFT, (0, (5, 2))),
    "min-reclaim": (QUIET, (0, (1, 2))),
}
_MARKS = {
    MarkKind.EVICTION: ("X", "#A3003F"),
    MarkKind.REFUSAL: ("D", "#8A5A00"),
    MarkKind.RECLAIM: ("v", "#00795A"),
    MarkKind.FINDING: ("o", "#5B4B8A"),
    MarkKind.REJECTION: ("s", "#6B4A00"),
}
_BANDS = {
    NodeCondition.MEMORY_PRESSURE: "#CC79A7",
    NodeCondition.DISK_PRESSURE: "#E69F00",
    NodeCondition.PID_PRESSURE: "#56B4E9",
}
STYLE: Any = {
    "font.family": "DejaVu Sans",
    "font.size": 9,
    "svg.hashsalt": "evictd",
    "svg.fonttype": "path",
    "axes.edgecolor": "#b5b5b5",
    "axes.linewidth": 0.8,
    "text.color": INK,
    "text.parse_math": False,  # names are text, whatever is in them
    "xtick.color": QUIET,
    "ytick.color": QUIET,
}
_WIDTH, _PANEL_HEIGHT, _LANE_HEIGHT = 10.0, 1.75, 0.24
_LEFT, _RIGHT, _TOP, _BOTTOM = 0.75, 1.35, 0.95, 0.05
"""In inches: margins around the panels; the names of the thresholds stand in the right one."""
_TITLE = 0.3
_LONGEST_TITLE = 90
_HEADROOM = 1.27
"""The names of the bands stand above the line."""
_ABOVE = 8
"""Points between a reading and the mark of a reclaim."""
_DOTTED = 60
"""Most readings for which each one gets a marker."""
_LETTER = 0.074
"""Width of a letter of the marks' labels, in inches; names are mostly narrow letters, so this is generous."""
_SMALL_LETTER = 0.058
"""The same of the names of the bands."""
_TICKS = (1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 21600, 43200, 86400)


def draw(
    title: str, cycles: Sequence[SimulatedCycle], path: Path, *, subtitle: str = "", begin: int | None = None
) -> None:
    """Draw the simulation into a file, SVG or PNG by its name; raises `InputError` if it cannot be written.

    With `begin`, the wall clock of the first cycle in nanoseconds, the axis has times of the day in UTC.
    """
    from matplotlib import rc_context  # noqa: PLC0415 - the optional extra

    chart = chart_of(cycles)
    form = path.suffix.removeprefix(".")
    metadata = {"Date": None, "Creator": "evictd"} if form == "svg" else {"Software": "evictd"}
    with rc_context(STYLE):
        figure = _figure(title, subtitle, chart, begin)
        image = io.BytesIO()
        try:
            figure.savefig(image, format=form, dpi=160, metadata=metadata)
            path.write_bytes(image.getvalue() if form == "png" else _described(image.getvalue(), title, chart))
        except OSError as error:
            raise InputError(f"--plot: {path}: {error.strerror or error}") from error


def _described(svg: bytes, title: str, chart: Chart) -> bytes:
    """Add a title and a description to the picture for screen readers, and dark colours for readers who prefer them."""
    signals = ", ".join(panel.signal.value for panel in chart.panels if panel.signal is not None)
    marks = "; ".join(f"{_clock(mark.at // SECOND)} {mark.text}" for mark in chart.marks) or "nothing was decided"
    head = (
        f"<title>{escape(clean(title))}</title>\n<desc>What was available of {signals or 'no signal'}. {escape(marks)}.</desc>\n"
        "<style>@media (prefers-color-scheme: dark) {svg {filter: invert(.92) hue-rotate(180deg)}}</style>\n"
    )
    begin = svg.index(b">", svg.index(b"<svg ")) + 1
    return svg[: begin - 1] + b' role="img">\n' + head.encode() + svg[begin:]


@frozen
class _Time:
    """The shared axis: from, to, and the distance between two ticks, in seconds."""

    start: float
    end: float
    tick: int
    begin: int | None = None
    """Wall clock of second 0, in nanoseconds; `None`: the axis counts from there."""

    @property
    def inches(self) -> float:
        """Inches a second."""
        return (_WIDTH - _LEFT - _RIGHT) / (self.end - self.start)


def _figure(title: str, subtitle: str, chart: Chart, begin: int | None) -> "Figure":
    from matplotlib.figure import Figure  # noqa: PLC0415

    time = _time(chart, begin)
    extents = _extents(chart.marks, time)
    lanes = assign_lanes(chart.marks, extents)
    if chart.calm:
        left_out = ", ".join(signal.value for signal in chart.calm)
        subtitle = f"{subtitle}; not drawn, as calm throughout: {left_out}".removeprefix("; ")
    if unnamed := lanes.count(-1):
        subtitle = f"{subtitle}; {unnamed} marks have no space for a label".removeprefix("; ")
    lane_height = _LANE_HEIGHT * (max(lanes, default=-1) + 1)
    height = _TOP + lane_height + _PANEL_HEIGHT * max(1, len(chart.panels)) + _BOTTOM
    figure = Figure(figsize=(_WIDTH, height), facecolor="white")
    figure.text(
        _LEFT / _WIDTH, 1 - 0.30 / height, clean(title)[:_LONGEST_TITLE], fontsize=13, fontweight="bold", va="center"
    )
    if subtitle:
        figure.text(_LEFT / _WIDTH, 1 - 0.54 / height, subtitle, fontsize=9, color=QUIET, va="center")
    bottom = height - _TOP - lane_height  # the first panel's title stands above this
    panels = chart.panels or (Panel(signal=None),)
    for index, panel in enumerate(panels):
        top = bottom - _PANEL_HEIGHT * index
        axes = _axes(figure, top - _PANEL_HEIGHT + 0.38, _PANEL_HEIGHT - 0.38, height)
        _draw_panel(axes, panel, chart, time, last=index == len(panels) - 1)
    if lanes:
        _draw_lanes(_axes(figure, bottom + _TITLE, lane_height, height), chart.marks, lanes, extents, time)
    return figure


def _axes(figure: "Figure", bottom: float, tall: float, height: float) -> "Axes":
    wide = (_WIDTH - _LEFT - _RIGHT) / _WIDTH
    return figure.add_axes((_LEFT / _WIDTH, bottom / height, wide, tall / height))


def _time(chart: Chart, begin: int | None = None) -> _Time:
    start, end = chart.start / SECOND, max(chart.end, chart.start + SECOND) / SECOND
    days = -int(-(end - start) // (11 * _TICKS[-1]))
    tick = next((t for t in _TICKS if (end - start) / t <= 11), days * _TICKS[-1])
    margin = (end - start) * 0.012
    return _Time(start=start - margin, end=end + margin, tick=tick, begin=begin)


# --- one signal -------------------------------------------------------------------------------------------------------


def _draw_panel(axes: "Axes", panel: Panel, chart: Chart, time: _Time, *, last: bool) -> None:
    axes.set_xlim(time.start, time.end)
    _draw_time_axis(axes, time, last=last)
    if panel.signal is None:
        return
    background = {"facecolor": "white", "edgecolor": "none", "pad": 1.5}
    axes.set_title(panel.signal.value, loc="left", fontsize=9.5, fontweight="bold", pad=5, bbox=background)
    _draw_amount_axis(axes, panel, panel.signal)
    condition = SIGNALS[panel.signal].condition
    bands = [band for band in chart.bands if band.condition is condition]
    free = time.start
    for band, following in zip(bands, [*bands[1:], None], strict=False):
        run_end = band.end if following is None or following.start != band.end else following.end
        stop, end = (time.end if at >= chart.end else at / SECOND for at in (band.end, run_end))
        free = _draw_band(axes, band, time, stop=stop, end=end, free=free)
    _draw_levels(axes, panel.levels, panel.signal)
    xs, ys = _with_gaps(panel.points)
    axes.plot(xs, ys, color=LINE, linewidth=1.7, solid_joinstyle="round", zorder=4)
    if len(xs) <= _DOTTED:
        axes.plot(xs, ys, linestyle="none", marker="o", markersize=2.6, color=LINE, zorder=4)
    for mark in chart.marks:
        _draw_mark(axes, panel, mark)


def _with_gaps(points: Sequence[tuple[int, int | None]]) -> tuple[list[float], list[float]]:
    """Break the line where the signal was not read, and where no reading was recorded for much longer than usual."""
    steps = sorted(after - before for (before, _), (after, _) in pairwise(points) if after > before)
    longest = max(6 * steps[len(steps) // 2], MINUTE) if steps else 0
    xs: list[float] = []
    ys: list[float] = []
    last: int | None = None
    for at, value in points:
        if last is not None and not 0 <= at - last <= longest:
            xs.append(at / SECOND)
            ys.append(nan)
        xs.append(at / SECOND)
        ys.append(nan if value is None else value)
        last = at
    return xs, ys


def _draw_time_axis(axes: "Axes", time: _Time, *, last: bool) -> None:
    offset = 0 if time.begin is None else time.begin // SECOND
    first = -(-int(time.start + offset) // time.tick) * time.tick - offset
    ticks = list(range(first, int(time.end) + 1, time.tick))
    names = [_clock(tick) if time.begin is None else rfc3339((tick + offset) * SECOND)[11:19] for tick in ticks]
    axes.set_xticks(ticks, names if last else [])
    if last and time.begin is not None:
        axes.set_xlabel(f"UTC, from {rfc3339(time.begin)[:10]}", fontsize=8, color=QUIET, loc="right", labelpad=1)
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


def _draw_amount_axis(axes: "Axes", panel: Panel, signal: Signal) -> None:
    values = [value for _, value in panel.points if value is not None]
    highest = max([*values, *(level.limit for level in panel.levels)])
    lowest, near = min(values, default=highest), highest // 50  # a line at 0 shall not lie on the axis
    step = nice_step(max(highest, 1), binary=SIGNALS[signal].unit is Unit.BYTES)
    ticks = list(range(0, int(highest * _HEADROOM) + 1, step))
    axes.set_ylim(min(lowest, 0) * 1.1 - (near if lowest < near else 0), max(highest, 1) * _HEADROOM)
    axes.set_yticks(ticks, [signal_amount(tick, signal) for tick in ticks])
    axes.grid(visible=True, axis="y", color=_GRID, linewidth=0.7)


def _draw_band(axes: "Axes", band: Band, time: _Time, *, stop: float, end: float, free: float) -> float:
    """Draw a band, full while a threshold is met, pale and dotted while only the transition period keeps the condition.

    Its name may run on into the next band, until `end`, and begins where the last one has ended; gives where it ends.
    """
    colour, start = _BANDS[band.condition], band.start / SECOND
    axes.axvspan(start, stop, color=colour, alpha=0.08 if band.held else 0.22, linewidth=0, zorder=1)
    if band.held:
        axes.axvspan(start, stop, fill=False, hatch="..", edgecolor=colour, alpha=0.25, linewidth=0, zorder=1)
    name = "transition period" if band.held else band.condition.value
    begin, wide = max(start, free), (len(name) * _SMALL_LETTER + 0.12) / time.inches
    if begin + wide > end:
        return free
    axes.annotate(
        name,
        (begin, 1),
        xycoords=("data", "axes fraction"),
        xytext=(4, -9),
        textcoords="offset points",
        fontsize=7.5,
        color=QUIET,
        zorder=5,
        bbox={"facecolor": "white", "edgecolor": "none", "pad": 1.2},
    )
    return begin + wide


def _draw_levels(axes: "Axes", levels: Sequence[Level], signal: Signal) -> None:
    """Draw the thresholds, and name each at the right, apart from one another."""
    low, high = axes.get_ylim()
    least = (high - low) * 0.13
    at = low - least
    for level in sorted(levels, key=lambda level: level.limit):
        colour, dashes = _LEVELS[level.kind]
        axes.axhline(level.limit, color=colour, linewidth=1.1, linestyle=dashes, zorder=3)
        at = max(level.limit, at + least)
        label = f"{level.kind} {signal_amount(level.limit, signal)}"
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
    """Draw a thin line through every panel, or a band for many marks, and the mark itself on the signal it was for.

    A reclaim points at the reading from above: often an eviction follows within a second, and each would hide the other.
    """
    from matplotlib.transforms import ScaledTranslation  # noqa: PLC0415

    shape, colour = _MARKS[mark.kind]
    axes.axvline(mark.at / SECOND, color=colour, linewidth=0.8, alpha=0.55, zorder=2)
    if mark.until is not None:
        axes.axvspan(mark.at / SECOND, mark.until / SECOND, color=colour, alpha=0.13, linewidth=0, zorder=1)
    on_line = [each for each in (mark, *mark.others) if each.signal is panel.signal and each.level is not None]
    if on_line:
        above = _ABOVE if mark.kind is MarkKind.RECLAIM else 0
        axes.plot(
            [each.at / SECOND for each in on_line],
            [each.level or 0 for each in on_line],
            linestyle="none",
            marker=shape,
            markersize=4 if mark.others else 7.5 if mark.kind is MarkKind.EVICTION else 6.5,
            color=colour,
            markeredgecolor="white",
            markeredgewidth=0.4 if mark.others else 1.0,
            zorder=6,
            transform=axes.transData + ScaledTranslation(0, above / 72, axes.figure.dpi_scale_trans),
            clip_on=False,
        )


# --- the lane of marks ------------------------------------------------------------------------------------------------


def _extents(marks: Sequence[Mark], time: _Time) -> list[Extent]:
    """Return begin and end of each mark with its label, in seconds; the label stands left of a mark near the right edge.

    So do all after it: a label to the left and one to the right of two marks that are close would each cross the other's line.
    """
    found, left = [], False
    for mark in marks:
        at, wide = mark.at / SECOND, (len(mark.text) * _LETTER + 0.22) / time.inches
        left = left or at + wide > time.end + _RIGHT / time.inches
        found.append((at - wide, at + 0.1 / time.inches) if left else (at, at + wide))
    return found


def _draw_lanes(
    axes: "Axes", marks: Sequence[Mark], lanes: Sequence[int], extents: Sequence[Extent], time: _Time
) -> None:
    axes.set_xlim(time.start, time.end)
    axes.set_ylim(-0.5, max(lanes) + 0.5)
    axes.axis("off")
    axes.set_zorder(-1)
    for mark, lane, extent in zip(marks, lanes, extents, strict=True):
        if lane < 0:
            continue
        shape, colour = _MARKS[mark.kind]
        at = mark.at / SECOND
        foot = -0.5 - _TITLE / _LANE_HEIGHT
        axes.plot([at, at], [foot, lane], color=colour, linewidth=0.8, alpha=0.55, clip_on=False, zorder=2)
        axes.plot(
            [at], [lane], marker=shape, markersize=6.5, color=colour, markeredgecolor="white", clip_on=False, zorder=5
        )
        left = extent[0] < at
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
