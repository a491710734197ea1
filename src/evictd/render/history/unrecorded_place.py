"""Says at which evictions a pod stood so far back in the order of eviction that the journal did not record its place."""

from collections.abc import Iterable

from evictd.codec.journal_record import JournalRecord
from evictd.core.model.decision import EvictPod
from evictd.core.model.finding import Ranking
from evictd.render.text import clean, counted


def unrecorded_place(records: Iterable[JournalRecord], pod: str) -> str:
    """Write that a pod, `namespace/name`, was behind the recorded part of the order at evictions; empty where it was at none."""
    evictions, recorded = 0, 0
    for record in records:
        evicted = sum(each.get("kind") == EvictPod.__name__ for each in record.decisions)
        rankings = [each for each in record.findings if each.get("kind") == Ranking.__name__] if evicted else []
        rows = max((len(each.get("rows", ())) for each in rankings), default=0)
        more = any(each.get("pods", 0) > len(each.get("rows", ())) for each in rankings)
        if more and any(clean(each.full_name) == pod for each in record.observation.pods):
            evictions, recorded = evictions + evicted, max(recorded, rows)
    if not evictions:
        return ""
    behind = f"behind the first {recorded} in the order of eviction, whose places the journal keeps"
    return f"at {counted(evictions, 'eviction')} of other pods {pod} was {behind}"
