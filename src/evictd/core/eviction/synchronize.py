"""The one place where evictd decides.

    synchronize(state, observation, config, now) -> Step(state, decisions, findings)

Rules: plain values in and out; `now` is the only time; conditions are reported before the first kill; at most one pod goes for
pressure in a call; a protected pod never goes; every call ends in one `Wait`. It answers to the kubelet's
`managerImpl.synchronize` and `Start`. What comes next is decided by `kubelet` or by `standard`, over the same
assessment, ranking and messages.
"""

from dataclasses import replace

from evictd.core.eviction.accounts.absence import make_up_for_absence
from evictd.core.eviction.assess import NothingKnown, assess
from evictd.core.eviction.draft import Draft
from evictd.core.eviction.kubelet import kubelet_step
from evictd.core.eviction.refusals.backoff import settle_answers
from evictd.core.eviction.refusals.keep_away import follow_comebacks
from evictd.core.eviction.standard import followed, standard_step
from evictd.core.model.config import EvictionConfig, Policy
from evictd.core.model.finding import NoAction, NoActionReason
from evictd.core.model.observation import Observation
from evictd.core.model.state import CleaningUp, State, Step, Watching

_CARRIED_OUT = {NoActionReason.WAITING_FOR_RELEASE, NoActionReason.WAITING_FOR_VICTIM, NoActionReason.RECLAIM_SUFFICED}
"""Reasons that presume that a decision was carried out."""


def synchronize(state: State, observation: Observation, config: EvictionConfig, now: int) -> Step:
    """Decide about this reading: a whole cycle, or the part of one after a reclaim.

    Pure: the same arguments always give the same step. Raises nothing but on a programmer's error.
    """
    state = make_up_for_absence(_after_dry_run(state, observation), config, now)
    step = _step(state, observation, with_own_pods(config, observation), now)
    return _of_dry_run(step) if state.dry_run else step


def _step(state: State, observation: Observation, config: EvictionConfig, now: int) -> Step:
    draft = Draft(config=config, now=now)
    if not config.thresholds and not config.local_storage_capacity_isolation and _is_at_rest(state, config):
        return draft.close(state)
    before, state = state, settle_answers(state, observation, config, now)
    state = follow_comebacks(before, state, observation, config, now)
    if may_only_report(observation, config):
        return _report_step(draft, state, observation)
    decide = kubelet_step if config.policy is Policy.KUBELET else standard_step
    return decide(draft, state, observation)


def with_own_pods(config: EvictionConfig, observation: Observation) -> EvictionConfig:
    """Protect the pods that evictd runs in."""
    if observation.own_pods <= config.protected_pods:
        return config
    return replace(config, protected_pods=config.protected_pods | observation.own_pods)


def _is_at_rest(state: State, config: EvictionConfig) -> bool:
    """Whether nothing of an earlier configuration has to be brought to its end (policy Standard: docs/faults.md, 27)."""
    return config.policy is Policy.KUBELET or not (state.node_conditions or state.in_flight or state.collections)


def _after_dry_run(state: State, observation: Observation) -> State:
    """Forget the victims when a dry run begins, and all that it only decided when it ends (docs/faults.md, 4 and 23).

    In a dry run a collection is kept, so that the eviction after it is decided as well. When evictd goes live, conditions are
    reported, collectors are begun and events are recorded anew.
    """
    dry_run = observation.outcomes.dry_run
    if not dry_run and not state.dry_run:
        return state
    if not dry_run:
        return replace(
            state,
            in_flight=(),
            phase=Watching(),
            collections={},
            announced=(),
            noticed={},
            reported=False,
            dry_run=False,
        )
    return _without_victims(replace(state, dry_run=True))


def _of_dry_run(step: Step) -> Step:
    """Drop the victims, none of which was stopped, and everything that waits for a decision that was not performed."""
    findings = (each for each in step.findings if not (isinstance(each, NoAction) and each.why in _CARRIED_OUT))
    return replace(step, state=_without_victims(step.state), findings=tuple(findings))


def _without_victims(state: State) -> State:
    phase = Watching() if isinstance(state.phase, CleaningUp) else state.phase
    return replace(state, in_flight=(), evicted_at=(), phase=phase)


def may_only_report(observation: Observation, config: EvictionConfig) -> bool:
    """Whether evictd must not act on this node.

    Standalone, evictd knows of the pods of an API server neither requests nor priorities, and a kubelet that manages them evicts
    by its own rules. Unless the configuration allows it (`allowApiPodsStandalone`), nothing is collected and no pod is evicted
    there, under both policies (docs/faults.md, 9).
    """
    return observation.api_pods_standalone and not config.allow_api_pods_standalone


def _report_step(draft: Draft, before: State, observation: Observation) -> Step:
    """Report conditions, and say of each threshold that is due why nothing is done about it.

    Victims and collections of an earlier configuration go on by themselves. They are kept in the ledger, so that none is chosen
    a second time, and none in place of one that is leaving, if a reload allows evictions again.
    """
    assessment = assess(before, observation, draft.config, draft.now)
    draft.findings.extend(assessment.findings)
    if isinstance(assessment, NothingKnown):
        return draft.close(assessment.state)
    state = followed(draft, observation, assessment, draft.report_conditions(before, assessment.state))
    for threshold in assessment.due:
        draft.no_action(NoActionReason.API_PODS_STANDALONE, threshold)
    waits = isinstance(state.phase, CleaningUp) and any(victim.gone_at is None for victim in state.in_flight)
    return draft.close(state if waits else replace(state, phase=Watching()))
