"""Says which pods nearly exceed a limit of their own on local storage, from the document of `/statusz`."""

from collections.abc import Mapping
from typing import Any

from evictd.core.model.signal import Resource
from evictd.render.text import amount_text, clean

_NAMED = 3


def own_limits_text(status: Mapping[str, Any]) -> str:
    """Return what pods hold of limits of their own and that they are evicted beyond them; empty where none is near its own.

    Such a pod is evicted though no threshold is met, whatever its rank.
    """
    rows = status.get("ownLimits", ())  # an older daemon does not say it
    if not rows:
        return ""
    near = "; ".join(
        f"{clean(each['pod'])} holds {amount_text(each['usage'], Resource.EPHEMERAL_STORAGE)} "
        f"of its limit of {amount_text(each['limit'], Resource.EPHEMERAL_STORAGE)} ({clean(each['of'])})"
        for each in rows[:_NAMED]
    )
    more = f"; {len(rows) - _NAMED} more are near theirs" if len(rows) > _NAMED else ""
    goes = "would be evicted" if status["dryRun"] else "is evicted"
    return f"{near}{more}: a pod that exceeds its own limit {goes}"
