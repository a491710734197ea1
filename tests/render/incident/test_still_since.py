"""Since when nothing filled what was short."""

from dataclasses import replace

import pytest

from evictd.render.incident.still_since import filled_lines
from tests.render.recorded_incident import incident

FELL = tuple((float(at), 4000 - (at + 600) * 50) for at in range(-600, -549, 10))
FOUND = replace(incident(), points=(*FELL, *((float(at), 1500) for at in range(-540, 1, 10)), (10.0, 1800)))


def test_what_grew_no_more_for_minutes_is_said_with_the_time() -> None:
    """What filled the disk had ended ten minutes before, and was told as if it had gone on (world 03)."""
    assert FOUND.event.filled
    assert filled_lines(FOUND) == (
        FOUND.event.filled,
        "Nothing has grown since 23:51:20.",
    )


@pytest.mark.parametrize(
    "points",
    [
        (),
        tuple((float(at), 1500) for at in range(-600, 1, 10)),
        tuple((float(at), 4000 - at) for at in range(-600, 1, 10)),
        tuple((float(at), 4000 if at < -30 else 1500) for at in range(-600, 1, 10)),
    ],
    ids=["no reading", "no reading of the growth", "it grows on", "it ended in the last minute"],
)
def test_else_only_who_filled_it_is_said(points: tuple[tuple[float, int], ...]) -> None:
    assert filled_lines(replace(FOUND, points=points)) == (FOUND.event.filled,)
    assert filled_lines(replace(FOUND, event=replace(FOUND.event, filled=""))) == ()
