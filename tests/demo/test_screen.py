"""The picture of the demonstration: a hundred columns, and nothing but text where there is no terminal."""

import io
import re

import pytest

from evictd.demo.screen import WIDTH, NodeView, PodRow, Screen, TimelineEvent, frame, plot, timeline_line

MI = 1 << 20
CODES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


def plain(lines: list[str]) -> list[str]:
    return [CODES.sub("", line) for line in lines]


def view(available: int, events: tuple[TimelineEvent, ...] = ()) -> NodeView:
    return NodeView(
        seconds=12.3,
        title="a node",
        available=available,
        capacity=160 * MI,
        threshold=60 * MI,
        pressure=available < 60 * MI,
        pods=[
            PodRow(name="web", running=True, used_bytes=4 * MI),
            PodRow(name="hog", running=True, used_bytes=90 * MI, note="fills the disk"),
            PodRow(name="gone", running=False, used_bytes=0, evicted=True),
        ],
        images=["localhost/busybox:1", "localhost/release:1"],
        dead_containers=["job-1"],
        events=events,
    )


@pytest.mark.parametrize("available", [0, 59 * MI, 160 * MI])
def test_no_line_is_wider_than_the_picture(available: int) -> None:
    event = TimelineEvent(at=3, text="x" * 300, highlighted=True)
    assert max(map(len, plain(frame(view(available, (event,) * 30))))) <= WIDTH


def test_every_picture_has_the_same_height() -> None:
    few, many = (TimelineEvent(at=1, text="a"),), (TimelineEvent(at=1, text="a"),) * 50
    assert len(frame(view(0, few))) == len(frame(view(0, many)))


def test_the_bar_shows_what_is_left_and_where_the_threshold_lies() -> None:
    bar = plain(frame(view(80 * MI)))[2]
    assert bar.count("█") + bar.count("░") == 43
    assert bar.count("┃") == 1
    assert "80Mi left of 160Mi, threshold 60Mi" in bar


def test_pressure_and_evictions_show() -> None:
    text = "\n".join(plain(frame(view(59 * MI))))
    assert "● DiskPressure" in text
    assert "✗ gone" in text
    assert "○ no pressure" in "\n".join(plain(frame(view(61 * MI))))


def test_the_curve_falls_with_what_is_left() -> None:
    rows = plain(plot([(0, 160 * MI), (10, 0)], capacity=160 * MI, threshold=60 * MI))
    assert rows[0].count("█") > 0
    assert not rows[0].endswith("█")  # at the end nothing is left
    assert max(map(len, rows)) <= WIDTH
    assert plot([], capacity=1, threshold=0) == []


def test_without_a_terminal_nothing_is_drawn_and_what_is_written_has_no_codes() -> None:
    out = io.StringIO()
    screen = Screen(out)
    screen.draw(frame(view(0)))
    screen.write([timeline_line(TimelineEvent(at=1, text="hello", highlighted=True))])
    screen.close()
    assert out.getvalue() == "     1.0 s  hello\n"
