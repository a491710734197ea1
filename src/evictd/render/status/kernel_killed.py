"""Says what the kernel killed lately for want of memory of the node, from the document of `/statusz`."""

from collections.abc import Mapping
from typing import Any

from evictd.render.status.unguarded import guards_memory
from evictd.render.text import clean, first_of, seconds_text

Document = Mapping[str, Any]

_NAMED = 3


def kernel_killed_text(status: Document) -> str:
    """Return whose processes the kernel killed within the last hour, how many and when last; empty where it killed none.

    A node whose memory has no threshold is calm for evictd while the kernel kills pods one after another.
    """
    kills = status["kernelKills"]
    if not kills:
        return ""
    count = sum(each["processes"] for each in kills)
    processes = "1 process" if count == 1 else f"{count} processes"
    names = first_of([clean(each["of"]) for each in reversed(kills)], _NAMED)
    when = f"{'' if count == 1 else 'the last '}{seconds_text(max(kills[-1]['agoSeconds'], 0))} ago"
    unguarded = "" if guards_memory(status) else ", for which evictd has no threshold"
    return f"the kernel killed {processes} of {names} for want of memory of the node{unguarded}, {when}"
