"""Says which pods nearly exceed a limit of their own on local storage, and what to do, from the document of `/statusz`."""

from collections.abc import Mapping
from typing import Any

from evictd.core.model.signal import Resource
from evictd.render.status.signal_entry import is_due
from evictd.render.status.times.depletion import FORESEEN_SECONDS
from evictd.render.status.times.timing import approaches, graces
from evictd.render.text import amount_text, clean, seconds_text

Document = Mapping[str, Any]
_NAMED = 3


def own_limits_text(status: Document) -> str:
    """Return what pods hold of limits of their own and that they are evicted beyond them; empty where none is near its own.

    Such a pod is evicted though no threshold is met, whatever its rank.
    """
    rows = status["ownLimits"]
    if not rows:
        return ""
    near = "; ".join(
        f"{clean(each['pod'])} holds {amount_text(each['usage'], Resource.EPHEMERAL_STORAGE)} "
        f"of its limit of {amount_text(each['limit'], Resource.EPHEMERAL_STORAGE)} ({clean(each['of'])}){_reaches(each)}"
        for each in rows[:_NAMED]
    )
    more = f"; {len(rows) - _NAMED} more are near theirs" if len(rows) > _NAMED else ""
    goes = "would be evicted" if status["dryRun"] else "is evicted"
    return f"{near}{more}: a pod that exceeds its own limit {goes}"


def _reaches(row: Document) -> str:
    left = _seconds(row)
    return "" if left is None else f" and reaches it in about {seconds_text(left)} at the present rate"


def _seconds(row: Document) -> float | None:
    left = row["secondsToLimit"]
    return left if left is not None and left <= FORESEEN_SECONDS else None


def own_limit_is_first(status: Document) -> bool:
    """Whether a pod exceeds a limit of its own before any threshold acts at the present rates."""
    left = next(map(_seconds, status["ownLimits"]), None)
    if left is None or any(map(is_due, status["signals"])):
        return False
    times = (*(each.soonest for each in approaches(status)), *(each.seconds for each in graces(status)))
    return left < min(times, default=FORESEEN_SECONDS)


def own_limit_remedy(status: Document) -> str:
    """Return what to do about the pod that reaches a limit of its own first; empty where none grows towards its own."""
    row = next(iter(status["ownLimits"]), None)
    if row is None or _seconds(row) is None:
        return ""
    of, pod = clean(row["of"]), clean(row["pod"])
    limit = "sizeLimit" if of.startswith("emptyDir ") else "ephemeral-storage limit"
    files = f"files of {pod}" if of == "all its containers" else f"files in {of} of {pod}"
    return f"delete {files}, or raise the {limit}, which only a new pod then has"
