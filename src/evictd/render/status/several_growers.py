"""Says what a person can do where several pods grew and none took most of what is short, from the document of `/statusz`."""

from collections.abc import Mapping
from typing import Any

from evictd.core.model.signal import Signal
from evictd.render.status.holders import growth_amount, took_since_start
from evictd.render.text import clean, seconds_text

Document = Mapping[str, Any]

_NAMED = 3


def several_grew(entry: Document, growing: Document) -> str:
    """Return what to do where several pods grew or started, with those that grew the most, as far as they are known."""
    held, signal, some = entry.get("attribution") or {}, Signal(entry["signal"]), "end, move or limit some of the pods"
    if new := took_since_start(growing, signal):
        return f"{some}: {new} in the last {seconds_text(growing['overSeconds'])}"
    grew = [(each["pod"], each["grown"]) for each in growing["pods"]]
    if not grew and held.get("grower") and held.get("growerGrown"):
        grew = [(held["grower"], held["growerGrown"])]
    most = ", ".join(f"{clean(pod)} by {growth_amount(grown, signal)}" for pod, grown in grew[:_NAMED])
    named = f" (the most: {most})" if most else ""
    return f"{some}: several grew{named}, and none took most of it"
