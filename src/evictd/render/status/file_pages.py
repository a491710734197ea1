"""Says whether what fills memory may be file pages, which the kernel can drop, from the document of `/statusz`."""

from collections.abc import Mapping
from typing import Any

Document = Mapping[str, Any]


def fills_with_pages(entry: Document) -> bool:
    """Whether the pod that grew the most may have grown by file pages, and a soft threshold will wait for that reason."""
    return bool(entry.get("waitsForPages") and grew_by_pages(entry))


def grew_by_pages(entry: Document) -> bool:
    """Whether the pod that grew the most may have grown by file pages."""
    grew = next(iter((entry.get("growing") or {"pods": ()})["pods"]), None)
    pages = None if grew is None else grew.get("filePages")  # an older daemon does not say it
    return bool(grew and pages and pages * 2 > grew["grown"])
