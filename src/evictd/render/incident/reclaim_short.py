"""Says of an incident that its end cleared the threshold, but not its minimum reclaim, for which more pods went."""

from collections.abc import Iterator

from evictd.core.units.quantity import parse_quantity
from evictd.errors import EvictdError
from evictd.render.history.history import EventKind, HistoryEvent
from evictd.render.incident.incident import Incident
from evictd.render.text import signal_amount


def went_for_reclaim(found: Incident) -> int:
    """Return how many pods went next although the threshold was clear; 0 where the eviction gave back too little or enough."""
    came_back, missing = found.came_back, found.missing
    if missing is None or came_back is None or found.kept_by_min_reclaim:
        return 0
    if not missing <= came_back < missing + found.min_reclaim:
        return 0
    return sum(1 for _ in _kept(found))


def reclaim_short_text(found: Incident) -> str:
    """Write what was not reached and how many pods went for it, behind `enough for the threshold`; empty where none did."""
    if found.signal is None or not (more := went_for_reclaim(found)):
        return ""
    went = f"{more} more pods" if more > 1 else "1 more pod"
    return f"not for its minimum reclaim of {signal_amount(found.min_reclaim, found.signal)}; {went} went for that"


def _kept(found: Incident) -> Iterator[HistoryEvent]:
    """Yield the evictions for the same signal that follow, up to the first one at which the threshold itself was met."""
    for each in found.after:
        if each.kind is not EventKind.EVICTED or found.signal is None:
            continue
        because = each.because
        if because.get("signal") != found.signal.value or not _is_clear(because.get("available"), because.get("limit")):
            return
        yield each


def _is_clear(available: object, limit: object) -> bool:
    try:
        return parse_quantity(str(available)) >= parse_quantity(str(limit))
    except EvictdError:  # a damaged record
        return False
