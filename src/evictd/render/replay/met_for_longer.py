"""Says whether a larger minimum reclaim of another configuration could have let a pod go between the records of a journal.

A threshold with one stays due until more is available. While a victim leaves, no second pod goes for its supply, and its end is
a record. So only what is due after a record without such a victim is open.
"""

from collections.abc import Iterator, Sequence

from evictd.core.eviction.accounts.ledger import supply_of
from evictd.core.eviction.reclaim import layout_of
from evictd.core.model.observation import Filesystems
from evictd.core.model.state import CleaningUp, State
from evictd.core.model.threshold import Threshold
from evictd.render.replay.replayed import Replayed


def may_be_met_for_longer(replayed: Sequence[Replayed]) -> bool:
    """Whether a threshold with another minimum reclaim was due after a record, and no victim was waited for until the next."""
    last = len(replayed) - 1
    return any(
        place == last or not _awaits_victim(one.step.state, threshold)
        for place, one in enumerate(replayed)
        for threshold in _due(one)
    )


def _due(one: Replayed) -> Iterator[Threshold]:
    recorded = set(one.entry.config.thresholds)
    due = (each for each in one.step.state.thresholds_met if each not in recorded)
    yield from (each for each in due if each.min_reclaim is not None)


def _awaits_victim(state: State, threshold: Threshold) -> bool:
    if isinstance(state.phase, CleaningUp):
        return True
    supply = supply_of(threshold.signal, layout_of(state.filesystems or Filesystems()))
    return any(each.cause is supply and each.gone_at is None for each in state.in_flight)
