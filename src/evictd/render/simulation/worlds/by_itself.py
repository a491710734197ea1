"""Says of a world that was played that its shortage would have ended by itself, and the grace period that was long enough."""

from dataclasses import replace

from evictd.core.model.decision import begun_evictions
from evictd.core.model.signal import MEMORY_SIGNALS
from evictd.core.model.threshold import Threshold
from evictd.core.units.duration import MINUTE, SECOND
from evictd.render.simulation.worlds.clear_again import is_clear_again, longest_met
from evictd.render.text import duration_text
from evictd.world.account import Account, account_of
from evictd.world.loop import Run, play

_STEP = 30 * SECOND
"""What a grace period that is named is a multiple of."""
_LONGEST = 10 * MINUTE
"""The longest one that is named: for longer a node is not left short."""


def ended_by_itself(run: Run, account: Account, unattended: Run | None) -> bool:
    """Whether all pods were lost for memory, of which enough had been left again without evictd, and nothing ran out."""
    if unattended is None or unattended.kills or unattended.ran_out or not account.losses:
        return False
    of_memory = {each.cause for each in account.losses} <= {signal.value for signal in MEMORY_SIGNALS}
    return of_memory and is_clear_again(run, unattended)


def by_itself_text(run: Run, unattended: Run) -> str:
    """Write of a shortage that `ended_by_itself` with which grace period no pod would have been lost."""
    grace = _grace_that_waits(run, unattended)
    waited = "" if grace is None else f"; with a grace period of {duration_text(grace)} no pod would have been evicted"
    return f"The shortage would have ended by itself{waited}."


def _grace_that_waits(run: Run, unattended: Run) -> int | None:
    """Return the grace period of the soft thresholds that evicted with which no pod is lost; `None` where there is none."""
    acted = {each.because.threshold for cycle in run.cycles for each in begun_evictions(cycle.step.decisions)}
    least = -(-longest_met(run, unattended) // _STEP) * _STEP
    # A run that began with a state is not played again from its world alone.
    if run.world.begin or least > _LONGEST or not all(each is not None and each.grace_period for each in acted):
        return None

    def with_grace(each: Threshold, grace: int) -> Threshold:
        return replace(each, grace_period=max(grace, each.grace_period)) if each in acted else each

    # One step more: between two readings a threshold counts as met for longer.
    for grace in (least, least + _STEP):
        thresholds = tuple(with_grace(each, grace) for each in run.config.thresholds)
        if not account_of(play(run.world, replace(run.config, thresholds=thresholds))).losses:
            return grace
    return None
