"""Says what the kernel killed lately for want of memory of the node, from the document of `/statusz`."""

from collections.abc import Mapping
from typing import Any

from evictd.core.model.signal import MEMORY_SIGNALS
from evictd.render.text import clean, first_of, seconds_text

Document = Mapping[str, Any]

_NAMED = 3


def kernel_killed_text(status: Document) -> str:
    """Return whose processes the kernel killed within the last hour, how many and when last; empty where it killed none.

    A node whose memory has no threshold is calm for evictd while the kernel kills pods one after another.
    """
    kills = status.get("kernelKills", ())  # an older daemon does not say it
    if not kills:
        return ""
    count = sum(each["processes"] for each in kills)
    processes = "1 process" if count == 1 else f"{count} processes"
    names = first_of([clean(each["of"]) for each in reversed(kills)], _NAMED)
    when = f"{'' if count == 1 else 'the last '}{seconds_text(max(kills[-1]['agoSeconds'], 0))} ago"
    unguarded = "" if _guards_memory(status) else ", for which evictd has no threshold"
    return f"the kernel killed {processes} of {names} for want of memory of the node{unguarded}, {when}"


def unguarded_remedy(status: Document) -> tuple[str, ...]:
    """Return what to do where the kernel killed pods and evictd has no threshold for memory; empty elsewhere."""
    if not status.get("kernelKills") or _guards_memory(status):
        return ()
    return (
        "give memory a threshold (`evictionHard: {memory.available: 500Mi}`), or the kernel goes on choosing what ends",
    )


def _guards_memory(status: Document) -> bool:
    guarded = {each.value for each in MEMORY_SIGNALS}
    return any(entry["signal"] in guarded and entry["thresholds"] for entry in status["signals"])
