"""Judges the pods that are being evicted, and waits for what ended ones held: whether it is enough or late, from `/statusz`."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from evictd.core.model.signal import STALLS, Signal
from evictd.render.status.signal_entry import is_due, supply_name
from evictd.render.text import clean, first_of, gap_text, seconds_text

Document = Mapping[str, Any]
_NAMED = 3


def leaves(pod: str, leaving: Iterable[Document]) -> bool:
    """Whether a pod is being evicted, and has not ended yet."""
    return pod in {row["pod"] for row in leaving if not row.get("gone")}


def leaves_for(row: Document, entry: Document) -> bool:
    """Whether a pod is evicted for a signal, or for another one of its supply: nodefs and imagefs may be one disk."""
    evicted_for = row.get("signal")
    return bool(evicted_for) and (
        evicted_for == entry["signal"] or row.get("supply", evicted_for) == supply_name(entry)
    )


def is_too_little(leaving: Sequence[Document], entry: Document) -> bool:
    """Whether the pods that are being evicted for a signal hold less together than was missing; False where it is not known."""
    amounts = _amounts(leaving, entry)
    return amounts is not None and amounts[0] < amounts[1]


def are_enough(leaving: Sequence[Document], entry: Document) -> bool:
    """Whether the pods that are being evicted for a signal hold together what was missing; False where it is not known."""
    amounts = _amounts(leaving, entry)
    return amounts is not None and amounts[0] >= amounts[1]


def may_have_grown(leaving: Sequence[Document], entry: Document) -> bool:
    """Whether what no measured pod took may be of a pod that is being evicted, whose usage is of an earlier time or unknown."""
    outdated = (entry["attribution"] or {}).get("outdated")
    return bool(outdated) and any(leaves_for(row, entry) for row in leaving)


def _amounts(leaving: Sequence[Document], entry: Document) -> tuple[int, int] | None:
    """Return what the pods hold together, and the most that was missing; `None` where no pod leaves, or it is not known."""
    rows = [row for row in leaving if leaves_for(row, entry)]
    if not rows or any(row["held"] is None or row["missing"] is None for row in rows):
        return None
    return sum(row["held"] for row in rows), max(row["missing"] for row in rows)


def only_if(status: Document) -> str:
    """Return on what condition the next pod goes while others leave, are asked for or owe what they held; empty for none."""
    if leaves := [clean(row["pod"]) for row in status["leaving"] if not row["gone"]]:
        # If it does not end, evictd may refuse the next pod in its place (law Blame).
        return f"if {f'the end of {leaves[0]}' if len(leaves) == 1 else 'their end'} is not enough"
    if asked := [clean(row["pod"]) for row in status["asked"]]:
        return f"if {first_of(asked, _NAMED)} may not go"
    gone = [clean(row["pod"]) for row in status["leaving"]]
    return f"if what {first_of(gone, _NAMED)} should free is not enough" if gone else ""


def is_overdue(row: Document) -> bool:
    """Whether a pod that is being evicted did not end in the time for which evictd waits for it."""
    ends_in = row["endsInSeconds"]
    return ends_in is not None and ends_in < 0 and not row["gone"]


def refused(status: Document) -> list[Document]:
    """Return the signals for which no other pod goes, though evictd no longer waits for the end of a leaving one."""
    stays = [row for row in status["leaving"] if not row["gone"]]
    late = {row["signal"] for row in stays if is_overdue(row)} - {row["signal"] for row in stays if not is_overdue(row)}
    waits, of_late = len(late) < len({row["signal"] for row in stays}), [row for row in stays if row["signal"] in late]
    return [
        entry
        for entry in status["signals"]
        if late and is_due(entry) and entry["stop"] and (not waits or any(leaves_for(row, entry) for row in of_late))
    ]


def awaited_pods(status: Document, entry: Document) -> list[str]:
    """Return the pods evicted for a signal, or for another one of its supply, that have ended and still owe what they held.

    None where that is known to be less than what was missing: then another pod may have to go.
    """
    return [row["pod"] for row in _rows(status, entry)]


def awaited_seconds(status: Document, entry: Document) -> float:
    """Return for how long at most evictd waits for what the pods of `awaited_pods` held; 0 where no time is known."""
    return max((row.get("awaitedForSeconds") or 0 for row in _rows(status, entry)), default=0)


def _rows(status: Document, entry: Document) -> list[Document]:
    rows = [row for row in status["leaving"] if row["gone"] and leaves_for(row, entry)]
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
    left = entry["measuresForSeconds"]
    return f", once the pods are measured (in {seconds_text(left)} at most)" if left else ""


def decides_once_measured(entry: Document) -> str:
    """Write that evictd measures the pods before it evicts one, where a threshold is due."""
    return (
        f"evictd decides{awaited_measurement(entry).removeprefix(',')}"
        if is_due(entry) and awaited_measurement(entry)
        else ""
    )
