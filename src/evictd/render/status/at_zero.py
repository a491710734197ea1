"""Says what happens when nothing is left of a signal, and whether that comes before a soft threshold acts."""

from collections.abc import Mapping
from typing import Any

from evictd.core.model.signal import SIGNALS, STALLS, Resource, Signal
from evictd.render.text import seconds_text

Document = Mapping[str, Any]

_AT_ZERO = {
    Resource.MEMORY: "the kernel's OOM killer kills processes",
    Resource.EPHEMERAL_STORAGE: "writes to the disk fail",
    Resource.INODES: "no file can be created on the disk",
    Resource.PIDS: "no process can be started",
}


def at_zero(signal: Signal) -> str:
    """Return what happens when nothing is left; empty for a signal that is no supply."""
    return "" if signal in STALLS else _AT_ZERO.get(SIGNALS[signal].resource, "")


def zero_before(entry: Document, within: float) -> str:
    """Write in how many seconds nothing is left at the last rate, after a blank; empty where not within these, or unknown."""
    rate = (entry.get("lately") or entry).get("fillRate") or 0  # an older daemon does not say it
    if rate <= 0 or not at_zero(Signal(entry["signal"])) or (left := entry["available"] / rate) >= within:
        return ""
    return f" reaches 0 in {seconds_text(left)}"
