"""Says of a node without a shortage what evictd removed last, from the document of `/statusz`."""

from collections.abc import Mapping
from typing import Any

from evictd.render.status.page_chart import seconds_ago
from evictd.render.status.timing import FORESEEN_SECONDS
from evictd.render.text import clean, seconds_text

Document = Mapping[str, Any]


def last_reclaim_text(status: Document) -> str:
    """Return what evictd began to remove last, for which signal and when; empty after an hour, and in a dry run.

    How much that gave back is not known: other writers and readers of the same supply run meanwhile.
    """
    begun = [each for each in status["decisions"] if each["kind"] == "ReclaimNode" and not each.get("dryRun", False)]
    ago = seconds_ago(status, begun[-1]["at"]) if begun else None
    if ago is None or ago > FORESEEN_SECONDS:
        return ""
    return f"evictd began to {clean(begun[-1]['text'])} {seconds_text(ago)} ago"
