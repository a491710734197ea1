"""Finds the place of one pod in the order of eviction at each eviction of another one, or says that it was not recorded."""

from collections.abc import Collection, Iterable

from evictd.codec.records.journal_record import JournalRecord, uid_of
from evictd.core.model.decision import EvictPod
from evictd.core.model.finding import Ranking
from evictd.render.deciding import PlaceThen, place_then
from evictd.render.text import clean, counted


def places_then(
    records: Iterable[JournalRecord], pod: str, evicted: Collection[tuple[str, str]]
) -> tuple[tuple[str, PlaceThen], ...]:
    """Return the place of a pod, `namespace/name`, at each eviction of another one that ranked it, by its time.

    `evicted` are time and uid of the evictions that were not refused.
    """
    found = (
        (record.wall, place_then(decision, record.findings, pod, dry_run=record.extra.dry_run))
        for record in records
        for decision in record.decisions
        if decision.get("kind") == EvictPod.__name__ and (record.wall, uid_of(decision)) in evicted
    )
    return tuple((at, place) for at, place in found if place is not None)


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
