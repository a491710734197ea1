"""Compares the pods that the kubelet evicted with those that evictd chose: `evictd history --compare-kubelet`."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from enum import Enum
from statistics import median
from typing import TYPE_CHECKING

from evictd.codec.times import parse_time
from evictd.core.frozen import frozen
from evictd.core.units.duration import SECOND
from evictd.errors import InvalidValueError
from evictd.render.console import print_line
from evictd.render.documents import API_VERSION, Document
from evictd.render.history.history import EventKind, HistoryEvent, event_line
from evictd.render.text import clean, counted, duration_text

if TYPE_CHECKING:
    from rich.console import Console


class ChosenBy(Enum):
    """Whether the kubelet, evictd or both chose a pod."""

    BOTH = "Both"
    ONLY_KUBELET = "OnlyKubelet"
    ONLY_EVICTD = "OnlyEvictd"


@frozen
class ComparedEviction:
    """One pod. Times are RFC 3339, empty where that one did not choose the pod."""

    pod: str
    uid: str
    kubelet_at: str = ""
    evictd_at: str = ""
    dry_run: bool = False
    """Whether evictd's choice was that of a dry run."""
    message: str = ""
    """The kubelet's message."""
    decision: str = ""
    """evictd's first decision about the pod."""

    @property
    def chosen_by(self) -> ChosenBy:
        """Whether the kubelet, evictd or both chose it."""
        if self.kubelet_at and self.evictd_at:
            return ChosenBy.BOTH
        return ChosenBy.ONLY_KUBELET if self.kubelet_at else ChosenBy.ONLY_EVICTD

    @property
    def lead(self) -> int | None:
        """Nanoseconds by which evictd chose it before the kubelet evicted it; `None` unless both did."""
        if self.chosen_by is not ChosenBy.BOTH:
            return None
        return parse_time(self.kubelet_at) - parse_time(self.evictd_at)

    @property
    def at(self) -> str:
        """Time of the first choice."""
        return min(filter(None, (self.kubelet_at, self.evictd_at)), key=parse_time)


def compare_with_kubelet(events: Sequence[HistoryEvent]) -> tuple[ComparedEviction, ...]:
    """Return one row for each pod that the kubelet evicted or that evictd chose for the first time, by time.

    What the kubelet did before the first of the events is left out: evictd was not there to choose. An eviction that evictd
    withdrew is none.
    """
    rows: dict[str, ComparedEviction] = {}
    for event in events:
        row = rows.get(event.uid) or ComparedEviction(pod=event.pod, uid=event.uid)
        if event.kind is EventKind.EVICTED and not row.evictd_at:
            row = replace(row, evictd_at=event.at, dry_run=event.dry_run, decision=event_line(event))
        elif event.kind is EventKind.WITHDRAWN:
            row = replace(row, evictd_at="", dry_run=False, decision="")
        elif event.kind is EventKind.KUBELET:
            message = clean(str(event.evidence.get("message", "")))
            row = replace(row, kubelet_at=_kubelet_time(event, events[0].at), message=message)
        else:
            continue
        rows[event.uid] = row
    found = (row for row in rows.values() if row.kubelet_at or row.evictd_at)
    return tuple(sorted(found, key=lambda row: (parse_time(row.at), row.pod)))


def _kubelet_time(event: HistoryEvent, begin: str) -> str:
    """Return when the kubelet evicted the pod: the record's time where the object had none; empty before the first record."""
    at, earlier = str(event.evidence.get("at", "")), event.evidence.get("earlier")
    try:
        return "" if parse_time(at) < parse_time(begin) and earlier else at
    except InvalidValueError:
        return "" if earlier else event.at


def kubelet_comparison_document(rows: Sequence[ComparedEviction]) -> Document:
    """Make the document of a comparison."""
    return {
        "apiVersion": API_VERSION,
        "kind": "KubeletComparison",
        "counts": {each.value: sum(row.chosen_by is each for row in rows) for each in ChosenBy},
        "evictions": [
            {
                "pod": row.pod,
                "uid": row.uid,
                "chosenBy": row.chosen_by.value,
                "kubeletAt": row.kubelet_at or None,
                "evictdAt": row.evictd_at or None,
                "evictdBeforeSeconds": None if row.lead is None else round(row.lead / SECOND, 3),
                "dryRun": row.dry_run,
                "message": row.message,
                "decision": row.decision,
            }
            for row in rows
        ],
    }


_WORDS = {ChosenBy.BOTH: "both", ChosenBy.ONLY_KUBELET: "only the kubelet", ChosenBy.ONLY_EVICTD: "only evictd"}
_GAP, _LEAST_DETAIL = 2, 30
"""Columns between two columns of the table, and the least that its last one has."""
_STYLES = {ChosenBy.ONLY_KUBELET: "yellow", ChosenBy.ONLY_EVICTD: "bold yellow"}


def print_kubelet_comparison(rows: Sequence[ComparedEviction], to: "Console") -> None:
    """Print the rows, then the totals: a table where each pod is whole in it, else a paragraph for each pod."""
    if to.width < _least_width(rows):
        for row in rows:
            _print_paragraph(row, to)
    elif rows:
        _print_table(rows, to)
    to.print(comparison_totals(rows), style="dim")


def _least_width(rows: Sequence[ComparedEviction]) -> int:
    """Return the width of a terminal on which no word of the table is broken."""
    words = (len(word) for row in rows for word in (*row.message.split(), *row.decision.split()))
    columns = (
        max(map(len, _WORDS.values())),
        max((len(clean(row.pod)) for row in rows), default=0),
        *(max((len(clean(at)) for at in times), default=0) for times in _times(rows)),
        max(_LEAST_DETAIL, *words) if rows else 0,
    )
    return sum(columns) + _GAP * (len(columns) - 1)


def _times(rows: Sequence[ComparedEviction]) -> tuple[Sequence[str], Sequence[str]]:
    return [row.kubelet_at for row in rows], [row.evictd_at for row in rows]


def _print_paragraph(row: ComparedEviction, to: "Console") -> None:
    style = _STYLES.get(row.chosen_by, "")
    print_line(to, f"{_WORDS[row.chosen_by]}: ", clean(row.pod), style)
    print_line(to, "    ", f"kubelet {clean(row.kubelet_at) or '-'}, evictd {clean(row.evictd_at) or '-'}", style)
    for text in filter(None, (row.message, row.decision)):
        print_line(to, "    ", text, style)


def _print_table(rows: Sequence[ComparedEviction], to: "Console") -> None:
    from rich.table import Table  # noqa: PLC0415 - only a table needs it

    table = Table(box=None, pad_edge=False, padding=(0, _GAP, 0, 0), header_style="dim")
    for heading in ("CHOSEN BY", "POD", "KUBELET", "EVICTD", "DETAIL"):
        table.add_column(heading, no_wrap=heading != "DETAIL")
    for row in rows:
        detail = "\n".join(filter(None, (row.message, row.decision)))
        cells = (_WORDS[row.chosen_by], row.pod, row.kubelet_at or "-", row.evictd_at or "-", detail)
        table.add_row(*map(clean, cells[:-1]), detail, style=_STYLES.get(row.chosen_by, ""))
    to.print(table)


def comparison_totals(rows: Sequence[ComparedEviction]) -> str:
    """Count the pods by who chose them, with the time between both choices."""
    if not rows:
        return "neither the kubelet nor evictd chose a pod"
    counts = ", ".join(f"{sum(row.chosen_by is each for row in rows)} {words}" for each, words in _WORDS.items())
    leads = [row.lead for row in rows if row.lead is not None]
    text = f"{counted(len(rows), 'pod')}: {counts}"
    return f"{text}; evictd chose {_lead_text(leads)}" if leads else text


def _lead_text(leads: Iterable[int]) -> str:
    leads = sorted(leads)
    middle, first, last = int(median(leads)), leads[-1], leads[0]
    text = f"{_apart(middle)} the kubelet" + ("" if len(leads) == 1 else " in the median")
    return text if first == last else f"{text} (from {_apart(first)} to {_apart(last)})"


def _apart(lead: int) -> str:
    return f"{duration_text(abs(lead))} {'before' if lead >= 0 else 'after'}"
