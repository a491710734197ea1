"""Draws the demonstration's node on a terminal of any size, several times a second.

`frame` makes the lines of one picture from plain values, laid out for the terminal: nothing is wider or higher
than the terminal, and no sentence is cut. `Screen` writes them, on the terminal's alternate screen. If the output is no terminal,
no picture is drawn, and only the timeline is written, line by line.
"""

import os
import re
import textwrap
from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import TextIO

from evictd.core.frozen import frozen
from evictd.core.units.approximate import bytes_text

_BAR_TEXT, _MOST_BAR = 54, 100
"""Columns beside the bar of what is left, and the most that the bar itself takes."""
_SIDE_BY_SIDE = 100
"""Columns from which images and dead containers are drawn beside the pods and not below them."""
_POD, _IMAGE = 44, 34
"""Columns of a pod and of an image, with the space after them."""
_AT = 12
"""Columns of a time on the timeline, with the space around it."""
_RESET, _BOLD, _DIM, _RED, _GREEN, _YELLOW, _CYAN = (f"\x1b[{code}m" for code in (0, 1, 2, 31, 32, 33, 36))
_LEVELS = " ▁▂▃▄▅▆▇█"
_PLOT_ROWS = 6
_STEP_ROWS = 2
_CODES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


@frozen
class TerminalSize:
    """The columns and lines of a terminal, at least 60 by 20; what is written to no terminal is 100 wide."""

    columns: int = 100
    lines: int = 30


@frozen
class PodRow:
    """A pod in the picture."""

    name: str
    running: bool
    used_bytes: int
    evicted: bool = False
    note: str = ""


@frozen
class TimelineEvent:
    """A line of the timeline; `at` is in seconds since the start."""

    at: float
    text: str
    highlighted: bool = False
    step: str = ""
    """What happens from here on, in one sentence; empty where that is the same as before."""
    conclusion: str = ""
    """What to repeat of it at the end of the demonstration, without its time."""


@frozen
class ScreenView:
    """The values of one picture; sizes in bytes."""

    seconds: float
    title: str
    available: int
    capacity: int
    threshold: int
    pressure: bool
    pods: Sequence[PodRow]
    images: Sequence[str]
    dead_containers: Sequence[str]
    events: Sequence[TimelineEvent]


def colored(text: str, *codes: str) -> str:
    """Wrap a text in terminal color codes."""
    return f"{''.join(codes)}{text}{_RESET}"


def frame(view: ScreenView, size: TerminalSize) -> list[str]:
    """Make the lines of a picture, one less than the terminal has, with as many of the last events as fit."""
    lines = [_title(view, size), _disk(view, size), _condition(view), *_step(view, size), ""]
    lines += _side_by_side(view) if size.columns >= _SIDE_BY_SIDE else _stacked(view, size)
    lines += ["", colored("  what evictd does", _BOLD)]
    free_lines = max(size.lines - 1 - len(lines), 0)
    shown: list[str] = []
    for event in reversed(view.events):
        rows = timeline_lines(event, size.columns)
        if len(rows) + len(shown) > free_lines:
            break
        shown = rows + shown
    lines += shown
    return lines + [""] * (size.lines - 1 - len(lines))


def timeline_lines(event: TimelineEvent, columns: int | None) -> list[str]:
    """Format one event for the timeline, wrapped with a hanging indent; in one line without `columns`."""
    found = [event.text] if columns is None else textwrap.wrap(event.text, columns - _AT)
    rows = [colored(row, _BOLD, _RED) if event.highlighted else row for row in found]
    first = f"  {colored(f'{event.at:6.1f} s', _DIM)}  {rows[0]}"
    return [first, *(f"{'':{_AT}}{row}" for row in rows[1:])]


def timeline_summary(events: Iterable[TimelineEvent], columns: int) -> list[str]:
    """Format the events for the end of the demonstration, without why a pod was evicted: `conclusion_lines` has that."""
    shown = (event for event in events if event.highlighted or not event.conclusion)
    return [" timeline", *(line for event in shown for line in timeline_lines(event, columns))]


def conclusion_lines(events: Iterable[TimelineEvent], columns: int) -> list[str]:
    """Repeat which pod was evicted, when and why, after a blank line; nothing if no pod was."""
    shown = [event for event in events if event.conclusion]
    if not shown:
        return []
    text = " ".join(event.conclusion for event in shown)
    return ["", *paragraph(f"Result: at {shown[0].at:.1f} s {text}", columns)]


def paragraph(text: str, columns: int) -> list[str]:
    """Wrap a text to the terminal's columns."""
    return textwrap.wrap(text, columns, initial_indent=" ", subsequent_indent=" ")


def _title(view: ScreenView, size: TerminalSize) -> str:
    clock = f"{view.seconds:.1f} s"
    return f"{colored(' evictd demo', _BOLD, _CYAN)}  {view.title:<{size.columns - 24}}{clock:>9}"


def _disk(view: ScreenView, size: TerminalSize) -> str:
    width = min(size.columns - _BAR_TEXT, _MOST_BAR)
    left = max(0, min(width, round(view.available / max(view.capacity, 1) * width)))
    tick = min(width - 1, round(view.threshold / max(view.capacity, 1) * width))
    color = _RED if view.available < view.threshold else _GREEN
    cells = [("█", color) if cell < left else ("░", _DIM) for cell in range(width)]
    cells[tick] = ("┃", _RED)
    text = (
        f"{bytes_text(view.available):>8} left of {bytes_text(view.capacity)}, threshold {bytes_text(view.threshold)}"
    )
    return f"  nodefs  {run_lengths(cells)}  {text}"


def _condition(view: ScreenView) -> str:
    mark = colored("● DiskPressure", _BOLD, _RED) if view.pressure else colored("○ no pressure", _GREEN)
    return f"          {mark}"


def _step(view: ScreenView, size: TerminalSize) -> list[str]:
    """Return the lines of the sentence that says what happens now, at least `_STEP_ROWS`."""
    step = next((event.step for event in reversed(view.events) if event.step), "")
    rows = textwrap.wrap(step, size.columns - 10)
    marked = [f"  {colored('now' if not number else '   ', _DIM)}     {row}" for number, row in enumerate(rows)]
    return marked + [""] * (_STEP_ROWS - len(rows))


def _side_by_side(view: ScreenView) -> list[str]:
    heads = (("pods", _POD), ("images", _IMAGE), ("dead containers", 0))
    rows = max(len(view.pods), len(view.images), len(view.dead_containers), 6)
    lines = ["  " + "".join(colored(f"{text:<{width}}", _BOLD) for text, width in heads)]
    for row in range(rows):
        pod = _pod(view.pods[row]) if row < len(view.pods) else " " * _POD
        image = view.images[row] if row < len(view.images) else ""
        dead = view.dead_containers[row] if row < len(view.dead_containers) else ""
        lines.append(f"  {pod}{image:<{_IMAGE}}{colored(dead, _DIM)}")
    return lines


def _stacked(view: ScreenView, size: TerminalSize) -> list[str]:
    """Return the pods one below the other, then one line for the images and one for the dead containers."""
    rows = [f"  {_pod(pod)}" for pod in view.pods]
    lines = [f"  {colored('pods', _BOLD)}", *rows, *[""] * (3 - len(rows))]
    for head, names in (("images", view.images), ("dead containers", view.dead_containers)):
        text = ", ".join(name.rpartition("/")[2] for name in names) or "none"
        width = size.columns - 19
        lines.append(f"  {colored(f'{head:<17}', _BOLD)}{text if len(text) <= width else f'{len(names)}'}")
    return lines


def _pod(pod: PodRow) -> str:
    text = f"{pod.name:<16}{bytes_text(pod.used_bytes):>8}  {pod.note:<{_POD - 28}}"
    if pod.evicted:
        return colored("✗ ", _BOLD, _RED) + colored(f"{pod.name:<16}{'evicted':>8}{'':{_POD - 26}}", _DIM)
    return (colored("● ", _GREEN) if pod.running else colored("○ ", _DIM)) + (
        colored(text, _YELLOW) if pod.note else text
    )


def plot(samples: Sequence[tuple[float, int]], *, capacity: int, threshold: int, columns: int = 100) -> list[str]:
    """Plot the available bytes over time as blocks, with a dotted line at the threshold."""
    if not samples:
        return []
    columns -= 16
    last = samples[-1][0] or 1.0
    heights = [_at(samples, last * column / (columns - 1)) / max(capacity, 1) * _PLOT_ROWS for column in range(columns)]
    line = threshold / max(capacity, 1) * _PLOT_ROWS
    rows = []
    for row in range(_PLOT_ROWS - 1, -1, -1):
        label = {_PLOT_ROWS - 1: bytes_text(capacity), int(line): bytes_text(threshold)}.get(row, "")
        cells = (_cell(height, row, marked=row == int(line)) for height in heights)
        rows.append(f"  {label:>9} {run_lengths(cells)}")
    rows.append(f"  {'':>9} 0 s{f'{last:.0f} s':>{columns - 3}}")
    return rows


def _cell(height: float, row: int, *, marked: bool) -> tuple[str, str]:
    level = max(0, min(8, round((height - row) * 8)))
    if marked and level == 0:
        return "┄", _RED
    return _LEVELS[level], _RED if marked and level < 8 else _CYAN


def run_lengths(cells: Iterable[tuple[str, str]]) -> str:
    """Join cells and colors; adjacent cells of one color share their color code."""
    return "".join(
        colored("".join(cell for cell, _ in same), color) for color, same in groupby(cells, key=lambda pair: pair[1])
    )


def _at(samples: Sequence[tuple[float, int]], seconds: float) -> int:
    return next((left for at, left in reversed(samples) if at <= seconds), samples[0][1])


class Screen:
    """Draws pictures in place on a terminal; on any other output it draws nothing."""

    def __init__(self, out: TextIO) -> None:
        self.live = out.isatty()
        self._out = out
        self._drawn = False

    @property
    def size(self) -> TerminalSize:
        """The terminal's size now; without one, that of `TerminalSize`."""
        if not self.live:
            return TerminalSize()
        try:
            found = os.get_terminal_size(self._out.fileno())
        except (OSError, ValueError):
            return TerminalSize()
        if not (found.columns and found.lines):  # a serial line does not know
            return TerminalSize(columns=80, lines=24)
        return TerminalSize(columns=max(found.columns, 60), lines=max(found.lines, 20))

    def draw(self, lines: Sequence[str]) -> None:
        """Draw a picture over the last one, on the alternate screen, which `close` leaves."""
        if not self.live:
            return
        begin = "\x1b[H" if self._drawn else "\x1b[?1049h\x1b[?25l\x1b[H"
        self._out.write(begin + "".join(f"\x1b[2K{line}\n" for line in lines) + "\x1b[J")
        self._out.flush()
        self._drawn = True

    def write(self, lines: Sequence[str]) -> None:
        """Write lines; without color codes if the output is not a terminal."""
        text = "".join(f"{line}\n" for line in lines)
        self._out.write(text if self.live else _CODES.sub("", text))
        self._out.flush()

    def close(self) -> None:
        """Show what the terminal showed before, and the cursor."""
        if self._drawn:
            self._out.write("\x1b[?1049l\x1b[?25h")
            self._out.flush()
            self._drawn = False
