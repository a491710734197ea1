"""Says of a node without a shortage what evictd removed last, from the document of `/statusz`."""

from collections.abc import Mapping
from typing import Any

from evictd.render.status.owners import seconds_ago
from evictd.render.status.timing import FORESEEN_SECONDS
from evictd.render.text import clean, seconds_text

Document = Mapping[str, Any]


def last_reclaim(status: Document) -> Document | None:
    """Return the decision of the last reclaim; `None` without one, and in a dry run."""
    begun = (each for each in reversed(status["decisions"]) if each["kind"] == "ReclaimNode")
    return next((each for each in begun if not each.get("dryRun", False)), None)


def last_reclaim_text(status: Document) -> str:
    """Return what evictd began to remove last, for which signal and when; empty after an hour, and in a dry run.

    How much that gave back is not known: other writers and readers of the same supply run meanwhile.
    """
    last = last_reclaim(status)
    ago = None if last is None else seconds_ago(status, last["at"])
    if last is None or ago is None or ago > FORESEEN_SECONDS:
        return ""
    return f"evictd began to {clean(last['text'])} {seconds_text(ago)} ago"
