"""Says for what evictd waits before a pod goes: what ended pods held, or a measurement, from the document of `/statusz`."""

from collections.abc import Mapping
from typing import Any

from evictd.core.model.signal import STALLS, Signal
from evictd.render.text import clean, first_of, gap_text, seconds_text

Document = Mapping[str, Any]

_NAMED = 3


def awaited_pods(status: Document, entry: Document) -> list[str]:
    """Return the pods evicted for a signal, or for another one of its supply, that have ended and still owe what they held.

    None where that is known to be less than what was missing: then another pod may have to go.
    """
    return [row["pod"] for row in _rows(status, entry)]


def awaited_seconds(status: Document, entry: Document) -> float:
    """Return for how long at most evictd waits for what the pods of `awaited_pods` held; 0 where no time is known."""
    return max((row.get("awaitedForSeconds") or 0 for row in _rows(status, entry)), default=0)


def _rows(status: Document, entry: Document) -> list[Document]:
    supply = (entry.get("attribution") or {}).get("signal", entry["signal"])
    rows = [row for row in status["leaving"] if row["gone"] and row["signal"] in {entry["signal"], supply}]
    held, missing = sum(row["held"] or 0 for row in rows), max((row["missing"] or 0 for row in rows), default=0)
    return rows if held >= missing else []


def awaited_text(status: Document, entry: Document) -> str:
    """Write that evictd waits for what the pods of `awaited_pods` should free, how much that is, and for how long."""
    rows, signal = _rows(status, entry), Signal(entry["signal"])
    held = sum(row["held"] or 0 for row in rows)
    amount = gap_text(held, signal) if held and signal not in STALLS else ""
    pods = first_of([clean(row["pod"]) for row in rows], _NAMED)
    about = ", ".join(filter(None, (amount, waits_at_most(awaited_seconds(status, entry)))))
    return f"evictd waits for what {pods} should free{f' ({about})' if about else ''}"


def waits_at_most(seconds: float) -> str:
    """Write for how long evictd waits; empty for no time."""
    return f"for {seconds_text(seconds)} at most" if seconds else ""


def awaited_measurement(entry: Document) -> str:
    """Write after the pod that would go that evictd measures the pods before, and for how long; empty where it does not."""
    left = entry.get("measuresForSeconds")  # an older daemon does not say it
    return f", once the pods are measured (in {seconds_text(left)} at most)" if left else ""
