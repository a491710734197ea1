"""Says for what evictd waits before a pod goes: what ended pods held, or a measurement, from the document of `/statusz`."""

from collections.abc import Mapping, Sequence
from typing import Any

from evictd.render.text import clean, first_of, seconds_text

Document = Mapping[str, Any]

_NAMED = 3


def awaited_pods(status: Document, entry: Document) -> list[str]:
    """Return the pods evicted for a signal, or for another one of its supply, that have ended and still owe what they held.

    None where that is known to be less than what was missing: then another pod may have to go.
    """
    supply = (entry.get("attribution") or {}).get("signal", entry["signal"])
    rows = [row for row in status["leaving"] if row["gone"] and row["signal"] in {entry["signal"], supply}]
    held, missing = sum(row["held"] or 0 for row in rows), max((row["missing"] or 0 for row in rows), default=0)
    return [row["pod"] for row in rows] if held >= missing else []


def awaited_text(pods: Sequence[str]) -> str:
    """Write that evictd waits for what these pods should free."""
    return f"evictd waits for what {first_of([clean(pod) for pod in pods], _NAMED)} should free"


def awaited_measurement(entry: Document) -> str:
    """Write after the pod that would go that evictd measures the pods before, and for how long; empty where it does not."""
    left = entry.get("measuresForSeconds")  # an older daemon does not say it
    return f", once the pods are measured (in {seconds_text(left)} at most)" if left else ""
