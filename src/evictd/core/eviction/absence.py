"""Makes up for time in which evictd did not look (policy Standard): it was not running, was halted, or the machine slept.

A deadline is over when something should have happened and has not. What was to happen stands still with evictd: the stop call may
not have been sent, collectors and walks are threads of evictd, and on a machine that sleeps nothing runs at all. So only as much
of an absence counts as may lie between two cycles of a daemon that runs; otherwise the first cycle after it would evict a second
pod for a first one that was never asked to stop.

What moves is the deadlines of victims and collections, and the times at which thresholds were crossed: grace periods and the wait
for measurements begin there. `Victim.since` stays, because answers of the API server are compared with it, and so does what is
waited for after a victim or a collection has ended, because those waits are shorter than what counts. Each absence counts for
`LONGEST_COUNTED`, so no wait is renewed for ever, by slow cycles or by a daemon that ends again and again.
"""

from dataclasses import replace

from evictd.core.eviction.ledger import RECLAIM_TIMEOUT, victim_until
from evictd.core.model.config import EvictionConfig, Policy
from evictd.core.model.state import State
from evictd.core.units.duration import MINUTE, SECOND

LONGEST_COUNTED = 20 * SECOND
"""The most of an absence that counts: twice the kubelet's monitoring period. While a victim or a collection is waited for, evictd
looks each second."""
LONG_ABSENCE = 2 * MINUTE
"""What a threshold was before so long an absence says nothing of it now; an update of the daemon takes less."""


def make_up_for_absence(state: State, config: EvictionConfig, now: int) -> State:
    """Move the times from which something is waited for by the time that was not seen, as far as that is not counted.

    None is then later than now, and no deadline further away than at its beginning, whatever a state file says of the last cycle.
    After a long absence the thresholds' grace periods begin anew.
    """
    if state.last_cycle_at is None or config.policy is Policy.KUBELET:
        return state
    absence = now - state.last_cycle_at
    missed = absence - LONGEST_COUNTED
    if missed <= 0:
        return state
    crossed = {} if absence > LONG_ABSENCE else state.thresholds_first_observed_at
    return replace(
        state,
        in_flight=tuple(
            replace(each, until=min(each.until + missed, victim_until(each.grace_period_seconds, now)))
            for each in state.in_flight
        ),
        collections={
            device: replace(each, until=min(each.until + missed, now + RECLAIM_TIMEOUT))
            for device, each in state.collections.items()
        },
        thresholds_first_observed_at={threshold: min(at + missed, now) for threshold, at in crossed.items()},
    )
