"""Says what evictd does before it evicts the pod that is next, from the document of `/statusz`."""

from collections.abc import Iterator, Mapping
from typing import Any

from evictd.render.status.own_faults import OwnFaultKind
from evictd.render.text import clean, first_of

Document = Mapping[str, Any]

_NAMED = 3


def steps_before(status: Document, entry: Document) -> str:
    """Return what evictd does for a signal before the next pod goes, to be read after `evictd would`; empty for nothing."""
    return ", ".join(_steps(status, entry))


def _steps(status: Document, entry: Document) -> Iterator[str]:
    if names := [clean(each) for each in entry.get("leavesFirst", ())]:  # an older daemon does not say it
        yield f"shorten the grace period of {first_of(names, _NAMED)}"
    # Without the runtime it cannot remove anything.
    without_runtime = {OwnFaultKind.PODS.value, OwnFaultKind.LISTED_PODS.value} & set(status.get("faults", ()))
    if entry.get("reclaimsFirst") and not without_runtime:
        yield "remove what no pod needs"
