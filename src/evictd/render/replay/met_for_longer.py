"""Says whether a larger minimum reclaim of another configuration could have let a pod go between the records of a journal.

A threshold with one stays due until more is available. While a victim leaves, no second pod goes for its supply, and its end is
a record. So only what is due after a record without such a victim is open.
"""

from collections.abc import Iterator, Sequence

from evictd.codec.records.journal_record import recorded_evictions, uid_of
from evictd.core.eviction.accounts.ledger import supply_of
from evictd.core.eviction.reclaim import layout_of
from evictd.core.model.observation import Filesystems
from evictd.core.model.state import CleaningUp
from evictd.core.model.threshold import Threshold
from evictd.render.replay.replayed import Replayed


def may_be_met_for_longer(replayed: Sequence[Replayed]) -> bool:
    """Whether a threshold with another minimum reclaim was due after a record, and no victim was waited for until the next."""
    last = len(replayed) - 1
    return any(
        place == last or not _awaits_victim(one, threshold)
        for place, one in enumerate(replayed)
        for threshold in _due(one)
    )


def _due(one: Replayed) -> Iterator[Threshold]:
    recorded = set(one.entry.config.thresholds)
    due = (each for each in one.step.state.thresholds_met if each not in recorded)
    yield from (each for each in due if each.min_reclaim is not None)


def _awaits_victim(one: Replayed, threshold: Threshold) -> bool:
    """Whether a victim is waited for that was one then too: of another one no end is recorded."""
    state, before = one.step.state, one.entry.state
    recorded = {str(uid_of(each)) for each in recorded_evictions(one.entry.decisions)}
    recorded |= {each.uid for each in before.in_flight if each.gone_at is None}
    if isinstance(state.phase, CleaningUp):
        return isinstance(before.phase, CleaningUp) or bool(recorded)
    supply = supply_of(threshold.signal, layout_of(state.filesystems or Filesystems()))
    waited = [each for each in state.in_flight if each.cause is supply and each.gone_at is None]
    return bool(waited) and all(each.uid in recorded for each in waited)
