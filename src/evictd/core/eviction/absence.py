"""Makes up for time in which evictd did not look (policy Standard): it was not running, was halted, or the machine slept.

A victim's deadline and a collection's are over when something should have ended and has not. What was to end it stands still with
evictd: the stop call may not have been sent, and collectors are threads of evictd. So only as much of an absence counts as may
lie between two cycles of a daemon that runs; otherwise the first cycle after it would evict a second pod for a first one that was
never asked to stop. Measurements of pods are lost with a restart, so their bound begins anew.

Soft grace periods count on: the threshold was met before and is met now. After a long absence a start begins them anew
(`daemon.store.checkpoint`).
"""

from dataclasses import replace

from evictd.core.eviction.ledger import RECLAIM_TIMEOUT, victim_until
from evictd.core.model.config import EvictionConfig, Policy
from evictd.core.model.state import State
from evictd.core.units.duration import SECOND

LONGEST_COUNTED = 20 * SECOND
"""The most of an absence that counts: twice the kubelet's monitoring period. While a victim or a collection is waited for, evictd
looks each second. What counts makes a daemon that ends again and again come to the next pod."""


def make_up_for_absence(state: State, config: EvictionConfig, now: int) -> State:
    """Move the deadlines of victims and collections by the time that was not seen, if it is longer than `LONGEST_COUNTED`.

    None is then further away than it would be at its beginning, whatever a state file says of the last cycle.
    """
    if state.last_cycle_at is None or config.policy is Policy.KUBELET:
        return state
    missed = now - state.last_cycle_at - LONGEST_COUNTED
    if missed <= 0:
        return state
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
        resumed_at=now,
    )
