"""Says what the list of incidents has of each one, and of a journal without an eviction why no pod went and what to do."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from evictd.codec.records.journal_record import JournalRecord
from evictd.core.model.signal import signal_named
from evictd.render.attribution import clock_text
from evictd.render.documents import API_VERSION, Document
from evictd.render.history.history import EventKind, HistoryEvent, event_line, killed_of
from evictd.render.history.pod.no_action import no_action_remedy
from evictd.render.incident.cause.page_cache import listed_pages_text
from evictd.render.incident.record.journal_end import clear_text
from evictd.render.kernel_kills import NOT_RECORDED
from evictd.render.text import first_of, incident_id

_NOTHING = f"the journal has no eviction; `evictd history` says what was decided; {NOT_RECORDED}"
_SHOWN = 3
"""How many deletions are shown."""


def listed_lines(event: HistoryEvent) -> Iterator[str]:
    """Yield why the pod was evicted, and what made the node short."""
    yield event.why or event_line(event)
    if event.filled:
        yield event.filled
    if pages := listed_pages_text(event):
        yield pages


def incident_list_document(evictions: Sequence[HistoryEvent], text: str = "") -> Document:
    """Make the document of all incidents of a journal; of one without any, `text` says why no pod was evicted."""
    return {
        "apiVersion": API_VERSION,
        "kind": "IncidentList",
        "incidents": [{"id": incident_id(each.uid), **event_row(each), "why": each.why} for each in evictions],
        **({"text": text} if text else {}),
    }


def kills_text(events: Iterable[HistoryEvent]) -> str:
    """Write what the kernel killed besides the evictions of a list; empty where it killed nothing."""
    kills = [each for each in events if each.kind is EventKind.KERNEL]
    if not kills:
        return ""
    killed, number = killed_of(kills), sum(int(each.evidence.get("count", 1)) for each in kills)
    first, last = clock_text(kills[0].at), clock_text(kills[-1].at)
    when = f"at {first}" if first == last else f"from {first} to {last}"
    pods = [each.pod for each in kills if each.pod]
    see = f"`evictd why {pods[-1]}` says what to do" if pods else "`evictd history` lists each"
    what = "1 process" if number == 1 else f"{number} processes"
    return f"the kernel killed {what} of {first_of(killed, _SHOWN)} for want of memory of the node, {when}: {see}"


def event_row(event: HistoryEvent) -> dict[str, Any]:
    """Return an event as a row of a document."""
    return {"at": event.at, "kind": event.kind.value, "pod": event.pod, "text": event_line(event)}


def no_eviction_text(
    events: Iterable[HistoryEvent], kills: Iterable[str] = (), *, end: JournalRecord | None = None
) -> str:
    """Write the last reason for which no pod was evicted, and in a line of its own what to do; without a reason, where to look.

    What the kernel killed is named beside it. `kills` are sentences on what made it kill (`kill_lines`), which count where evictd
    had no reason of its own. `end` is the last record of the journal.
    """
    events = tuple(events)
    latest = {each.kind: each for each in events}
    own = (latest.get(EventKind.NO_ACTION), latest.get(EventKind.SHORTENED))
    last = max(
        (each for each in own if each is not None), key=lambda each: each.at, default=latest.get(EventKind.KERNEL)
    )
    if last is None:
        return _of_deletion(events) or _of_condition(events) or _NOTHING
    if last.kind is EventKind.KERNEL:
        return "\n".join((f"the journal has no eviction. {last.at}: {last.text}", *kills))
    if last.kind is EventKind.SHORTENED:
        why = "it was being deleted already, so that is no eviction and no incident"
        filled = f". {last.filled.removesuffix('.')}" if last.filled else ""
        return f"the journal has no eviction. {last.at}: {last.text}; {why}{filled}{_now_ended(events, last)}"
    remedy = no_action_remedy(last)
    killed = _killed_text([each for each in events if each.kind is EventKind.KERNEL])
    clear = "" if end is None else clear_text(end, signal_named(last.signal))
    now = "; ".join(filter(None, (clear, remedy)))
    return f"the journal has no eviction. {last.at}: {event_line(last)}{killed}" + (f"\nnow: {now}" if now else "")


def _now_ended(events: Sequence[HistoryEvent], last: HistoryEvent) -> str:
    """Write that nothing is to do now where a condition ended last, after that event; empty where none did."""
    conditions = [each for each in events[events.index(last) :] if each.kind is EventKind.CONDITIONS]
    if not conditions or conditions[-1].evidence.get("conditions"):
        return ""
    over = conditions[-1]
    return f"\nnow: nothing to do: {', '.join(over.ended)} ended at {clock_text(over.at)}"


def _of_deletion(events: Sequence[HistoryEvent]) -> str:
    """Write what filled the disk when its last condition began, and what was deleted since; empty where nothing was."""
    begun = [n for n, each in enumerate(events) if each.begun]
    since = events[begun[-1] :] if begun else ()
    deleted = [each for each in since if each.kind is EventKind.RECLAIMED and each.evidence.get("removed")]
    if not deleted:
        return ""
    first, *_ = since
    filled = f". {first.filled}" if first.filled else "."
    texts = "; ".join(f"{each.at}: {each.text}" for each in deleted[-_SHOWN:])
    ended = any(each.ended for each in since)
    enough = f", and that was enough: no pod had to go{_now_ended(events, first)}" if ended else ""
    return f"the journal has no eviction. {first.at}: {first.text}{filled} {texts}{enough}"


def _of_condition(events: Sequence[HistoryEvent]) -> str:
    """Write what was known when the last condition began, and whether it ended; empty where none began.

    Where a deletion found nothing to delete, the history tells more.
    """
    begun = [n for n, each in enumerate(events) if each.begun]
    since = events[begun[-1] :] if begun else ()
    if not since or not since[0].filled or any(each.kind is EventKind.RECLAIMED for each in since):
        return ""
    first = since[0]
    now = _now_ended(events, first) or (
        "\nnow: the journal has no end of it: `evictd status` says whether it is still short"
    )
    return f"the journal has no eviction. {first.at}: {first.text}. {first.filled.removesuffix('.')}{now}"


def _killed_text(kills: Sequence[HistoryEvent]) -> str:
    """Write what the kernel killed last, and in how many records; empty where it killed nothing."""
    if not kills:
        return ""
    earlier = f", the last of {len(kills)} kills" if len(kills) > 1 else ""
    return f"; {kills[-1].at}{earlier}: {kills[-1].text}"
