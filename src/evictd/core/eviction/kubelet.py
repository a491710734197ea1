"""Policy Kubelet: what comes next, exactly as the kubelet decides it (`managerImpl.synchronize` and `Start`).

Its loop does one thing at a time, so one phase describes it:

    Watching --due, something to reclaim--> Reclaiming --still short--> CleaningUp --victims gone or time up--> Watching
       |                                       +--sufficed--> Watching
       +--due, nothing to reclaim--> CleaningUp

Only the first threshold due is acted on. While victims are cleaned up nothing else is looked at. After a reclaim every
configured threshold is tested again, with its minimum reclaim and whatever its grace (docs/parity.md, row 17). Deliberate
differences from this are in `standard`; what both share is in `assess`, `rank`, `choose`, `evict` and `local_storage`.
"""

from dataclasses import replace

from evictd.core.eviction.accounts.ledger import available_supplies, victim_of
from evictd.core.eviction.assess import Assessment, NothingKnown, assess, configured_thresholds
from evictd.core.eviction.choice.choose import choose_victim
from evictd.core.eviction.draft import Draft
from evictd.core.eviction.local_storage import local_storage_evictions
from evictd.core.eviction.reclaim import layout_of, reclaim_node
from evictd.core.model.decision import EvictPod
from evictd.core.model.finding import NoActionReason
from evictd.core.model.observation import Observation, signal_observations
from evictd.core.model.state import CleaningUp, Reclaiming, State, Step, Watching
from evictd.core.model.threshold import Threshold, thresholds_met


def kubelet_step(draft: Draft, state: State, observation: Observation) -> Step:
    """Decide as the kubelet does; each cycle in which it looks has a finding for every threshold met, acted on or not."""
    if _stands_still(state, observation, draft.now):
        draft.no_action(NoActionReason.WAITING_FOR_VICTIM)
        return draft.close(state)
    resting = replace(state, phase=Watching(), in_flight=(), collections={})
    assessment = assess(resting, observation, draft.config, draft.now)
    draft.findings.extend(assessment.findings)
    if isinstance(state.phase, Reclaiming):
        return _after_reclaim(draft, state, state.phase, observation)
    if isinstance(assessment, NothingKnown):
        return draft.close(assessment.state)
    return _cycle(draft, resting, observation, assessment)


def _stands_still(state: State, observation: Observation, now: int) -> bool:
    """Whether the loop is still waiting for its last victims to be cleaned up, and does nothing else.

    Also for those of policy Standard, before a reload: the next pod would go for the bytes that they have not given back.
    """
    cleaned_up = observation.outcomes.cleaned_up
    return any(victim.is_leaving(now) and victim.uid not in cleaned_up for victim in state.in_flight)


def _cycle(draft: Draft, before: State, observation: Observation, assessment: Assessment) -> Step:
    state = draft.report_conditions(before, assessment.state)
    if draft.config.local_storage_capacity_isolation:
        dedicated = bool(state.disks.dedicated_image_fs)
        evictions = tuple(local_storage_evictions(observation, draft.config, dedicated_image_fs=dedicated))
        if evictions:
            return _evicting(draft, state, observation, evictions)
    if not assessment.due:
        return draft.close(state)
    threshold = assessment.due[0]
    draft.announce(threshold)
    layout = layout_of(state.disks)
    seen = assessment.observations[threshold.signal]
    if (collect := reclaim_node(threshold, seen, layout, draft.config)) is not None:
        draft.decisions.append(collect)
        phase = Reclaiming(threshold=threshold, due=assessment.due, before=observation)
        return draft.close(replace(state, phase=phase))
    return _evict(draft, state, observation, assessment.due)


def _after_reclaim(draft: Draft, state: State, phase: Reclaiming, observation: Observation) -> Step:
    """Test every configured threshold again; where one is met, evict on the numbers from before (`reclaimNodeLevelResources`).

    A collection that was lost in a restart of evictd counts as done, as the kubelet's own would.
    """
    outcomes = observation.outcomes
    if outcomes.reclaimed is None and (outcomes.collecting is None or outcomes.collecting):
        return draft.close(state)
    resting = replace(state, phase=Watching())
    thresholds = configured_thresholds(draft.config, state.disks)
    if observation.node is not None and not thresholds_met(
        thresholds, signal_observations(observation.node), with_min_reclaim=True
    ):
        draft.no_action(NoActionReason.RECLAIM_SUFFICED, phase.threshold)
        return draft.close(resting)
    return _evict(draft, resting, phase.before, phase.due)


def _evict(draft: Draft, state: State, observation: Observation, due: tuple[Threshold, ...]) -> Step:
    """Evict the first pod by rank that may go; where none may, a finding says why."""
    choice = choose_victim(due, observation, state, draft.config, draft.now)
    draft.findings.extend(choice.findings)
    if choice.eviction is None:
        return draft.close(state)
    return _evicting(draft, state, observation, (choice.eviction,))


def _evicting(draft: Draft, state: State, observation: Observation, evictions: tuple[EvictPod, ...]) -> Step:
    draft.decisions.extend(evictions)
    seen = {} if observation.node is None else signal_observations(observation.node)
    layout = layout_of(state.disks)
    available = available_supplies(seen, layout)
    victims = tuple(victim_of(each, observation, available, layout, draft.now, holdings={}) for each in evictions)
    in_flight = (*state.in_flight, *victims)
    return draft.close(
        replace(state, in_flight=in_flight, phase=CleaningUp(until=max(victim.until for victim in in_flight)))
    )
