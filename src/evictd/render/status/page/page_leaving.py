"""Lists the pods that are being evicted: how long evictd waits for each, and whether its end is enough."""

from collections.abc import Mapping
from typing import Any

from evictd.core.model.amount_text import amount_with
from evictd.core.model.signal import SIGNALS, Signal
from evictd.core.units.quantity import of_count
from evictd.render.status.leaving_pods import awaited_pods, is_overdue, waits_at_most
from evictd.render.status.remedy.remedies import grew_elsewhere
from evictd.render.status.signal_entry import is_due
from evictd.render.status.times.depletion import FORESEEN_SECONDS, Depletion
from evictd.render.status.times.hard_cut import cut_at_hard, cut_in, entry_of
from evictd.render.text import chosen_because, clean, first_of, gap_text, seconds_text, usage_text

Document = Mapping[str, Any]

_NO_FALL = Depletion("")
_NAMED = 3


def leaving_rows(status: Document, falls: Mapping[str, Depletion], *, seen: bool = True) -> list[Document]:
    """Return the pods that are being evicted, with what is awaited, why each was chosen and whether its end suffices.

    `seen`: evictd still sees the node. Else it is not known what became of them since the last reading.
    """
    return [_row(row, status, falls, seen=seen) for row in status["leaving"]]


def about_leaving(status: Document) -> str:
    """Return that nothing is to be done where the leaving pods are enough, and how to learn from the last of the evictions.

    Empty where its incident is not known.
    """
    leaving = [row for row in status["leaving"] if not row["gone"]] or _awaited(status)
    pods = {row["pod"] for row in leaving}
    newest = (each for each in reversed(status["decisions"]) if each.get("pod") in pods and each.get("incident"))
    pod = next((clean(each["pod"]) for each in newest), "")
    if not pod:
        return ""
    enough = all(row["held"] and row["missing"] and row["held"] >= row["missing"] for row in leaving)
    names = first_of([clean(row["pod"]) for row in leaving], _NAMED)
    ends = "ends in time" if len(leaving) == 1 else "end in time"
    back = f"what {names} held comes back" if leaving and leaving[0]["gone"] else f"{names} {ends}"
    nothing = f"nothing, if {back}; " if enough else ""
    return f"{nothing}`evictd incident {pod}` says what would have avoided this eviction"


def eviction_text(row: Document) -> str:
    """Write whether a leaving pod has ended, before its name."""
    return "evicted" if row["gone"] else "being evicted"


def _awaited(status: Document) -> list[Document]:
    """Return the pods that have ended while a threshold is met, and that still owe what they held."""
    pods = {pod for entry in status["signals"] if is_due(entry) for pod in awaited_pods(status, entry)}
    return [row for row in status["leaving"] if row["pod"] in pods]


def _row(row: Document, status: Document, falls: Mapping[str, Depletion], *, seen: bool) -> Document:
    of_pod = [each for each in reversed(status["decisions"]) if each.get("why") and each["pod"] == row["pod"]]
    why, signal = (of_pod[0]["why"], of_pod[0].get("signal")) if of_pod else ("", "")
    return {
        **row,
        "evictedFor": signal or row["signal"],
        "why": why,
        "chosen": chosen_because(why),
        "awaits": _awaits(row, status) if seen else "what became of it since the last reading is not known",
        "suffices": _suffices(row, status, falls),
    }


def _awaits(row: Document, status: Document) -> str:
    """Write the grace period of a pod and for how long evictd waits for its end."""
    if row["gone"]:
        most = waits_at_most(row["awaitedForSeconds"] or 0)
        held = f" ({gap_text(row['held'], Signal(row['signal']))})" if row["signal"] and row["held"] else ""
        return f"ended, what it held{held} is awaited{f' {most}' if most else ''}"
    text = f"grace period {max(row['gracePeriodSeconds'], 0)}s"
    cut = cut_at_hard(row, status)
    when = cut_in(row, status) if cut else ""
    text += f" ({cut}{when})" if cut else ""
    left = row["endsInSeconds"] or 0
    if is_overdue(row):
        return f"{text}; it did not end in time, and evictd stopped waiting for it {seconds_text(-left)} ago"
    without = " without that cut" if when else ""
    return (
        f"{text}; evictd waits for its end for at most {seconds_text(left)}{without}, and then decides anew"
        if left
        else text
    )


def _suffices(row: Document, status: Document, falls: Mapping[str, Depletion]) -> str:
    """Write whether what a leaving pod held is what was missing when it was chosen, and for how long; empty where unknown."""
    if not row["held"] or not row["missing"]:
        return ""
    signal = Signal(row["signal"])
    resource = SIGNALS[signal].resource
    held, missing = usage_text(row["held"], resource), amount_with(of_count(row["missing"]), resource, "was", "were")
    enough = _enough(row, status, falls) if row["held"] >= row["missing"] else "too little alone"
    return f"When it was chosen it held {held} and {missing} missing to the threshold: {enough}."


def _enough(row: Document, status: Document, falls: Mapping[str, Depletion]) -> str:
    """Write for how long the end of a pod is enough, where what grows belongs to no pod and goes on."""
    entry = entry_of(row, status)
    fall = falls.get(row["signal"], _NO_FALL)
    rate, over = (fall.rate, fall.over) if fall.rate else ((entry or {}).get("fillRate") or 0, "minute")
    if entry is None or rate <= 0 or not grew_elsewhere(entry):
        return "enough, if nothing takes more"
    if (lasts := (row["held"] - row["missing"]) / rate) > FORESEEN_SECONDS:
        return f"enough for more than an hour at the rate of the last {over}"
    a_second = gap_text(round(rate), Signal(row["signal"]))
    return f"enough for {seconds_text(lasts)} at the rate of the last {over} ({a_second} a second), which belongs to no pod"
