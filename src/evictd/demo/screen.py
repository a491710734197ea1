"""Draws the demonstration's node on a terminal, a hundred columns wide and several times a second.

`frame` makes the lines of one picture from plain values; `Screen` writes them to a terminal. If the output is not a terminal, no
picture is drawn, and only the timeline is written, line by line.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import TextIO

from evictd.core.units.approximate import bytes_text

WIDTH = 100

_BAR = 44
_RESET, _BOLD, _DIM, _RED, _GREEN, _YELLOW, _CYAN = (f"\x1b[{code}m" for code in (0, 1, 2, 31, 32, 33, 36))
_LEVELS = " ▁▂▃▄▅▆▇█"
_PLOT_ROWS = 6
_CODES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


@dataclass(frozen=True, slots=True, kw_only=True)
class PodRow:
    """A pod in the picture."""

    name: str
    running: bool
    used_bytes: int
    evicted: bool = False
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class TimelineEvent:
    """A line of the timeline; `at` is in seconds since the start."""

    at: float
    text: str
    highlighted: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeView:
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


def frame(view: NodeView, *, shown: int = 12) -> list[str]:
    """Make the lines of a picture with the last `shown` events."""
    lines = [_title(view), "", _disk(view), _condition(view), ""]
    lines += _node(view)
    lines += ["", colored("  what evictd does", _BOLD)]
    recent = view.events[-shown:]
    lines += [timeline_line(event) for event in recent]
    return lines + [""] * (shown - len(recent))


def timeline_line(event: TimelineEvent) -> str:
    """Format one event as a line of the timeline."""
    text = event.text if len(event.text) <= WIDTH - 12 else event.text[: WIDTH - 15] + "..."
    return f"  {colored(f'{event.at:6.1f} s', _DIM)}  {colored(text, _BOLD, _RED) if event.highlighted else text}"


def _title(view: NodeView) -> str:
    clock = f"{view.seconds:.1f} s"
    return f"{colored(' evictd demo', _BOLD, _CYAN)}  {view.title:<{WIDTH - 24}}{clock:>9}"


def _disk(view: NodeView) -> str:
    left = max(0, min(_BAR, round(view.available / max(view.capacity, 1) * _BAR)))
    tick = min(_BAR - 1, round(view.threshold / max(view.capacity, 1) * _BAR))
    color = _RED if view.available < view.threshold else _GREEN
    cells = [("█", color) if cell < left else ("░", _DIM) for cell in range(_BAR)]
    cells[tick] = ("┃", _RED)
    text = (
        f"{bytes_text(view.available):>8} left of {bytes_text(view.capacity)}, threshold {bytes_text(view.threshold)}"
    )
    return f"  nodefs  {run_lengths(cells)}  {text}"


def _condition(view: NodeView) -> str:
    mark = colored("● DiskPressure", _BOLD, _RED) if view.pressure else colored("○ no pressure", _GREEN)
    return f"          {mark}"


def _node(view: NodeView) -> list[str]:
    head = f"  {colored('pods', _BOLD):<50}{colored('images', _BOLD):<42}{colored('dead containers', _BOLD)}"
    rows = max(len(view.pods), len(view.images), len(view.dead_containers), 6)
    lines = [head]
    for row in range(rows):
        pod = _pod(view.pods[row]) if row < len(view.pods) else " " * 42
        image = view.images[row] if row < len(view.images) else ""
        dead = view.dead_containers[row] if row < len(view.dead_containers) else ""
        lines.append(f"  {pod}{image:<34}{colored(dead, _DIM)}")
    return lines


def _pod(pod: PodRow) -> str:
    text = f"{pod.name:<18}{bytes_text(pod.used_bytes):>8}  {pod.note:<12}"
    if pod.evicted:
        return colored("✗ ", _BOLD, _RED) + colored(f"{pod.name:<18}{'evicted':>8}{'':14}", _DIM)
    return (colored("● ", _GREEN) if pod.running else colored("○ ", _DIM)) + (
        colored(text, _YELLOW) if pod.note else text
    )


def plot(samples: Sequence[tuple[float, int]], *, capacity: int, threshold: int) -> list[str]:
    """Plot the available bytes over time as blocks, with a dotted line at the threshold."""
    if not samples:
        return []
    columns = WIDTH - 16
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
        self._height = 0

    def draw(self, lines: Sequence[str]) -> None:
        """Overwrite the last picture."""
        if not self.live:
            return
        back = f"\x1b[{self._height}A" if self._height else "\x1b[?25l"
        self._out.write(back + "".join(f"\x1b[2K{line}\n" for line in lines))
        self._out.flush()
        self._height = len(lines)

    def write(self, lines: Sequence[str]) -> None:
        """Write lines below the picture; without color codes if the output is not a terminal."""
        text = "".join(f"{line}\n" for line in lines)
        self._out.write(text if self.live else _CODES.sub("", text))
        self._out.flush()

    def close(self) -> None:
        """Show the cursor again."""
        if self.live:
            self._out.write("\x1b[?25h")
            self._out.flush()
