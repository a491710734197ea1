"""The picture of the demonstration on terminals of three sizes, and nothing but text where there is no terminal."""

import fcntl
import io
import os
import pty
import re
import struct
import termios
from pathlib import Path

import pytest

from evictd.commands.demo import next_steps
from evictd_testnode.screen import (
    PodRow,
    Screen,
    ScreenView,
    TerminalSize,
    TimelineEvent,
    conclusion_lines,
    frame,
    plot,
    timeline_lines,
    timeline_summary,
)
from evictd_testnode.story import BEGIN, HOG_BEGINS, DemoNode

pyte = pytest.importorskip("pyte")  # of the extra `dev`

MI = 1 << 20
CODES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
GOLDEN = Path(__file__).parents[1] / "golden"
SIZES = [TerminalSize(columns=80, lines=24), TerminalSize(columns=100, lines=30), TerminalSize(columns=200, lines=50)]
CROSSED: dict[str, object] = {
    "event": "threshold met", "signal": "nodefs.available", "available": "59.7Mi", "threshold": "60Mi"
}  # fmt: skip
UNDER_PRESSURE: dict[str, object] = {"event_reason": "NodeHasDiskPressure"}
RELIEVED: dict[str, object] = {"event_reason": "NodeHasNoDiskPressure"}
RECLAIMS: dict[str, object] = {"decision": "ReclaimNode"}
LOG: tuple[dict[str, object], ...] = (
    RELIEVED,
    CROSSED,
    UNDER_PRESSURE,
    RECLAIMS,
    {"event": "collected", "what": "containers", "removed": 2, "freed_bytes": 16 * MI},
    {"event": "collected", "what": "images", "removed": 2, "freed_bytes": 30 * MI},
    {"event": "threshold no longer met", "signal": "nodefs.available"},
    RELIEVED,
    CROSSED,
    UNDER_PRESSURE,
    RECLAIMS,
    {
        "event": "evict default/log-shipper (grace period 1s) for nodefs.available: 59.7Mi left, threshold 60Mi; it uses 83Mi, "
        "requests none",
        "decision": "EvictPod",
        "pod": "default/log-shipper",
    },
    {
        "event": "Evicted default/log-shipper (83Mi): it requests none and uses 83Mi; default/database, the next, "
        "requests none and uses 9Mi; both have priority 0, so the larger use decides.",
        "pod": "default/log-shipper",
        "uid": "u",
    },
    {"event": "threshold no longer met", "signal": "nodefs.available"},
    RELIEVED,
)
"""What evictd logs in the demonstration, with sentences as long as they get."""


def plain(lines: list[str]) -> list[str]:
    return [CODES.sub("", line) for line in lines]


def view(steps: int, **more: object) -> ScreenView:
    """Return the view after so many lines of the log."""
    demo = DemoNode(node=None)  # type: ignore[arg-type] # reads no node
    found = [event for number, line in enumerate(LOG[:steps]) for event in demo.events_of([line], 5.0 + number)]
    gone, collected = steps >= 14, steps >= 6
    values: dict[str, object] = {
        "seconds": 4.0 + steps,
        "title": "a real node: its own containerd on a disk of 160Mi",
        "available": 143 * MI if gone else 105 * MI if 6 <= steps < 9 else 59 * MI if steps >= 2 else 90 * MI,
        "capacity": 160 * MI,
        "threshold": 60 * MI,
        "pressure": 3 <= steps < 8 or 10 <= steps < 15,
        "pods": [
            PodRow(name="web", running=True, used_bytes=4 * MI),
            PodRow(name="database", running=True, used_bytes=9 * MI),
            PodRow(
                name="log-shipper",
                running=not gone,
                used_bytes=(83 if steps >= 9 else 66) * MI,
                evicted=steps >= 12,
                note="fills the disk",
            ),
        ],
        "images": ["localhost/busybox:1", *([] if collected else ["localhost/release:1", "localhost/release:2"])],
        "dead_containers": [] if collected else ["job-1", "job-2"],
        "events": (BEGIN, HOG_BEGINS, *found),
    }
    return ScreenView(**(values | more))  # type: ignore[arg-type]


class Window(io.StringIO):
    """A terminal without a file descriptor's size; `Screen.draw` writes to it."""

    def isatty(self) -> bool:
        return True


def shown(size: TerminalSize, *views: ScreenView) -> list[str]:
    """Return what a terminal emulator of this size shows after these pictures, one over the other."""
    out = Window()
    screen = Screen(out)
    for each in views:
        screen.draw(frame(each, size))
    emulator = pyte.Screen(size.columns, size.lines)
    pyte.Stream(emulator).feed(out.getvalue().replace("\n", "\r\n"))
    return [line.rstrip() for line in emulator.display]


@pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size.columns}x{size.lines}")
def test_the_screens_of_the_story(size: TerminalSize) -> None:
    """Each picture is drawn over all that came before it, as in the demonstration."""
    parts = []
    for title, steps in (
        ("the disk fills", 1),
        ("pressure", 4),
        ("enough so far", 8),
        ("why this pod", 13),
        ("the end", 15),
    ):
        rows = shown(size, *(view(each) for each in range(steps + 1)))
        parts += [f"== {title} ==", *rows]
    parts += ["== after it ==", *next_steps(size.columns, margin=" "), *conclusion_lines(view(15).events, size.columns)]
    path = GOLDEN / f"demo.{size.columns}x{size.lines}.txt"
    text = "\n".join(parts).rstrip() + "\n"
    if os.environ.get("UPDATE_GOLDEN"):
        path.write_text(text)
    assert text == path.read_text()


@pytest.mark.parametrize("size", SIZES[1:], ids=lambda size: f"{size.columns}x{size.lines}")
@pytest.mark.parametrize("steps", range(len(LOG) + 1))
def test_two_spaces_are_between_a_pod_and_the_image_beside_it(size: TerminalSize, steps: int) -> None:
    rows = [line for line in plain(frame(view(steps), size)) if "localhost/" in line]
    assert rows
    assert all(row.partition("localhost/")[0].endswith("  ") for row in rows)


@pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size.columns}x{size.lines}")
@pytest.mark.parametrize("steps", range(len(LOG) + 1))
def test_no_picture_scrolls_and_no_line_is_cut(size: TerminalSize, steps: int) -> None:
    lines = plain(frame(view(steps), size))
    assert len(lines) == size.lines - 1
    assert max(map(len, lines)) <= size.columns
    assert shown(size, view(steps))[:-1] == [line.rstrip() for line in lines]
    step = next(event.step for event in reversed(view(steps).events) if event.step)
    assert " ".join(step.split()) in " ".join(" ".join(lines).split())


@pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size.columns}x{size.lines}")
def test_the_bar_shows_what_is_left_and_where_the_threshold_lies(size: TerminalSize) -> None:
    bar = plain(frame(view(0, available=80 * MI), size))[1]
    assert bar.count("█") + bar.count("░") == min(size.columns - 54, 100) - 1
    assert bar.count("┃") == 1
    assert bar.endswith("80Mi left of 160Mi, threshold 60Mi")


def test_pressure_and_evictions_show() -> None:
    text = "\n".join(plain(frame(view(13), SIZES[0])))
    assert "● DiskPressure" in text
    assert "✗ log-shipper" in text
    assert "○ no pressure" in "\n".join(plain(frame(view(0), SIZES[0])))


@pytest.mark.parametrize("columns", [80, 100, 200])
def test_the_curve_falls_with_what_is_left(columns: int) -> None:
    rows = plain(plot([(0, 160 * MI), (10, 0)], capacity=160 * MI, threshold=60 * MI, columns=columns))
    assert rows[0].count("█") > 0
    assert not rows[0].endswith("█")  # at the end nothing is left
    assert max(map(len, rows)) <= columns
    assert plot([], capacity=1, threshold=0) == []


def test_the_end_repeats_which_pod_was_evicted_when_and_why() -> None:
    """The eviction had scrolled off a terminal of 24 lines."""
    assert conclusion_lines(view(8).events, 80) == []
    (blank, *lines) = conclusion_lines(view(15).events, 80)
    assert (blank, max(map(len, lines)) <= 80) == ("", True)
    assert " ".join(" ".join(lines).split()) == (
        "Result: at 16.0 s evictd evicted default/log-shipper: nothing unused, 59.7Mi left by then. Why this pod: it "
        "requests none and uses 83Mi; default/database, the next, requests none and uses 9Mi; both have priority 0, so the "
        "larger use decides."
    )


def test_the_end_says_once_why_the_pod_was_evicted() -> None:
    events = view(15).events
    end = "\n".join(plain([*timeline_summary(events, 80), *conclusion_lines(events, 80)]))
    assert end.lower().count("why this pod") == 1
    assert "16.0 s  evicts default/log-shipper: " in end


def test_the_size_is_that_of_the_terminal_whenever_it_is_asked() -> None:
    ours, theirs = pty.openpty()
    with os.fdopen(theirs, "w") as out, os.fdopen(ours, "rb"):
        screen = Screen(out)
        for lines, columns in ((24, 80), (50, 200), (5, 20), (0, 0)):
            fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))
            found = screen.size
            least = (24, 80) if not lines else (max(lines, 20), max(columns, 60))
            assert (found.lines, found.columns) == least
    assert Screen(io.StringIO()).size == TerminalSize()


def test_without_a_terminal_nothing_is_drawn_and_what_is_written_has_no_codes() -> None:
    out = io.StringIO()
    screen = Screen(out)
    screen.draw(frame(view(0), TerminalSize()))
    event = TimelineEvent(at=1, text="hello " * 40, highlighted=True)
    screen.write(timeline_lines(event, None))
    screen.close()
    assert out.getvalue() == f"     1.0 s  {'hello ' * 40}\n"


def test_what_was_on_the_terminal_comes_back_at_the_end() -> None:
    out = Window()
    screen = Screen(out)
    screen.draw(["picture"])
    screen.close()
    assert out.getvalue().startswith("\x1b[?1049h")
    assert out.getvalue().endswith("\x1b[?1049l\x1b[?25h")
