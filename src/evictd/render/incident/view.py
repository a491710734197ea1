"""Shows one incident: as text with a chart of the signal, as a document, and as one HTML file to attach to a ticket."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING

from evictd.codec.times import rfc3339
from evictd.core.model.finding import SkipReason
from evictd.core.model.signal import Resource, Signal
from evictd.core.units.duration import SECOND
from evictd.render.attribution import clock_text
from evictd.render.axis import axis_top
from evictd.render.console import print_line
from evictd.render.deciding import passed_over_because
from evictd.render.documents import API_VERSION, Document
from evictd.render.history.cause.recorded import IncidentRow
from evictd.render.history.history import event_line
from evictd.render.incident.cause.outside_pods import outside_pods_text
from evictd.render.incident.cause.unknown_images import passed_over_with_image
from evictd.render.incident.events import dated_lines
from evictd.render.incident.heading import heading_lines
from evictd.render.incident.incident_list import event_row
from evictd.render.incident.needed import verdict_text
from evictd.render.incident.record.aftermath import AFTER, time_of
from evictd.render.incident.record.filled import filled_lines
from evictd.render.incident.record.incident import Incident
from evictd.render.incident.relief.relief import relief_lines
from evictd.render.incident.remedy.avoidance import avoidance
from evictd.render.incident.remedy.avoided import Avoidance
from evictd.render.incident.remedy.now import left_to_do, now_text
from evictd.render.incident.summary import summary_text
from evictd.render.status.owners import AGAIN
from evictd.render.status.page.node_page import asset, page_template
from evictd.render.status.page_chart import EvictionMark, page_chart
from evictd.render.text import (
    COUNTED,
    amount_text,
    capital,
    clean,
    counted,
    seconds_text,
    signal_amount,
    usage_text,
)

if TYPE_CHECKING:
    from rich.console import Console

_ROWS = 8
_LEAST_COLUMNS, _MOST_COLUMNS = 20, 72
_SHOWN_PODS = 10
_SHOWN_EVENTS = 12
"""How many events before and after an eviction a terminal shows."""
_DRAWN_BEFORE, _DRAWN_AFTER = 300, 120
"""Seconds around an eviction that are drawn."""
_QUIET_SECONDS = 60
"""Time without a reading after the chart's end that is said."""
_NEXT = "evictd status on that node says what comes next; --output html writes a file for a ticket"
_LEVEL_CHARACTER = {"hard": "━", "soft": "╌"}


def print_incident(found: Incident, to: "Console") -> None:
    """Print an incident, section by section."""
    event = found.event
    node = f" on node {found.node}" if found.node else ""
    to.print(f"incident {found.id}: {event.pod} at {clean(event.at)}{node}", style="bold")
    for line in filter(None, (*heading_lines(found), event_line(event), event.why, *filled_lines(found))):
        print_line(to, "  ", line)
    if chart := chart_lines(found, to.width):
        _heading(to, f"{'' if found.signal is None else found.signal.value} (▼ an eviction)")
        for line in chart:
            to.print(line, no_wrap=True, crop=True, highlight=False, markup=False)
        if quiet := next_reading_text(found):
            print_line(to, "  ", quiet)
    _heading(to, "what came back")
    for line in after_lines(found):
        print_line(to, "  ", line)
    _avoided(to, avoidance(found))
    if found.ranking:
        _heading(to, f"ranking at that moment, {counted(found.pods, 'pod')}")
        for line in ranking_lines(found):
            print_line(to, "  ", line)
    before, after = (list(dated_lines(each)) for each in (found.before, found.after))
    _events(to, "before", before[-_SHOWN_EVENTS:], "earlier", len(before))
    _events(to, "after", after[:_SHOWN_EVENTS], "later", len(after))
    if found.events:
        _heading(to, events_heading(found))
    for reason, message in found.events:
        print_line(to, "  ", f"{reason}: {message}")
    to.print()
    to.print(_NEXT, style="dim")


def _drawn(found: Incident) -> tuple[tuple[float, int], ...]:
    """Return the readings near the eviction, and the fall if nothing was left for long; later ones would press them together."""
    was_empty = (found.full_since or 0) >= _DRAWN_BEFORE
    return tuple(each for each in found.points if (was_empty or each[0] >= -_DRAWN_BEFORE) and each[0] <= _DRAWN_AFTER)


def next_reading_text(found: Incident) -> str:
    """Write how long the journal has no reading after the chart's end; empty where it ends there, or one follows soon."""
    drawn = _drawn(found)
    end = drawn[-1][0] if drawn else 0.0
    following = next((seconds for seconds, _ in found.points if seconds > end), None)
    later = min(found.known_for, AFTER / SECOND) if following is None else following
    if not drawn or later - end < _QUIET_SECONDS:
        return ""
    until = (
        f"until {seconds_text(later)} after the eviction"
        if following is not None
        else f"in the {seconds_text(later)} after the eviction"
    )
    return f"no other reading {until}: the journal keeps one where something changes"


def after_lines(found: Incident) -> tuple[str, ...]:
    """Write what came back and whether the end of the pod was needed."""
    return (*relief_lines(found), *filter(None, (verdict_text(found), outside_pods_text(found))))


def events_heading(found: Incident) -> str:
    """Return the heading of the events, which a dry run would have written."""
    return "events that would have been written" if found.event.dry_run else "events written"


def _avoided(to: "Console", found: Avoidance) -> None:
    for heading, texts in (("what would have avoided it", found.by), ("what would not have", found.not_by)):
        if texts:
            _heading(to, heading)
        for text in texts:
            print_line(to, "  ", text)


def _heading(to: "Console", text: str) -> None:
    to.print()
    to.print(text, style="bold cyan")


def _events(to: "Console", heading: str, lines: Sequence[tuple[str, str]], others: str, count: int) -> None:
    """Print lines of events; of `count` in all, the `others` are left out."""
    if lines:
        left_out = count - len(lines)
        _heading(to, f"{heading} ({left_out} {others} left out)" if left_out else heading)
        for at, text in lines:
            print_line(to, f"  {at[11:19]}  " if at else "  ", text)


def ranking_lines(found: Incident) -> Iterator[str]:
    """Write the rows of the ranking, the evicted pod's always."""
    for row in found.ranking:
        if row.number <= _SHOWN_PODS or row.chosen:
            yield row_text(row, found)
    if (more := found.pods - sum(row.number <= _SHOWN_PODS or row.chosen for row in found.ranking)) > 0:
        yield f"and {more} more"


def row_text(row: IncidentRow, found: Incident) -> str:
    """Write a pod of the ranking on one line."""
    resource = found.resource
    uses = "uses" if found.measured or not row.chosen else "when last measured used"
    used = "not measured" if row.usage is None or resource is None else f"{uses} {usage_text(row.usage, resource)}"
    request = (
        "requests none" if not row.request or resource is None else f"requests {amount_text(row.request, resource)}"
    )
    if resource in COUNTED:
        request = ""  # no pod requests processes or inodes
    skipped = {(each.number, each.skipped) for each in found.ranking}
    note = (
        ("would have been evicted" if found.event.dry_run else "evicted")
        if row.chosen
        else "never evicted"
        if row.protected
        else "passed over as well"
        if row.skipped and (row.number - 1, row.skipped) in skipped
        else f"passed over: {_passed_over(row.skipped, resource)}"
        if row.skipped
        else ""
    )
    protected = sum(each.protected for each in found.ranking if each.number < row.number)
    place = "-" if row.protected else f"{row.number - protected}."
    text = f"{place} {row.pod}: {', '.join(filter(None, (used, request)))}, priority {row.priority}"
    return f"{text} ({note})" if note else text


def _passed_over(reason: str, resource: Resource | None) -> str:
    """Return the text of a reason; a newer daemon may have others."""
    known = next((each for each in SkipReason if each.value == reason), None)
    return reason if known is None else passed_over_because(known, resource)


# --- the chart of a terminal ------------------------------------------------------------------------------------------


def chart_lines(found: Incident, width: int) -> list[str]:
    """Draw the signal over time with its thresholds and a mark at the eviction; nothing without two readings."""
    drawn = _drawn(found)
    if found.signal is None or len(drawn) < 2:
        return []
    begin, end = drawn[0][0], drawn[-1][0]
    labels = max(
        len(signal_amount(limit, found.signal))
        for limit in [_top(found, found.signal), *(each for _, each in found.levels)]
    )
    kinds = max((len(kind) + 1 for kind, _ in found.levels), default=0)
    columns = max(min(width - labels - kinds - 3, _MOST_COLUMNS), _LEAST_COLUMNS)
    if end - begin < 1:
        return []
    values = _columns(drawn, columns)
    at = min(round((0 - begin) / (end - begin) * (columns - 1)), columns - 1)
    lines = [" " * (labels + 3 + max(at, 0)) + "▼"]
    top = _top(found, found.signal)
    levels = {max(min(int(limit * _ROWS / top), _ROWS - 1), 0): (kind, limit) for kind, limit in reversed(found.levels)}
    for row in range(_ROWS - 1, -1, -1):
        kind, limit = levels.get(row, ("", top if row == _ROWS - 1 else 0))
        label = signal_amount(limit, found.signal) if kind or row in {0, _ROWS - 1} else ""
        empty = _LEVEL_CHARACTER.get(kind, " ")
        cells = "".join("█" if value * _ROWS > row * top else empty for value in values)
        lines.append(f" {label:>{labels}} ┤{cells}" + (f" {kind}" if kind else ""))
    left, right = (
        f"{seconds_text(-begin)} before" if begin < 0 else "at it",
        f"{seconds_text(end)} after" if end > 0 else "at it",
    )
    return [*lines, " " * (labels + 3) + left + right.rjust(max(columns - len(left), len(right) + 1))]


def _top(found: Incident, signal: Signal) -> int:
    highest = max(*(amount for _, amount in _drawn(found)), *(limit for _, limit in found.levels), 1)
    top = axis_top(highest, signal)
    return found.capacity if found.capacity is not None and highest <= found.capacity < top else top


def _columns(points: Sequence[tuple[float, int]], columns: int) -> list[int]:
    """Return for each column the lowest reading in its time, or the last one before."""
    begin, end = points[0][0], points[-1][0]
    lowest: dict[int, int] = {}
    for seconds, amount in points:
        column = min(int((seconds - begin) / (end - begin) * columns), columns - 1)
        lowest[column] = min(lowest.get(column, amount), amount)
    values, last = [], points[0][1]
    for column in range(columns):
        last = lowest.get(column, last)
        values.append(last)
    return values


# --- as a document and a file -----------------------------------------------------------------------------------------


def incident_document(found: Incident) -> Document:
    """Make the document of an incident: what it was and what to do first, the long lists last."""
    event, avoided = found.event, avoidance(found)
    return {
        "apiVersion": API_VERSION,
        "kind": "Incident",
        "id": found.id,
        "at": event.at,
        "node": found.node,
        "pod": event.pod,
        "uid": event.uid,
        "owner": event.owner,
        "dryRun": event.dry_run,
        "text": event_line(event),
        "summary": summary_text(found),
        "now": now_text(found),
        "why": event.why,
        "filled": " ".join(filled_lines(found)),
        "avoidedBy": list(avoided.by),
        "notAvoidedBy": list(avoided.not_by),
        "need": None if found.need is None or passed_over_with_image(found) else found.need.value,
        "account": verdict_text(found),
        "relief": list(relief_lines(found)),
        "signal": None if found.signal is None else found.signal.value,
        "available": found.available,
        "capacity": found.capacity,
        "thresholds": [{"kind": kind, "limit": limit} for kind, limit in found.levels],
        "missing": found.missing,
        "cameBack": found.came_back,
        "goneAfterSeconds": found.gone_after,
        "successors": [{"pod": name, "afterSeconds": seconds} for name, seconds in found.successors],
        "metAgainSeconds": found.met.again,
        "stillMetSeconds": found.met.still,
        "pods": found.pods,
        "ranking": [asdict(row) for row in found.ranking],
        "before": [event_row(each) for each in found.before],
        "after": [event_row(each) for each in found.after],
        "events": [{"reason": reason, "message": message} for reason, message in found.events],
        "readings": [{"seconds": seconds, "available": amount} for seconds, amount in found.points],
    }


def incident_page(found: Incident) -> str:
    """Make one HTML file with its style in it."""
    drawn = _drawn(found)
    end = max((seconds for seconds, _ in drawn), default=0.0)
    chart = None
    if found.signal is not None:
        trend = [(end - seconds, amount) for seconds, amount in drawn]
        mark = EvictionMark(ago=end, pod=found.event.pod, dry_run=found.event.dry_run)
        chart = page_chart(trend, found.levels, found.signal, [mark], capacity=found.capacity or 0)
    return page_template("incident.html").render(
        style=asset("page.css").decode(),
        found=found,
        headline=f"{capital(summary)}."
        if (summary := summary_text(found))
        else found.event.why or event_line(found.event),
        now=now_text(found),
        level="hard"
        if not found.relieved
        else "soft"
        if left_to_do(found) or found.grows_on is not None or found.of_owner >= AGAIN
        else "calm",
        text=event_line(found.event),
        filled=" ".join(filled_lines(found)),
        clock=_clock(found, 0),
        signal="" if found.signal is None else found.signal.value,
        levels=[(kind, _shown(limit, found.signal)) for kind, limit in found.levels],
        chart=chart,
        quiet=capital(next_reading_text(found)),
        begin=f"{seconds_text(max(-drawn[0][0], 0))} before{_clock(found, drawn[0][0])}" if drawn else "",
        end=f"{seconds_text(end)} after{_clock(found, end)}",
        ranking=[(row, row_text(row, found)) for row in found.ranking],
        before=list(dated_lines(found.before)),
        after=list(dated_lines(found.after)),
        relief=after_lines(found),
        events_heading=events_heading(found),
        avoided=avoidance(found),
    )


def _clock(found: Incident, seconds: float) -> str:
    """Return the time of the day, in brackets; `seconds` count from the eviction."""
    at = time_of(found.event.at)
    return f" ({clock_text(rfc3339(at + round(seconds * SECOND)))})" if at else ""


def _shown(limit: int, signal: Signal | None) -> str:
    return str(limit) if signal is None else signal_amount(limit, signal)
