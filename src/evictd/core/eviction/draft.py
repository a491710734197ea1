"""A step in the making, and what must hold of every step.

The rules of `synchronize` that can be checked on its result are checked here, each time (as in Patroni's `quorum.py`): a broken
rule is a programming error, and ends the cycle before a pod is evicted.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from evictd.core.eviction.accounts.freshness import HELD_INTERVAL
from evictd.core.eviction.laws.shortage import needed_with_growth
from evictd.core.model.amount_text import amount_with, noun_amount
from evictd.core.model.attribution import Attribution, growth_text
from evictd.core.model.config import EvictionConfig
from evictd.core.model.decision import Decision, EvictionReason, EvictPod, RecordEvent, ReportConditions, Wait
from evictd.core.model.finding import Finding, NoAction, NoActionReason, WaitingForMeasurement
from evictd.core.model.pod import Pod
from evictd.core.model.signal import SIGNALS, STALLS, Signal
from evictd.core.model.state import PhaseName, State, Step, with_fields
from evictd.core.model.threshold import Threshold
from evictd.core.units.duration import SECOND
from evictd.core.units.quantity import MAX_INT64

POD_CLEANUP_POLL = 1 * SECOND
"""`podCleanupPollFreq`: how long to wait at the most while something is under way."""
WARNING = "Warning"
NORMAL = "Normal"
EVICTION_THRESHOLD_MET = "EvictionThresholdMet"

_NOTICES: Mapping[NoActionReason, str] = {
    NoActionReason.PROTECTED_CULPRIT: (
        "{with_growth}. The pods that may be evicted hold {reachable}; {pod} {detail}{others_stay}"
    ),
    NoActionReason.UNMEASURED_CULPRIT: (
        "{with_growth}. The pods that may be evicted hold {reachable}; pods that were not measured hold or grow more"
    ),
    NoActionReason.EVICTIONS_DO_NOT_HELP: (
        "{needed_is} missing and the last two evictions gave back {reachable}; {detail}, so evictions pause"
    ),
    NoActionReason.EVICTION_LIMIT_REACHED: "{needed_is} missing and evictionLimit allows no more than {detail}",
    NoActionReason.NOT_SHORT_OF_MEMORY: (
        "MemAvailable is {reachable}, above the {needed} wanted; only page cache holds the threshold met ({detail})"
    ),
    NoActionReason.THRESHOLD_NEVER_CLEAR: (
        "the threshold {threshold} was met ever since it was configured, and three pods were evicted for it within ten minutes"
    ),
}
"""The reasons for which a node under pressure stays so without an eviction, with their sentences."""
_OF_STALL = "{pod} {detail}; no pod that keeps to its request is evicted in its place"
"""The text about a protected culprit of a stall, for which no amount is needed."""


@dataclass(slots=True, kw_only=True)
class Draft:
    """Decisions and findings as they come; `close` makes the step of them."""

    config: EvictionConfig
    now: int
    decisions: list[Decision] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)
    longest_wait: int = MAX_INT64
    """Nanoseconds."""

    def report_conditions(self, before: State, state: State) -> State:
        """Report the node's conditions where they have changed, or were never reported."""
        if before.reported and before.node_conditions == state.node_conditions:
            return state
        self.decisions.append(ReportConditions(conditions=state.node_conditions))
        return state if state.reported else with_fields(state, reported=True)

    def announce(self, threshold: Threshold) -> None:
        """Record the event of an attempt to relieve this threshold."""
        message = f"Attempting to reclaim {SIGNALS[threshold.signal].resource.value}"
        self.decisions.append(RecordEvent(type=WARNING, reason=EVICTION_THRESHOLD_MET, message=message))

    def announced(self, threshold: Threshold, state: State) -> State:
        """Record the event of an attempt, once for each time that a resource is short (the kubelet: in each cycle)."""
        resource = SIGNALS[threshold.signal].resource
        if resource in state.announced:
            return state
        self.announce(threshold)
        return with_fields(state, announced=(*state.announced, resource))

    def no_action(
        self, why: NoActionReason, threshold: Threshold | None = None, *, pod: Pod | None = None, detail: str = ""
    ) -> None:
        """Note why nothing (more) is done."""
        self.findings.append(NoAction(why=why, threshold=threshold, pod=pod, detail=detail))

    def with_notices(self, state: State, findings: Sequence[Finding], supply: Signal) -> State:
        """Record an event for each reason not to evict that has had none since the supply became short; return the new state.

        A user who sees the pressure condition and no eviction asks why. The event answers with the numbers (policy Standard).
        """
        held = next((each for each in findings if isinstance(each, Attribution)), None)
        before = known = state.noticed.get(supply, ())
        for finding in findings:
            if not isinstance(finding, NoAction) or finding.why in known:
                continue
            if (event := notice_of(finding, held)) is not None:
                self.decisions.append(event)
                known = (*known, finding.why)
        return state if known == before else with_fields(state, noticed={**state.noticed, supply: known})

    def look_within(self, nanoseconds: int) -> None:
        """Bound the wait until the next cycle."""
        self.longest_wait = min(nanoseconds, self.longest_wait)

    @property
    def _waits_for_release(self) -> bool:
        why = NoActionReason.WAITING_FOR_RELEASE
        return any(isinstance(finding, NoAction) and finding.why is why for finding in self.findings)

    def close(self, state: State) -> Step:
        """End the step with a `Wait`: shortest while a decision is held, short while something is under way."""
        period = self.config.monitoring_period
        if any(isinstance(finding, WaitingForMeasurement) for finding in self.findings):
            period = min(HELD_INTERVAL, period)
        elif self._waits_for_release or state.activity is not PhaseName.WATCHING or _is_under_way(state):
            period = min(POD_CLEANUP_POLL, period)
        decisions = (*self.decisions, Wait(nanoseconds=min(self.longest_wait, period)))
        if state.last_cycle_at != self.now:
            state = with_fields(state, last_cycle_at=self.now)
        step = Step(state=state, decisions=decisions, findings=tuple(self.findings))
        check_invariants(step, self.config)
        return step


def _is_under_way(state: State) -> bool:
    return bool(state.in_flight or state.collections or state.drops_page_cache)


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
    # A victim in flight may have come under protection since it was chosen: to shorten its grace evicts no further pod.
    if any(config.protects(each.pod) and not each.shortens for each in evictions):
        raise AssertionError("a protected pod was to be evicted")
    if any(eviction.pod.critical for eviction in evictions):
        raise AssertionError("a critical pod was to be stopped")
    kinds = [type(decision) for decision in step.decisions]
    if kinds.count(Wait) != 1 or kinds[-1] is not Wait:
        raise AssertionError("a step ends in exactly one Wait")
    if ReportConditions in kinds and kinds.index(ReportConditions) != 0:
        raise AssertionError("conditions are reported before anything is done")


def notice_of(finding: NoAction, attribution: Attribution | None) -> RecordEvent | None:
    """Return the event for a reason not to evict; `None` for a reason that is the normal course of an eviction."""
    if finding.why not in _NOTICES or finding.threshold is None:
        return None
    threshold, resource = finding.threshold, SIGNALS[finding.threshold.signal].resource
    culprit_of_stall = finding.why is NoActionReason.PROTECTED_CULPRIT and threshold.signal in STALLS
    text = (_OF_STALL if culprit_of_stall else _NOTICES[finding.why]).format(
        needed=noun_amount(finding.needed, resource),
        needed_is=amount_with(finding.needed, resource),
        with_growth=needed_with_growth(finding, resource),
        reachable=noun_amount(finding.reachable, resource),
        pod="a pod" if finding.pod is None else finding.pod.full_name,
        threshold=threshold.value,
        detail=finding.detail,
        others_stay=", and no pod within its request goes in its place yet" if finding.suffices else "",
    )
    # Who reads events need not know of all pods.
    grown = "" if attribution is None else growth_text(attribution, named=False)
    message = f"No pod is evicted for {threshold.signal.value}: {text}" + (f"; {grown}" if grown else "")
    nothing_to_do = finding.why is NoActionReason.NOT_SHORT_OF_MEMORY
    return RecordEvent(type=NORMAL if nothing_to_do else WARNING, reason=finding.why.value, message=message)
