"""Judges the pods that are being evicted for a signal, from the document of `/statusz`: whether their end is enough or late."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from evictd.render.status.timing import is_due

Document = Mapping[str, Any]


def leaves(pod: str, leaving: Iterable[Document]) -> bool:
    """Whether a pod is being evicted, and has not ended yet."""
    return pod in {row["pod"] for row in leaving if not row.get("gone")}


def is_too_little(leaving: Sequence[Document], signal: str) -> bool:
    """Whether the pods that are being evicted for a signal hold less together than was missing; False where it is not known."""
    amounts = _amounts(leaving, signal)
    return amounts is not None and amounts[0] < amounts[1]


def are_enough(leaving: Sequence[Document], signal: str) -> bool:
    """Whether the pods that are being evicted for a signal hold together what was missing; False where it is not known."""
    amounts = _amounts(leaving, signal)
    return amounts is not None and amounts[0] >= amounts[1]


def may_have_grown(leaving: Sequence[Document], entry: Document) -> bool:
    """Whether what no measured pod took may be of a pod that is being evicted, whose usage at that time is not known."""
    rows = [row for row in leaving if row.get("signal") == entry["signal"]]
    outdated = (entry.get("attribution") or {}).get("outdated")
    return bool(outdated) and any(row["held"] is None for row in rows)


def _amounts(leaving: Sequence[Document], signal: str) -> tuple[int, int] | None:
    """Return what the pods hold together, and the most that was missing; `None` where no pod leaves, or it is not known."""
    rows = [row for row in leaving if row.get("signal") == signal]
    if not rows or any(row["held"] is None or row["missing"] is None for row in rows):
        return None
    return sum(row["held"] for row in rows), max(row["missing"] for row in rows)


def is_overdue(row: Document) -> bool:
    """Whether a pod that is being evicted did not end in the time for which evictd waits for it."""
    ends_in = row.get("endsInSeconds")  # an older daemon does not say it
    return ends_in is not None and ends_in < 0 and not row["gone"]


def refused(status: Document) -> list[Document]:
    """Return the signals for which no other pod goes, though evictd no longer waits for the end of a leaving one."""
    stays = [row for row in status["leaving"] if not row["gone"]]
    late = {row["signal"] for row in stays if is_overdue(row)} - {row["signal"] for row in stays if not is_overdue(row)}
    waits = len(late) < len({row["signal"] for row in stays})
    return [
        entry
        for entry in status["signals"]
        if late and is_due(entry) and entry.get("stop") and (entry["signal"] in late or not waits)
    ]
