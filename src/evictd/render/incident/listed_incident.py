"""Writes one incident of a list: why this pod went, what filled the supply, and how much of it the kernel could have dropped."""

from collections.abc import Iterator

from evictd.render.history.history import HistoryEvent, event_line
from evictd.render.incident.page_cache import listed_pages_text


def listed_lines(event: HistoryEvent) -> Iterator[str]:
    """Yield why the pod was evicted, and what made the node short."""
    yield event.why or event_line(event)
    if event.filled:
        yield event.filled
    if pages := listed_pages_text(event):
        yield pages
