"""Decides for a node on which evictd may not act: it reports and does nothing else.

Standalone, evictd knows of the pods of an API server neither requests nor priorities, and a kubelet that manages them evicts by
its own rules. Unless the configuration allows it (`allowApiPodsStandalone`), nothing is collected and no pod is evicted there,
under both policies (docs/faults.md, 9). Conditions are reported, and each threshold that is due has a finding that says why
nothing is done.
"""

from dataclasses import replace

from evictd.core.eviction.assess import NothingKnown, assess
from evictd.core.eviction.draft import Draft
from evictd.core.eviction.standard import followed
from evictd.core.model.config import EvictionConfig
from evictd.core.model.finding import NoActionReason
from evictd.core.model.observation import Observation
from evictd.core.model.state import CleaningUp, State, Step, Watching


def may_only_report(observation: Observation, config: EvictionConfig) -> bool:
    """Whether evictd must not act on this node."""
    return observation.api_pods_standalone and not config.allow_api_pods_standalone


def report_step(draft: Draft, before: State, observation: Observation) -> Step:
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
