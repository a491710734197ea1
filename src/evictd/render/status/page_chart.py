"""Scales the line of one signal on the page: the time that was recorded, the amounts that occurred, thresholds and evictions.

Ten seconds of readings are drawn over the whole width and not at the end of an empty hour. Amounts begin at 0 and end at
the next round number above what was seen and what the thresholds are, so that a small change of a large disk is visible.
"""

from collections.abc import Mapping, Sequence
from math import ceil
from typing import Any

from evictd.codec.times import rfc3339
from evictd.core.frozen import frozen
from evictd.core.model.signal import Signal
from evictd.core.units.duration import SECOND
from evictd.render.axis import axis_top
from evictd.render.status.owners import seconds_ago
from evictd.render.text import clean, seconds_text, signal_amount

WIDTH, HEIGHT = 120, 24
"""Size of the drawing in its own coordinates."""
_HEADROOM = 1.02
_RECLAIM = "ReclaimNode"
_LEAST_SECONDS = 1.0
_UNREAD_SECONDS = 15
"""Time without a reading, in seconds, that is said in words: a calm node is read every ten seconds."""
_LABEL = 17.0
"""Height of a line of text in percent of the drawing: labels that are closer touch."""
_MINUTES = 600
"""Least span, in seconds, whose time axis is in minutes."""


@frozen
class EvictionMark:
    """A mark for an eviction or a reclaim: seconds ago, the pod, and the id of its incident; a reclaim has neither."""

    ago: float
    pod: str = ""
    incident: str = ""
    dry_run: bool = False
    ends: bool = False
    """The pod has not ended yet."""

    @property
    def text(self) -> str:
        """The text of the mark."""
        if self.ends:
            done = f"eviction of {self.pod} began"
        elif self.pod:
            done = f"{self.pod} {'would have been evicted' if self.dry_run else 'evicted'}"
        else:
            done = f"{'would have removed' if self.dry_run else 'began to remove'} what no pod needs"
        return f"{done} {seconds_text(self.ago)} ago"

    @property
    def style(self) -> str:
        """The classes of its line and of its key."""
        return f"mark{'' if self.pod else ' reclaim'}{' dry' if self.dry_run else ''}"


@frozen
class PageChart:
    """A line with its scales, in the coordinates of the drawing: the present is at its right."""

    points: str
    """The readings."""
    held: str
    """From the last reading up to the present at its height: until the next reading nothing else is known."""
    unread: str
    """The time without a reading; empty where it is short."""
    lines: tuple[tuple[str, float], ...]
    """Kind and height of each threshold."""
    marks: tuple[tuple[float, EvictionMark], ...]
    """Place, and eviction or reclaim: what is drawn last covers the others, so evictions are."""
    top: str
    """The amount at the upper edge."""
    bottom: str
    """The amount at the lower edge: nothing is left."""
    begin: str
    """Time of the left edge, and how long ago it was."""
    course: str = ""
    """The amounts at the first reading, at the least and at the last one, for those who do not see the line."""
    labels: tuple[tuple[str, float], ...] = ()
    """Amounts beside the line, and their places in percent of its height: the edges, and the thresholds."""


def page_chart(
    trend: Sequence[tuple[float, int]],
    thresholds: Sequence[tuple[str, int]],
    signal: Signal,
    marks: Sequence[EvictionMark] = (),
    *,
    capacity: int = 0,
    now: int | None = None,
) -> PageChart | None:
    """Scale readings (seconds ago, amount) and thresholds (kind, limit); `None` before two readings, a second apart.

    The upper edge is at most the capacity, if that is known; `now` is the wall clock in nanoseconds.
    """
    span = max((ago for ago, _ in trend), default=0)
    if len(trend) < 2 or span < _LEAST_SECONDS:
        return None
    last, amount_now = trend[-1]
    highest = max(*(amount for _, amount in trend), *(limit for _, limit in thresholds), 1)
    top = axis_top(ceil(highest * _HEADROOM), signal)
    top = capacity if highest <= capacity < top else top

    def x(ago: float) -> float:
        return round(WIDTH * (1 - min(max(ago, 0), span) / span), 1)

    def y(amount: float) -> float:
        return round(HEIGHT * (1 - min(max(amount / top, 0), 1)), 1)

    return PageChart(
        points=" ".join(f"{x(ago)},{y(amount)}" for ago, amount in trend),
        held=f"{x(last)},{y(amount_now)} {WIDTH:.1f},{y(amount_now)}" if last > 0 else "",
        unread=seconds_text(last) if last >= _UNREAD_SECONDS else "",
        lines=tuple((kind, y(limit)) for kind, limit in thresholds),
        marks=tuple((x(mark.ago), mark) for mark in sorted(marks, key=_is_eviction) if mark.ago <= span),
        top=signal_amount(top, signal),
        bottom=signal_amount(0, signal),
        labels=_labels([limit for _, limit in thresholds], top, signal),
        course=_course([amount for _, amount in trend], signal),
        begin=f"{_clock(now, span)}{seconds_text(span) if span < _MINUTES else f'{round(span / 60)} min'} ago",
    )


def _course(amounts: Sequence[int], signal: Signal) -> str:
    """Write the first amount, the least or the greatest one where it is beyond both ends, and the last one."""
    ends, least, most = (amounts[0], amounts[-1]), min(amounts), max(amounts)
    parts = [f"{signal_amount(ends[0], signal)} at first"]
    parts += [f"{signal_amount(least, signal)} at the least"] if least < min(ends) else []
    parts += [f"{signal_amount(most, signal)} at the most"] if most > max(ends) else []
    return ", ".join((*parts, f"{signal_amount(ends[1], signal)} now"))


def _is_eviction(mark: EvictionMark) -> bool:
    return bool(mark.pod)


def _clock(now: int | None, ago: float) -> str:
    """Write the time of the left edge before how long ago it was; empty where it is not known."""
    return "" if now is None else f"{rfc3339(now - round(ago * SECOND))[11:19]}, "


def _labels(limits: Sequence[int], top: int, signal: Signal) -> tuple[tuple[str, float], ...]:
    """Place the amounts so that none covers another: those of the thresholds first, from below, then the edges'."""
    placed: list[tuple[str, float]] = []
    below = 100.0  # 0 stands there
    for limit in sorted({limit for limit in limits if 0 < limit < top}):
        below = min(100 * (1 - limit / top), below - _LABEL)
        if below >= 0:
            placed.append((signal_amount(limit, signal), round(below, 1)))
    edges = ((signal_amount(top, signal), 0.0), (signal_amount(0, signal), 100.0))
    free = [edge for edge in edges if all(abs(edge[1] - place) >= _LABEL for _, place in placed)]
    return tuple(sorted((*placed, *free), key=lambda each: each[1]))


def eviction_marks(status: Mapping[str, Any]) -> dict[str, list[EvictionMark]]:
    """Return the evictions and reclaims among the last decisions of `/statusz`, by the signal that they were for."""
    found: dict[str, list[EvictionMark]] = {}
    leaving = {row["pod"] for row in status.get("leaving", ()) if not row["gone"]}
    for decision in status["decisions"]:
        if not decision.get("signal") or not (decision.get("pod") or decision["kind"] == _RECLAIM):
            continue
        if (ago := seconds_ago(status, decision["at"])) is None:
            continue
        mark = EvictionMark(
            ago=ago,
            pod=clean(decision["pod"]),
            incident=decision.get("incident", ""),
            dry_run=(dry := decision.get("dryRun", False)),
            ends=not dry and decision["pod"] in leaving,
        )
        found.setdefault(decision["signal"], []).append(mark)
    return found
