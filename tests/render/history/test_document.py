"""The document of `evictd why`."""

from evictd.render.history.document import why_document
from evictd.render.history.history import EventKind, HistoryEvent
from evictd.render.history.pod.why import PodWhy, why_lines


def test_the_document_says_what_the_lines_say() -> None:
    evicted = HistoryEvent(at="2026-01-01T00:01:00Z", kind=EventKind.EVICTED, pod="a/x", uid="u", text="evict a/x")
    why = PodWhy(pod="a/x", events=(evicted,), evicted=(evicted,), asked=False)
    document = why_document(why, [{"pod": "a/x"}])
    assert (document["kind"], document["known"], document["daemonAnswered"]) == ("Why", True, False)
    assert document["events"] == [{"pod": "a/x"}]
    assert document["text"] == list(why_lines(why))
