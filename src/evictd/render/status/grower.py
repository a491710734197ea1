"""Says what to do about the pod that grew the most before a threshold is met, from the document of `/statusz`."""

from collections.abc import Mapping
from typing import Any

from evictd.core.model.signal import SIGNALS, WITH_REQUEST, Signal
from evictd.render.status.file_pages import grew_by_pages
from evictd.render.text import amount_text, clean, usage_text

Document = Mapping[str, Any]


def about_grower(entry: Document, grower: str) -> str:
    """Return what to do, as a clause: where the pod is within its request, and the next pod is not, that one has to change.

    Where it grew by file pages, its end is not needed: below a limit the kernel drops them.
    """
    first = next(iter((entry.get("growing") or {"pods": ()})["pods"]), None)
    after, resource = entry["next"], SIGNALS[Signal(entry["signal"])].resource
    if (
        first is None
        or not first.get("withinRequest")  # an older daemon does not say it
        or after is None
        or after["usage"] is None
        or resource not in WITH_REQUEST
        or after["usage"] <= after["request"]
    ):
        if grew_by_pages(entry):
            pages = f"limit the memory of {clean(grower)}, which may have grown by file pages that the kernel can drop"
            return f"{pages}, or set `memory.formula: MemAvailable`, which does not count them (docs/tuning.md)"
        return f"end, move or limit {clean(grower)}, which grew the most"
    requests = f"requests {amount_text(after['request'], resource)}" if after["request"] else "requests none"
    uses = f"{clean(after['pod'])}, which uses {usage_text(after['usage'], resource)} and {requests}"
    return f"end, move or limit {uses}: {clean(grower)} grew the most, within its request"
