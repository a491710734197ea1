"""Says of a journal without an eviction what was short, why no pod went, and what to do."""

from collections.abc import Iterable, Sequence

from evictd.render.history.history import EventKind, HistoryEvent
from evictd.render.history.no_action import no_action_remedy

_NOTHING = "the journal has no eviction; `evictd history` says what was decided"


def no_eviction_text(events: Iterable[HistoryEvent], kills: Iterable[str] = ()) -> str:
    """Write the last reason for which no pod was evicted, and what to do about it; where there is none, where to look.

    What the kernel killed is named beside it. `kills` are sentences on what made it kill (`kill_lines`), which count where evictd
    had no reason of its own.
    """
    events = tuple(events)
    latest = {each.kind: each for each in events}
    own = (latest.get(EventKind.NO_ACTION), latest.get(EventKind.SHORTENED))
    last = max(
        (each for each in own if each is not None), key=lambda each: each.at, default=latest.get(EventKind.KERNEL)
    )
    if last is None:
        return _NOTHING
    if last.kind is EventKind.KERNEL:
        return "; ".join((f"the journal has no eviction. {last.at}: {last.text}", *kills))
    if last.kind is EventKind.SHORTENED:
        why = "it was being deleted already, so that is no eviction and no incident"
        filled = f". {last.filled.removesuffix('.')}" if last.filled else ""
        return f"the journal has no eviction. {last.at}: {last.text}; {why}{filled}"
    remedy = no_action_remedy(last)
    killed = _killed_text([each for each in events if each.kind is EventKind.KERNEL])
    return f"the journal has no eviction. {last.at}: {last.text}{killed}" + (f"; now: {remedy}" if remedy else "")


def _killed_text(kills: Sequence[HistoryEvent]) -> str:
    """Write what the kernel killed last, and in how many records; empty where it killed nothing."""
    if not kills:
        return ""
    earlier = f", the last of {len(kills)} kills" if len(kills) > 1 else ""
    return f"; {kills[-1].at}{earlier}: {kills[-1].text}"
