"""Says what to do about the pod that grew the most, or about several that grew, from the document of `/statusz`."""

from collections.abc import Mapping
from typing import Any

from evictd.core.model.signal import SIGNALS, WITH_REQUEST, Signal
from evictd.render.status.holders import growth_amount, took_since_start
from evictd.render.status.next_pod import goes_at_threshold
from evictd.render.status.remedy.file_pages import grew_by_pages
from evictd.render.text import amount_text, clean, seconds_text, usage_text

Document = Mapping[str, Any]
_NAMED = 3


def about_grower(entry: Document, grower: str) -> str:
    """Return what to do, as a clause: where the pod is within its request, and the one that goes then is not, that one has to.

    Where it grew by file pages, its end is not needed: below a limit the kernel drops them.
    """
    first = next(iter((entry["growing"] or {"pods": ()})["pods"]), None)
    after, resource = goes_at_threshold(entry), SIGNALS[Signal(entry["signal"])].resource
    if (
        first is None
        or not first.get("withinRequest")
        or after is None
        or after["pod"] == grower
        or after["usage"] is None
        or resource not in WITH_REQUEST
        or after["usage"] <= after.get("request", after["usage"])
    ):
        if grew_by_pages(entry):
            pages = f"limit the memory of {clean(grower)}, which may have grown by file pages that the kernel can drop"
            return f"{pages}, or set `memory.formula: MemAvailable`, which does not count them (docs/tuning.md)"
        return f"end, move or limit {clean(grower)}, which grew the most"
    requests = f"requests {amount_text(after['request'], resource)}" if after["request"] else "requests none"
    uses = "would use {} then" if after.get("grows") else "uses {}"
    used = uses.format(usage_text(after["usage"], resource))
    instead = f"end, move or limit {clean(after['pod'])}, which {used} and {requests}"
    return f"{instead}: {clean(grower)} grew the most, within its request"


def several_grew(entry: Document, growing: Document) -> str:
    """Return what to do where several pods grew or started, with those that grew the most, as far as they are known."""
    held, signal, some = entry["attribution"] or {}, Signal(entry["signal"]), "end, move or limit some of the pods"
    if new := took_since_start(growing, signal):
        return f"{some}: {new} in the last {seconds_text(growing['overSeconds'])}"
    grew = [(each["pod"], each["grown"]) for each in growing["pods"]]
    if not grew and held.get("grower") and held.get("growerGrown"):
        grew = [(held["grower"], held["growerGrown"])]
    most = ", ".join(f"{clean(pod)} by {growth_amount(grown, signal)}" for pod, grown in grew[:_NAMED])
    named = f" (the most: {most})" if most else ""
    return f"{some}: several grew{named}, and none took most of it"
