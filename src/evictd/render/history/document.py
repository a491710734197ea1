"""Makes the documents of `evictd history` and of `evictd why`."""

from collections.abc import Sequence

from evictd.codec.plain import Form, View
from evictd.render.documents import API_VERSION, Document
from evictd.render.history.condition_spans import ConditionSpan
from evictd.render.history.history import HistoryEvent, event_line
from evictd.render.history.pod.why import PodWhy, why_lines

_FORM = Form({HistoryEvent: View(apart=frozenset({"begun", "ended"}))})
"""The text of an event and its evidence have the conditions."""


def history_document(events: Sequence[HistoryEvent], spans: Sequence[ConditionSpan]) -> Document:
    """Make the document of a history."""
    return {
        "apiVersion": API_VERSION,
        "kind": "History",
        "events": [_FORM.encode(HistoryEvent, event) for event in events],
        "conditions": [_FORM.encode(ConditionSpan, span) for span in spans],
    }


def why_document(why: PodWhy, events: Sequence[Document]) -> Document:
    """Make the document; `events` are those of the history's document."""
    return {
        "apiVersion": API_VERSION,
        "kind": "Why",
        "pod": why.pod,
        "known": why.answered,
        "daemonAnswered": why.explained is not None,
        "leaving": None if why.leaving is None else dict(why.leaving),
        "places": [
            {"signals": place.queue["signals"], "place": place.number, "pods": place.pods,
             "next": place.is_next, "stop": place.queue["stop"], **place.row}
            for place in why.places or why.last_places
        ],
        "owner": why.owner,
        "passed": [
            {"at": at, "victim": place.victim, "signal": place.signal, "place": place.number, "pods": place.pods,
             "why": place.why}
            for at, place in why.passed
        ],
        "replaced": [
            {"at": event.at, "pod": event.pod, "uid": event.uid, "text": event_line(event), "why": event.why}
            for event in why.replaced
        ],
        "replacedBy": list(why.successors),
        "events": list(events),
        "text": list(why_lines(why)),
    }  # fmt: skip
