"""The history of a node as one HTML file with its style in it, to be kept or sent: `evictd history --output html`."""

from collections.abc import Sequence

from evictd.render.history.condition_spans import ConditionSpan
from evictd.render.history.history import HistoryEvent, event_line
from evictd.render.history.table import totals_text
from evictd.render.status.page.node_page import asset, page_template


def history_page(events: Sequence[HistoryEvent], spans: Sequence[ConditionSpan]) -> str:
    """Make the page: when conditions were reported, and every event."""
    rows = [
        {
            "at": event.at,
            "kind": event.kind.value,
            "text": event_line(event),
            "why": event.why,
            "filled": event.filled,
        }
        for event in events
    ]
    return page_template("history.html").render(
        style=asset("page.css").decode(), totals=totals_text(events), spans=spans, rows=rows
    )
