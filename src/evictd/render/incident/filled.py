"""Reads from the record of an eviction who filled what was short: pods, or what belongs to no pod."""

from evictd.codec.journal_record import JournalRecord
from evictd.core.model.attribution import Attribution
from evictd.render.attribution import little_grew, recorded_attribution
from evictd.render.history.history import HistoryEvent


def who_filled(record: JournalRecord) -> Attribution | None:
    """Return the attribution of a cycle; `None` where a pod was not measured in it, whose part is not known."""
    held = recorded_attribution(record.findings)
    return None if held is None or held.outdated else held


def fills_host(held: Attribution | None, taken: int = 0) -> bool:
    """Whether at least half of what filled the supply belongs to no pod; `taken` of it pods had held before.

    Not where pods may have taken all of it since they were read.
    """
    if held is None or held.outdated or held.unread or held.filled <= 0:
        return False
    return held.grown_elsewhere > 0 and held.grown_elsewhere * 2 >= held.filled - taken


def is_unknown(held: Attribution | None) -> bool:
    """Whether pods may have taken at least half of what filled the supply since they were read."""
    return held is not None and held.unread > 0 and held.grown_elsewhere * 2 >= held.filled


def outside_pods_held(held: Attribution | None, event: HistoryEvent) -> int | None:
    """Return what belonged to no pod, where what grew is little beside what was missing."""
    return held.elsewhere.held if held is not None and little_grew(held, event.evidence.get("because", {})) else None
