"""Says that images which no pod uses can be removed before a pod has to go, from the document of `/statusz`."""

from collections.abc import Mapping
from typing import Any

from evictd.core.model.amount_text import noun_of
from evictd.core.model.signal import SIGNALS, Signal
from evictd.render.status.next_pod import goes_at_threshold
from evictd.render.status.owners import seconds_ago
from evictd.render.text import seconds_text, signal_amount

Document = Mapping[str, Any]

_RECLAIMING = "Reclaiming"
"""The name of a phase; a literal, because `evictd status` needs no state."""
_JUST_BEFORE = 600
"""Seconds for which nothing is expected of another removal after one that freed nothing."""
_LARGE_PART = 2
"""What belongs to no pod is named where it is at least this part of what is used, or more than the pod holds that goes."""


def before_pods(status: Document, entry: Document, remedy: str) -> str:
    """Return a remedy that is about pods, after the images that can be removed first where most of a disk belongs to no pod."""
    if not (first := _images(status, entry)):
        return remedy
    return f"{first}; if that is too little, {remedy}"


def _images(status: Document, entry: Document) -> str:
    """Return what to do about unused images; empty where little belongs to no pod, they were removed before, or there is none."""
    rest, phase = entry["notOfPods"], status["phase"]
    signal, used = Signal(entry["signal"]), entry["capacity"] - entry["available"]
    goes = goes_at_threshold(entry)
    held = used if goes is None or goes["usage"] is None else goes["usage"]
    if rest is None or (rest * _LARGE_PART < used and rest <= held):
        return ""
    unused = (entry["attribution"] or {}).get("reclaimable")  # the bytes of unused images, where they were listed
    if unused == 0 or (unused is None and _freed_nothing(status, signal)):
        return ""
    if not entry["reclaimsFirst"]:
        collects = phase["name"] == _RECLAIMING
        most = phase.get("endsInSeconds")
        within = f" (in {seconds_text(most)} at most)" if most and most > 0 else ""
        return f"wait until evictd has removed the images that no pod uses{within}" if collects else ""
    amount = f"{signal_amount(rest, signal)}{noun_of(rest, SIGNALS[signal].resource)}"
    return (
        "remove images that no pod uses (`crictl rmi --prune`; evictd removes them and dead containers at the threshold): they "
        f"are part of {amount} that belong to no pod"
    )


def _freed_nothing(status: Document, signal: Signal) -> bool:
    """Whether the last removal for this filesystem freed nothing, minutes ago."""
    disk = signal.value.partition(".")[0]
    removals = (
        each
        for each in reversed(status["decisions"])
        if each["kind"] == "ReclaimNode" and each.get("signal", "").partition(".")[0] == disk
    )
    last = next(removals, None)
    if last is None or last.get("freed") != 0 or last["removed"]:  # before it has ended it is not known
        return False
    ago = seconds_ago(status, last["at"])
    return ago is not None and ago <= _JUST_BEFORE
