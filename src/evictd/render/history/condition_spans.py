"""Makes of the events of a history how long each node condition was reported, or would have been in a dry run."""

from collections.abc import Iterable

from evictd.core.frozen import frozen
from evictd.render.history.history import EventKind, HistoryEvent


@frozen
class ConditionSpan:
    """A node condition from its begin to its end, `None` while it is reported; RFC 3339."""

    type: str
    since: str
    until: str | None = None


def condition_spans(events: Iterable[HistoryEvent]) -> tuple[ConditionSpan, ...]:
    """Return how long each condition was reported, by the time at which it began; one of a dry run ends when that ends."""
    spans: list[ConditionSpan] = []
    rehearsed = False
    for event in events:
        if event.kind is not EventKind.CONDITIONS:
            continue
        reported = [str(each) for each in event.evidence.get("conditions", ())]
        open_spans = {span.type: index for index, span in enumerate(spans) if span.until is None}
        for name, index in open_spans.items():
            if name not in reported or (rehearsed and not event.dry_run):
                spans[index] = ConditionSpan(type=name, since=spans[index].since, until=event.at)
        still = {span.type for span in spans if span.until is None}
        spans += [ConditionSpan(type=name, since=event.at) for name in reported if name not in still]
        rehearsed = event.dry_run
    return tuple(spans)
