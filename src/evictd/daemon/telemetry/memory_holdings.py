"""Keeps what holds memory where it has no threshold: the core follows the holders of a supply only where one is set."""

from evictd.core.eviction.accounts.attribution import attribution_of, with_holdings
from evictd.core.eviction.accounts.holdings import follow_holdings
from evictd.core.eviction.reclaim import layout_of
from evictd.core.model.attribution import Attribution
from evictd.core.model.config import EvictionConfig
from evictd.core.model.holdings import SupplyHoldings
from evictd.core.model.observation import Observation, signal_observations
from evictd.core.model.signal import MEMORY_SIGNALS, Signal
from evictd.core.model.state import State, with_fields
from evictd.core.model.threshold import Threshold
from evictd.core.model.threshold_config import parse_threshold_value
from evictd.render.status.unguarded import PROPOSED_THRESHOLD


def proposed_threshold() -> Threshold | None:
    """Return the threshold that the advice proposes for memory."""
    value = parse_threshold_value(Signal.MEMORY_AVAILABLE, PROPOSED_THRESHOLD)
    return None if value is None else Threshold(signal=Signal.MEMORY_AVAILABLE, value=value)


def memory_followed(
    before: SupplyHoldings | None, state: State, observation: Observation, config: EvictionConfig, *, now: int
) -> SupplyHoldings | None:
    """Return the holdings of memory as of this reading; `None` where a threshold guards it.

    A reading without the pods changes nothing: what they took since would seem to belong to no pod.
    """
    threshold = proposed_threshold()
    if threshold is None or any(each.signal in MEMORY_SIGNALS for each in config.thresholds):
        return None
    if observation.node is None or not observation.pods_read:
        return before
    known = with_fields(state, holdings={} if before is None else {Signal.MEMORY_AVAILABLE: before})
    seen, layout = signal_observations(observation.node), layout_of(state.disks)
    return follow_holdings(known, observation, seen, [threshold], layout=layout, now=now).get(Signal.MEMORY_AVAILABLE)


def memory_attribution(
    held: SupplyHoldings | None, state: State, observation: Observation, config: EvictionConfig
) -> Attribution | None:
    """Return who holds memory, and who took it within about the last minute, as if its threshold were met at these holdings."""
    seen = None if observation.node is None else signal_observations(observation.node).get(Signal.MEMORY_AVAILABLE)
    threshold = proposed_threshold()
    if held is None or seen is None or threshold is None:
        return None
    known = with_fields(state, thresholds_first_observed_at={threshold: held.at}, crossings={}, noticed={})
    short = with_holdings(known, {Signal.MEMORY_AVAILABLE: held}, observation, layout_of(state.disks))
    return attribution_of(Signal.MEMORY_AVAILABLE, seen, observation, short, config, now=held.at)
