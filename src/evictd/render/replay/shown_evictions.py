"""Finds the evictions of a replay that the readings show.

After a pod that was not evicted then, or not yet, the readings still have it: what is decided by them for the same supply says
nothing.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from evictd.codec.records.journal_record import recorded_evictions, uid_of
from evictd.core.model.signal import SIGNALS, Resource, signal_named

Plain = Mapping[str, Any]


def shown_evictions(cycles: Sequence[tuple[Sequence[Plain], Sequence[Plain]]]) -> Iterator[list[Plain]]:
    """Yield of each cycle, then and now, the evictions now up to the first one of its supply that was not recorded there."""
    ended = set[Resource | None]()
    for old, new in cycles:
        recorded, begun = {uid_of(each) for each in recorded_evictions(old)}, list(recorded_evictions(new))
        yield [each for each in begun if _supply(each) not in ended]
        ended |= {_supply(each) for each in begun if uid_of(each) not in recorded} - {None}


def _supply(eviction: Plain) -> Resource | None:
    """Return what a pod is evicted for; `None` for a limit of its own."""
    because = eviction.get("because")
    threshold = because.get("threshold") if isinstance(because, Mapping) else None
    signal = signal_named(str(threshold.get("signal"))) if isinstance(threshold, Mapping) else None
    resource = None if signal is None else SIGNALS[signal].resource
    # The end of a pod gives back both.
    return Resource.EPHEMERAL_STORAGE if resource is Resource.INODES else resource
