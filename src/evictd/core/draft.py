"""A step in the making, and what must hold of every step.

The rules of `synchronize` that can be checked on its result are checked here, each time (the habit of Patroni's `quorum.py`): a
broken one is a programmer's error and stops the daemon before it stops a pod.
"""

from dataclasses import dataclass, field

from evictd.core.config import EvictionConfig
from evictd.core.decision import Decision, EvictionReason, EvictPod, Finding, ReportConditions, Wait
from evictd.core.evict import is_protected
from evictd.core.release import POD_CLEANUP_POLL
from evictd.core.state import State, Step, Watching


@dataclass(slots=True, kw_only=True)
class Draft:
    """Decisions and findings as they come; `close` makes the step of them."""

    config: EvictionConfig
    now: int
    decisions: list[Decision] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)

    def close(self, state: State) -> Step:
        """End the step with a `Wait`: short while something is under way, else the monitoring period."""
        calm = isinstance(state.phase, Watching) and not state.releases
        period = self.config.monitoring_period
        wait = Wait(nanoseconds=period if calm else min(POD_CLEANUP_POLL, period))
        step = Step(state=state, decisions=(*self.decisions, wait), findings=tuple(self.findings))
        check_invariants(step, self.config)
        return step


def check_invariants(step: Step, config: EvictionConfig) -> None:
    """Raise `AssertionError` if a step breaks a rule that no input may break."""
    evictions = [decision for decision in step.decisions if isinstance(decision, EvictPod)]
    for_pressure = [
        eviction
        for eviction in evictions
        if eviction.because.reason is EvictionReason.PRESSURE and not eviction.shortens
    ]
    if len(for_pressure) > 1:
        raise AssertionError("more than one pod was to go for pressure in one cycle")
    if any(is_protected(eviction.pod, config) for eviction in evictions):
        raise AssertionError("a protected pod was to be evicted")
    kinds = [type(decision) for decision in step.decisions]
    if kinds.count(Wait) != 1 or kinds[-1] is not Wait:
        raise AssertionError("a step ends in exactly one Wait")
    if ReportConditions in kinds and kinds.index(ReportConditions) != 0:
        raise AssertionError("conditions are reported before anything is done")
