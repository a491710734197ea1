"""Prints a history as a table, with the totals below it."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING

from evictd.render.console import print_line
from evictd.render.history.condition_spans import ConditionSpan
from evictd.render.history.folded_events import folded_events
from evictd.render.history.history import EventKind, HistoryEvent, event_line
from evictd.render.text import clean, counted

if TYPE_CHECKING:
    from rich.console import Console

_STYLES = {
    EventKind.EVICTED: "bold red",
    EventKind.KUBELET: "bold red",
    EventKind.KERNEL: "bold red",
    EventKind.REQUESTED: "yellow",
    EventKind.REFUSED: "yellow",
    EventKind.NO_ACTION: "yellow",
    EventKind.CONDITIONS: "bold yellow",
}


_ALWAYS = (
    (EventKind.EVICTED, "eviction"),
    (EventKind.REFUSED, "refusal"),
    (EventKind.RECLAIM, "reclaim"),
    (EventKind.CONDITIONS, "condition change"),
)
_BY_OTHERS = ((EventKind.KUBELET, "eviction", "by the kubelet"), (EventKind.KERNEL, "kill", "by the kernel"))


def print_history(
    events: Sequence[HistoryEvent],
    spans: Sequence[ConditionSpan],
    to: "Console",
    *,
    everything: bool = False,
    notes: Sequence[str] = (),
    ends: Mapping[str, str] = MappingProxyType({}),
) -> None:
    """Print the events as a table, then notes and the totals; of evictions that repeat the first and the last.

    With `everything` all are printed. `ends` has by type until when a condition stands (`condition_ends`).
    """
    from rich.table import Table  # noqa: PLC0415 - only a table needs it

    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    for heading in ("TIME", "WHAT", "DETAIL"):
        table.add_column(heading, no_wrap=heading != "DETAIL")
    for event in events if everything else folded_events(events, "--all"):
        if isinstance(event, str):
            table.add_row("", "", event, style="bold")
            continue
        table.add_row(
            clean(event.at),
            event.kind.value,
            "\n".join(filter(None, (event_line(event), event.why, event.filled))),
            style=_STYLES.get(event.kind, ""),
        )
    to.print(table)
    for span in spans:
        if span.until is None:
            text = f"{clean(span.type)} since {clean(span.since)}"
            print_line(to, "", "; ".join(filter(None, (text, ends.get(span.type)))), "bold yellow")
    for note in notes:
        print_line(to, "", note, "bold yellow")
    to.print(totals_text(events), style="dim")


def totals_text(events: Sequence[HistoryEvent]) -> str:
    """Count what happened, by kind; what others than evictd did, or a dry run did not do, is named only if there is any."""
    rehearsed = [event for event in events if event.dry_run]
    texts = [
        counted(_number(events, kind), noun) + (f" ({dry} in a dry run)" if (dry := _number(rehearsed, kind)) else "")
        for kind, noun in _ALWAYS
    ]
    found = ((_number(events, kind), noun, by) for kind, noun, by in _BY_OTHERS)
    return ", ".join([*texts, *(f"{counted(number, noun)} {by}" for number, noun, by in found if number)])


def _number(events: Sequence[HistoryEvent], kind: EventKind) -> int:
    """Return how many events there are; kills count by process."""
    return sum(int(event.evidence.get("count", 1)) for event in events if event.kind is kind)
