"""Finds the place of one pod in the order of eviction at each eviction of another one, for `evictd why`."""

from collections.abc import Collection, Iterable

from evictd.codec.journal_record import JournalRecord, uid_of
from evictd.core.model.decision import EvictPod
from evictd.render.deciding import PlaceThen, place_then


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
