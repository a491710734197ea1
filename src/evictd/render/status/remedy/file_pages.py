"""Says whether what fills memory may be file pages, which the kernel can drop, from the document of `/statusz`."""

from collections.abc import Mapping
from typing import Any

from evictd.render.status.remedy_texts import PAGE_CACHE
from evictd.render.status.times.timing import hard_then, slowed
from evictd.render.text import clean

Document = Mapping[str, Any]


def fills_with_pages(entry: Document) -> bool:
    """Whether the pod that grew the most may have grown by file pages, and a soft threshold will wait for that reason."""
    return bool(entry["waitsForPages"] and grew_by_pages(entry))


def grew_by_pages(entry: Document) -> bool:
    """Whether the pod that grew the most may have grown by file pages."""
    grew = next(iter((entry["growing"] or {"pods": ()})["pods"]), None)
    pages = None if grew is None else grew.get("filePages")
    return bool(grew and pages and pages * 2 > grew["grown"])


def goes_despite_pages(entry: Document) -> str:
    """Write which pod goes at a hard threshold that will be met while a soft one waits for page cache; empty for none."""
    then, when = entry["stopThen"], None if slowed(entry) else hard_then(entry)
    if entry["stopReason"] != PAGE_CACHE or not then or when is None:
        return ""
    pod = f"{clean(then['pod'])} would be evicted"
    left = max((each["graceLeftSeconds"] or 0 for each in entry["thresholds"]), default=0)
    if hard_then(entry, left):
        return f"{pod} then"
    return f"{pod} {when}, or when tasks stall: only page cache holds the soft threshold met"
