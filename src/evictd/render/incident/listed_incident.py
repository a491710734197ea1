"""Writes one incident of a list: why this pod went, what filled the supply, and how much of it the kernel could have dropped."""

from collections.abc import Iterator

from evictd.core.model.signal import Resource
from evictd.render.history.history import HistoryEvent, event_line
from evictd.render.history.recorded_amount import recorded_amount
from evictd.render.text import amount_text


def listed_lines(event: HistoryEvent) -> Iterator[str]:
    """Yield why the pod was evicted, and what made the node short."""
    yield event.why or event_line(event)
    if event.filled:
        yield event.filled
    if pages := _pages_text(event):
        yield pages


def _pages_text(event: HistoryEvent) -> str:
    """Write how much was page cache where that is at least half of what the pod held; else empty."""
    because = event.evidence.get("because", {})
    pages, of_node = because.get("filePages") or 0, because.get("nodeFilePages") or 0
    used = recorded_amount(because.get("usage"))  # `None`: not measured
    if used is None or not pages or pages * 2 < used:
        return ""
    node = f", and {amount_text(of_node, Resource.MEMORY)} of what the node held" if of_node else ""
    return (
        f"{amount_text(pages, Resource.MEMORY)} of what it held{node} were clean file pages, which the kernel can drop."
    )
