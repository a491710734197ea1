"""The order of eviction for the page: one table of pods for the signals that share a resource."""

from collections.abc import Collection, Mapping, Sequence
from itertools import pairwise
from typing import Any

from evictd.core.model.signal import DISKS, WITH_REQUEST, Resource
from evictd.render.status.holders import full_name, measured_before, row_numbers
from evictd.render.status.next_pod import before_first
from evictd.render.status.stopped import name_last
from evictd.render.text import (
    MEASURED_LATER,
    amount_text,
    capital,
    clean,
    first_of,
    not_of_pods_text,
    usage_text,
)

Document = Mapping[str, Any]

_SHOWN_PODS = 5
_TWO = 2
_NO_NUMBER = "\u2013"


def queue_view(
    queue: Document,
    said: Collection[str],
    nothing: Collection[str],
    *,
    far: bool,
    status: Document,
) -> dict[str, Any]:
    """Return the order of eviction for some signals, without the sentences about its supply that stand at the top.

    `nothing` are the reasons for no eviction that stand above the order. `far`: every pod is folded, because another signal
    is short or will be soon. A pod that the API server is asked to evict stands in `asked`: none goes before it has answered.
    """
    held = [f"{capital(text)}." for text in (queue.get("attribution") or {"text": ()})["text"]]
    resource = Resource(queue["resource"])
    ordered = sorted(queue["rows"], key=lambda row: bool(row["protected"]))  # those that are never evicted are last
    rows = list(zip(_with_equal(_rows(ordered, resource), ordered), _shown(ordered, queue["next"] or ""), strict=True))
    unmeasured = bool(ordered) and all(row["usage"] is None for row in ordered)
    stop = _without_signal(queue["stop"] or "", queue["signals"])
    return {
        "signals": ", ".join(queue["signals"]),
        "resource": resource.value,
        "next": queue["next"],
        "before": before_first(status, queue),
        "asked": first_of([clean(row["pod"]) for row in status["asked"] if row["signal"] in queue["signals"]]),
        "stop_above": bool(stop) and any(stop.partition("; ")[0] in text for text in nothing),
        "stop": capital(name_last(stop)),
        "not_of_pods": not_of_pods_text(queue["notOfPods"], resource) if queue["notOfPods"] and not held else "",
        "held": () if unmeasured else [text for text in held if text not in said],
        "unmeasured": unmeasured,
        "measured_later": MEASURED_LATER if resource in DISKS else "",
        "requested": resource in WITH_REQUEST,
        "shown": [row for row, is_shown in rows if is_shown and not far],
        "folded": [row for row, is_shown in rows if far or not is_shown],
    }


def _shown(rows: Sequence[Document], victim: str) -> list[bool]:
    """Return which rows stand in the open: the first ones, the pod that would go next, and the one that uses the most.

    Of pods that are passed over for the same reason one after the other only the first.
    """
    most = max((row["usage"] or 0 for row in rows), default=0)
    largest = next((place for place, row in enumerate(rows) if row["usage"] == most), None)
    first = _group_begins(rows)[:_SHOWN_PODS]
    return [place in first or place == largest or full_name(row) == victim for place, row in enumerate(rows)]


def _group_begins(rows: Sequence[Document]) -> list[int]:
    """Return the places of the rows that are not passed over for the same reason as the one before them."""
    before = (None, *(row["passedOver"] or None for row in rows))
    return [place for place, row in enumerate(rows) if not row["passedOver"] or row["passedOver"] != before[place]]


def _with_equal(rows: Sequence[dict[str, Any]], ordered: Sequence[Document]) -> list[dict[str, Any]]:
    """Write at the first of pods that are passed over alike how many follow it."""
    found = [{**row} for row in rows]
    for begin, end in pairwise((*_group_begins(ordered), len(rows))):
        if end - begin > 1:
            found[begin]["why"] += (
                "; so is the next pod" if end - begin == _TWO else f"; so are the next {end - begin - 1} pods"
            )
    return found


def _without_signal(text: str, signals: Sequence[str]) -> str:
    """Return a sentence without the signal that it begins with: it is the heading of the card."""
    for signal in signals:
        text = text.removeprefix(f"{signal}: ")
    return text


def _rows(rows: Sequence[Document], resource: Resource) -> list[dict[str, Any]]:
    """Return the rows of a table; pods that are never evicted have no number."""
    return [
        _row(_NO_NUMBER if row["protected"] else str(number), row, resource)
        for number, row in zip(row_numbers(rows), rows, strict=True)
    ]


def _row(number: str, row: Document, resource: Resource) -> dict[str, Any]:
    usage = "not measured" if row["usage"] is None else usage_text(row["usage"], resource)
    # Where usage alone decides, the column of the usage says how much.
    place = "by usage" if row["why"].split(", ")[0] == f"uses {usage}" else row["why"]
    reasons = filter(None, (place, row["passedOver"]))
    return {
        "number": number,
        "pod": f"{row['namespace']}/{row['name']}",
        "usage": ", ".join(filter(None, (usage, measured_before(row)))),
        "request": amount_text(row["request"], resource) if row["request"] else "none",
        "priority": row["priority"],
        "why": f"never evicted: {row['protected']}" if row["protected"] else "; passed over: ".join(reasons),
        "protected": bool(row["protected"]),
    }
