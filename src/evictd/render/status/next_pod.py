"""Says of the pod that is next what evictd does before it goes, and which one goes in its place if it grows, from `/statusz`."""

from collections.abc import Iterator, Mapping
from typing import Any

from evictd.render.status.own_faults import OwnFaultKind, faults_of
from evictd.render.text import clean, first_of

Document = Mapping[str, Any]
_NAMED = 3


def goes_if_it_grows(entry: Document, *, when: str | None = None) -> str:
    """Return which pods go in the place of the first one of now, after a semicolon each; empty where no other one would.

    One if the growth goes on until then, or why none does, and one if it has ended.
    """
    goes, ended, stop = entry["nextIfItGrows"], entry["nextIfItStops"], entry.get("stopIfItGrows")
    if when is None and (goes or ended or stop):
        when = "when the threshold acts " if any(each["met"] for each in entry["thresholds"]) else "at the threshold "
    instead = "goes instead" if entry["next"] else "goes"
    none = f"; {when}no pod goes if the growth lasts: {clean(stop)}" if stop else ""
    found = ((goes, goes and while_growing(goes)), (ended, "the growth has ended"))
    return none + "".join(f"; {when}{clean(row['pod'])} {instead} if {growth}" for row, growth in found if row)


def at_threshold_text(entry: Document, when: str) -> str:
    """Write after a blank why no pod goes at a threshold that was foreseen, or which one goes there though none would now.

    Empty where it is the pod that would go now, or another one.
    """
    first, goes = entry["next"], entry["nextIfItGrows"]
    if stop := entry.get("stopIfItGrows"):
        met = any(each["met"] for each in entry["thresholds"])
        else_goes = f"; if the growth ends, {clean(first['pod'])} would be" if met and first else ""
        return f" No pod would be evicted {_then(when)}: {clean(stop)}{else_goes}."
    if first is None and goes:
        now = f"; now none would be: {clean(entry['stopBrief'])}" if entry["stopBrief"] else ""
        return f" {clean(goes['pod'])} would be evicted {_then(when)} if {while_growing(goes)}{now}."
    return ""


def _then(when: str) -> str:
    return "then" if when == "first" else when


def while_growing(goes: Document) -> str:
    """Return the growth with which a pod goes in the place of the first one of now."""
    return "it grows on" if goes["grows"] else "the growth lasts"


def goes_at_threshold(entry: Document) -> Document | None:
    """Return the pod that goes at the threshold if what grows now grows on until then; `None` where none would."""
    found: Document | None = entry["nextIfItGrows"] or entry["next"]
    return None if entry.get("stopIfItGrows") else found


def first_if_it_grows(status: Document, queue: Document) -> str:
    """Return the same of the first pod of a queue of `/explainz`, for the first of its signals of which it is known."""
    return next(filter(None, map(goes_if_it_grows, _entries_of(status, queue))), "")


def _entries_of(status: Document, queue: Document) -> Iterator[Document]:
    """Yield the signals of a queue of `/explainz` whose next pod is that of the queue."""
    for entry in status["signals"]:
        if entry["signal"] in queue["signals"] and entry["next"] and entry["next"]["pod"] == queue["next"]:
            yield entry


def before_first(status: Document, queue: Document) -> str:
    """Return after a semicolon what evictd does before the first pod of a queue of `/explainz` goes; empty for nothing."""
    return next(filter(None, (before_text(status, entry) for entry in _entries_of(status, queue))), "")


def before_text(status: Document, entry: Document) -> str:
    """Return `steps_before` as a sentence after a semicolon; empty for nothing."""
    return f"; before that evictd would {before}" if (before := steps_before(status, entry)) else ""


def steps_before(status: Document, entry: Document) -> str:
    """Return what evictd does for a signal before the next pod goes, to be read after `evictd would`; empty for nothing."""
    return ", ".join(_steps(status, entry))


def _steps(status: Document, entry: Document) -> Iterator[str]:
    if names := [clean(each) for each in entry["leavesFirst"]]:
        yield f"shorten the grace period of {first_of(names, _NAMED)}"
    # Without the runtime it cannot remove anything.
    without_runtime = {OwnFaultKind.PODS, OwnFaultKind.LISTED_PODS} & set(faults_of(status))
    if entry["reclaimsFirst"] and not without_runtime:
        yield "remove what no pod needs"
