"""Law Prudence: a threshold that was never clear is probably a mistake, and a node may have a limit (policy Standard).

`memory.available: 13Gi` on a node of 16 GiB is met from its first reading, and no eviction ends it. So a threshold that has not
once been clear since it was configured, changed or first read on this node lets at most `MOST` pods go in `PERIOD`, while more
than a twentieth of the supply is left: less than that is short by any measure.

`evictionLimit` of the configuration is a limit for all evictions of the node for pressure, under hard thresholds as well: a
node at its limit is left to the OOM killer, or to a full disk. A refused or withdrawn eviction does not count. The descheduler
has such a limit since kubernetes-sigs/descheduler#65.
"""

from dataclasses import replace

from evictd.core.eviction.laws.shortage import Shortage
from evictd.core.model.config import EvictionConfig
from evictd.core.model.finding import NoAction, NoActionReason
from evictd.core.model.signal import SIGNALS
from evictd.core.model.state import State
from evictd.core.units.duration import MINUTE, format_duration

MOST = 3
"""Three pods in ten minutes relieve a node that was short when evictd was started; a typo costs no more than that. With
one two less are lost over the incidents (13, 23), and a node that needs three is not relieved for twenty minutes."""
PERIOD = 10 * MINUTE
SHORT_BY_ANY_MEASURE = 20
"""Below this part of the capacity the node is short whatever the threshold says."""


def never_clear(shortage: Shortage, state: State, now: int) -> NoAction | None:
    """Return the finding that stops evictions for a threshold that was never clear; `None` where a pod may go."""
    threshold, seen = shortage.threshold, shortage.seen
    if not shortage.measurable or any(threshold.identity == each.identity for each in state.once_clear):
        return None
    if seen.available.value() * SHORT_BY_ANY_MEASURE <= seen.capacity.value():
        return None
    lately = [each.chosen_at for each in state.effects.get(shortage.supply, ()) if now - each.chosen_at < PERIOD]
    if len(lately) < MOST:
        return None
    until = lately[-MOST] + PERIOD
    return NoAction(why=NoActionReason.THRESHOLD_NEVER_CLEAR, threshold=threshold, until=until)


def over_limit(shortage: Shortage, state: State, config: EvictionConfig, now: int) -> NoAction | None:
    """Return the finding that stops evictions because `evictionLimit` is used up; `None` where a pod may go."""
    limit, lately = config.eviction_limit, _lately(state, config, now)
    if not limit.pods or len(lately) < limit.pods:
        return None
    return NoAction(
        why=NoActionReason.EVICTION_LIMIT_REACHED,
        threshold=shortage.threshold,
        needed=SIGNALS[shortage.threshold.signal].amount(shortage.missing) if shortage.measurable else None,
        detail=f"{len(lately)} pod{'' if len(lately) == 1 else 's'} within {format_duration(limit.per)}",
        until=lately[-limit.pods] + limit.per,
    )


def with_eviction(state: State, config: EvictionConfig, now: int) -> State:
    """Return the state that counts an eviction for pressure, decided now."""
    return replace(state, evicted_at=(*_lately(state, config, now), now)) if config.eviction_limit.pods else state


def _lately(state: State, config: EvictionConfig, now: int) -> tuple[int, ...]:
    return tuple(at for at in state.evicted_at if now - at < config.eviction_limit.per)
