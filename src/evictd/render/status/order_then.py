"""Says which pod goes at a threshold in the place of the one that is first now, from the document of `/statusz`."""

from collections.abc import Mapping
from typing import Any

from evictd.render.text import clean

Document = Mapping[str, Any]


def goes_if_it_grows(entry: Document, *, when: str | None = None) -> str:
    """Return which pod goes in the place of the first one of now, after a semicolon; empty where no other one would."""
    row = entry.get("nextIfItGrows")  # an older daemon does not say it
    if not row:
        return ""
    if when is None:
        when = "when the threshold acts " if any(each["met"] for each in entry["thresholds"]) else "at the threshold "
    growth = "it grows on" if row.get("grows", True) else "the growth lasts"  # an older daemon does not say it
    return f"; {when}{clean(row['pod'])} goes instead if {growth}"


def first_if_it_grows(status: Document, queue: Document) -> str:
    """Return the same of the first pod of a queue of `/explainz`, for the first of its signals of which it is known."""
    found = (
        goes_if_it_grows(entry)
        for entry in status["signals"]
        if entry["signal"] in queue["signals"] and entry.get("next") and entry["next"]["pod"] == queue["next"]
    )
    return next(filter(None, found), "")
