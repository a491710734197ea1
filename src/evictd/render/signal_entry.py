"""Judges a signal's entry in the document of `/statusz`, for `evictd status` and the page alike."""

from collections.abc import Mapping
from typing import Any


def is_pressed(threshold: Mapping[str, Any]) -> bool:
    """Whether a threshold is met, or was met and its minimum reclaim is not reached yet."""
    return bool(threshold["met"] or threshold["keptByMinReclaim"])


def is_calm_copy(entry: Mapping[str, Any]) -> bool:
    """Whether this is a derived containerfs signal whose thresholds are not met; it only repeats its source."""
    thresholds = entry["thresholds"]
    return bool(thresholds) and all(each["origin"] == "derived" and not is_pressed(each) for each in thresholds)
