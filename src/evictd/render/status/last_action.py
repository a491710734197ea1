"""Says which pods were evicted last, or what evictd removed last, when and for which signal, from the document of `/statusz`."""

from collections.abc import Iterator, Mapping
from typing import Any

from evictd.core.model.signal import SIGNALS, WITH_REQUEST, signal_named
from evictd.core.units.approximate import bytes_text
from evictd.render.status.owners import mend_evicted, nth_text, seconds_ago
from evictd.render.status.proposed import budget_remedy
from evictd.render.status.stopped import is_guarded_by_budget
from evictd.render.status.times.depletion import FORESEEN_SECONDS
from evictd.render.text import DELETES, clean, first_of, seconds_text

Document = Mapping[str, Any]
_NAMED = 3
_UNLESS = "unless "
"""Begin of an eviction of a dry run after a reclaim: how much that would have freed is not known."""
_TOGETHER_SECONDS = 2.0
"""Evictions for one signal that follow one another within this time are named together."""


def last_eviction(status: Document) -> Document | None:
    """Return the decision of the last eviction for a signal; `None` after an hour, and while a pod is being evicted."""
    if any(not row["gone"] for row in status["leaving"]):
        return None
    for decision in reversed(status["decisions"]):
        if _is_eviction(status, decision):
            ago = seconds_ago(status, decision["at"])
            return decision if ago is not None and ago <= FORESEEN_SECONDS else None
    return None


def evicted_together(status: Document, last: Document) -> list[str]:
    """Return the pods that were evicted for one signal shortly after one another, in that order; the last one is at the end.

    An owner's pod of which several went stands alone: what is said of it is how many they are.
    """
    pods = [clean(last["pod"])] if nth_text(status, last["pod"]) else list(dict.fromkeys(_backwards(status, last)))
    return pods[::-1]


def last_eviction_text(status: Document, last: Document) -> str:
    """Write which pod was evicted, or which ones shortly after one another, when, and for which signal."""
    pods = evicted_together(status, last)
    ago = f"{seconds_text(seconds_ago(status, last['at']) or 0)} ago for {last['signal']}"
    unless = ", unless the reclaim before had freed enough" if last["text"].startswith(_UNLESS) else ""
    if len(pods) == 1:
        return (
            f"{pods[0]} {'would have been' if status['dryRun'] else 'was'} evicted {ago}{nth_text(status, last['pod'])}"
            f"{unless}"
        )
    return (
        f"{len(pods)} pods {'would have been' if status['dryRun'] else 'were'} evicted {ago} ({first_of(pods, _NAMED)})"
        f"{unless}"
    )


def avoided_text(status: Document, last: Document) -> str:
    """Return what to do about an evicted pod that filled the supply, and how to learn from that; empty without an incident."""
    if not last["incident"]:
        return ""
    avoided = f"`evictd incident {clean(last['pod'])}` says what would have avoided"
    if len(evicted_together(status, last)) > 1:
        return f"{avoided} the last of these evictions"
    return "; ".join(filter(None, (_mend(last), _guarded(status, last), f"{avoided} that eviction")))


def _guarded(status: Document, last: Document) -> str:
    """Return what to do about the pod whose eviction a disruption budget refuses, and in the place of which the last one went."""
    of_signal = (each for each in status["signals"] if each["signal"] == last["signal"])
    return next((budget_remedy(each["stopPod"]) for each in of_signal if is_guarded_by_budget(each)), "")


def _mend(last: Document) -> str:
    """Return what to do about an evicted pod that filled the supply; empty where it did not, or page cache did."""
    signal = signal_named(last["signal"])
    if signal is None or not last["tookMost"] or last["forPages"]:
        return ""
    resource, owner = SIGNALS[signal].resource, clean(last["owner"])
    return mend_evicted(clean(last["pod"]), owner.partition("/")[2], resource, limits=resource in WITH_REQUEST)


def _backwards(status: Document, last: Document) -> Iterator[str]:
    """Yield the pod of the last eviction, and before it those evicted for the same signal shortly after one another."""
    after = seconds_ago(status, last["at"]) or 0
    for decision in reversed(status["decisions"]):
        if not _is_eviction(status, decision) or decision["signal"] != last["signal"]:
            continue
        ago = seconds_ago(status, decision["at"])
        if ago is None or ago - after > _TOGETHER_SECONDS:
            return
        after = ago
        yield clean(decision["pod"])


def _is_eviction(status: Document, decision: Document) -> bool:
    """Whether a decision evicted a pod for a signal, or would have in a dry run."""
    return bool(decision["pod"] and decision["signal"] and decision["dryRun"] == status["dryRun"])


def last_reclaim(status: Document) -> Document | None:
    """Return the decision of the last reclaim; `None` without one, and in a dry run."""
    begun = (each for each in reversed(status["decisions"]) if each["kind"] == "ReclaimNode")
    return next((each for each in begun if not each["dryRun"]), None)


def last_reclaim_text(status: Document) -> str:
    """Return what evictd removed last, or still removes, for which signal and when; empty after an hour, and in a dry run."""
    last = last_reclaim(status)
    ago = None if last is None else seconds_ago(status, last["at"])
    if last is None or ago is None or ago > FORESEEN_SECONDS:
        return ""
    what, freed = clean(last["text"]), freed_text(last)
    if not freed:
        return f"evictd began to {what} {seconds_text(ago)} ago"
    done = "deleted" if last["removed"] else "looked for"
    return f"evictd {done} {what.removeprefix(DELETES)} {seconds_text(ago)} ago ({freed})"


def freed_text(decision: Document) -> str:
    """Write what the collectors of a reclaim removed and freed; empty for other decisions, and before they have ended."""
    if decision["freed"] is None:
        return ""
    return (
        f"{decision['removed']} removed, {bytes_text(decision['freed'])} freed"
        if decision["removed"]
        else "nothing was removed"
    )
