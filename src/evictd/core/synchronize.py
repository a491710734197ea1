"""The one place where evictd decides.

    synchronize(state, observation, config, now) -> Step(state, decisions, findings)

Rules of this file: plain values in and out; `now` is the only time; conditions are reported before the first kill; at most one
pod goes for pressure in a call; a protected pod never goes; every call ends in one `Wait`. It answers to the kubelet's
`managerImpl.synchronize` and `Start` (spec section 4).
"""

from dataclasses import replace

from evictd.core.assess import Assessment, NothingKnown, assess, configured_thresholds
from evictd.core.choose import choose_victim, shortening
from evictd.core.config import EvictionConfig, Policy
from evictd.core.decision import EvictPod, RecordEvent, ReportConditions, Silence, Silent
from evictd.core.draft import Draft
from evictd.core.localstorage import local_storage_evictions
from evictd.core.observation import Filesystems, Observation, signal_observations
from evictd.core.reclaim import layout_of, node_reclaim_actions, reclaim_node
from evictd.core.release import (
    RECLAIM_TIMEOUT,
    collected,
    follow,
    in_flight,
    release_of_reclaim,
    release_of_victim,
    shortened,
    still_due,
)
from evictd.core.signal import SIGNAL_TO_RESOURCE
from evictd.core.state import CleaningUp, Reclaiming, Release, State, Step, Watching
from evictd.core.threshold import Threshold, thresholds_met

WARNING = "Warning"
EVICTION_THRESHOLD_MET = "EvictionThresholdMet"


def synchronize(state: State, observation: Observation, config: EvictionConfig, now: int) -> Step:
    """Decide what to do about this reading; the whole of a cycle, or the part of one that follows a reclaim.

    Pure: the same arguments always give the same step. Raises nothing but on a programmer's error.
    """
    draft = Draft(config=config, now=now)
    if not config.thresholds and not config.local_storage_capacity_isolation:
        return draft.close(state)
    if config.policy is Policy.KUBELET:
        if isinstance(state.phase, CleaningUp) and _stands_still(state, observation, now):
            draft.findings.append(Silent(why=Silence.WAITING_FOR_VICTIM))
            return draft.close(state)
        if isinstance(state.phase, Reclaiming):
            return _after_reclaim_as_kubelet(draft, state, state.phase, observation)
        state = replace(state, phase=Watching(), releases=())
    assessment = assess(state, observation, config, now)
    draft.findings.extend(assessment.findings)
    if isinstance(assessment, NothingKnown):
        return draft.close(assessment.state)
    return _cycle(draft, state, observation, assessment)


def _stands_still(state: State, observation: Observation, now: int) -> bool:
    """Whether the kubelet's loop is still waiting for its last victims to be cleaned up, and does nothing else."""
    return any(release.uid not in observation.outcomes.cleaned_up and now < release.until for release in state.releases)


def _cycle(draft: Draft, before: State, observation: Observation, assessment: Assessment) -> Step:
    config, now = draft.config, draft.now
    state = _report_conditions(draft, before, assessment.state)
    state, reclaimed = _end_of_reclaim(state, observation, now)
    state = replace(state, releases=follow(state.releases, observation, assessment.observations, now))
    if config.local_storage_capacity_isolation:
        evictions = _limit_evictions(draft, state, observation, assessment.filesystems)
        if evictions:
            return _evicting(draft, state, [(e, release_of_victim(e, {}, None, now)) for e in evictions])
    if assessment.due:
        return _act(draft, state, observation, assessment, reclaimed=reclaimed)
    if reclaimed:
        draft.findings.append(Silent(why=Silence.RECLAIM_SUFFICED))
    return draft.close(_resting(state, now))


def _report_conditions(draft: Draft, before: State, state: State) -> State:
    """Say which conditions the node has, when that has changed or was never said."""
    if before.reported and before.node_conditions == state.node_conditions:
        return state
    draft.decisions.append(ReportConditions(conditions=state.node_conditions))
    return replace(state, reported=True)


def _end_of_reclaim(state: State, observation: Observation, now: int) -> tuple[State, bool]:
    """Note when the collectors have ended or had their time, and what they freed (policy Standard)."""
    phase, outcomes = state.phase, observation.outcomes.reclaimed
    if not isinstance(phase, Reclaiming) or (outcomes is None and now < phase.until):
        return state, False
    seen = None if phase.before.node is None else signal_observations(phase.before.node).get(phase.threshold.signal)
    release = release_of_reclaim(phase.threshold, seen, outcomes or (), now)
    return replace(state, phase=Watching(), releases=(*collected(state.releases), release)), True


def _limit_evictions(
    draft: Draft, state: State, observation: Observation, filesystems: Filesystems
) -> tuple[EvictPod, ...]:
    """Evict every pod over a limit of its own, but those already on their way."""
    leaving = {release.uid for release in state.releases if release.gone_at is None}
    dedicated = bool(filesystems.dedicated_image_fs)
    found = local_storage_evictions(observation, draft.config, dedicated_image_fs=dedicated)
    return tuple(eviction for eviction in found if eviction.pod.uid not in leaving)


def _resting(state: State, now: int) -> State:
    """Nothing is to be done: watch, unless victims are still leaving or collectors still at work."""
    if isinstance(state.phase, Reclaiming):
        return state
    leaving = in_flight(state.releases, now)
    return replace(state, phase=CleaningUp(until=max(r.until for r in leaving)) if leaving else Watching())


def _act(draft: Draft, state: State, observation: Observation, assessment: Assessment, *, reclaimed: bool) -> Step:
    """Do something about the first threshold that is due: wait for what is under way, collect, or evict."""
    threshold = assessment.due[0]
    leaving = in_flight(state.releases, draft.now)
    if leaving:
        return _wait_for_victims(draft, state, observation, threshold, leaving)
    actions = node_reclaim_actions(threshold.signal, layout_of(assessment.filesystems), draft.config)
    if actions and isinstance(state.phase, Reclaiming):
        draft.findings.append(_waiting_for_release(threshold, "the collectors"))
        return draft.close(state)
    pending = still_due(state.releases, threshold)
    if pending and (not actions or all(release.collected for release in pending)):
        draft.findings.append(_waiting_for_release(threshold, ", ".join(release.full_name for release in pending)))
        return draft.close(_resting(state, draft.now))
    if not reclaimed:
        resource = SIGNAL_TO_RESOURCE[threshold.signal]
        message = f"Attempting to reclaim {resource.value}"
        draft.decisions.append(RecordEvent(type=WARNING, reason=EVICTION_THRESHOLD_MET, message=message))
        if actions:
            seen = assessment.observations[threshold.signal]
            draft.decisions.append(reclaim_node(actions, threshold, seen, draft.config))
            until = draft.now + RECLAIM_TIMEOUT
            phase = Reclaiming(threshold=threshold, due=assessment.due, before=observation, until=until)
            return draft.close(replace(state, phase=phase))
    return _evict(draft, state, observation, assessment.due, assessment.filesystems)


def _waiting_for_release(threshold: Threshold, detail: str) -> Silent:
    return Silent(why=Silence.WAITING_FOR_RELEASE, threshold=threshold, detail=detail)


def _wait_for_victims(
    draft: Draft, state: State, observation: Observation, threshold: Threshold, leaving: tuple[Release, ...]
) -> Step:
    """Nobody else goes before these are gone; a hard threshold cuts their grace short (kubernetes issue 123872)."""
    pods = {pod.uid: pod for pod in observation.pods}
    names = ", ".join(release.full_name for release in leaving)
    draft.findings.append(
        Silent(why=Silence.WAITING_FOR_VICTIM, threshold=threshold, pod=pods.get(leaving[0].uid), detail=names)
    )
    releases = shortened(state.releases, draft.now) if threshold.hard else state.releases
    for old, new in zip(state.releases, releases, strict=True):
        if new is not old and new.uid in pods:
            draft.decisions.append(shortening(pods[new.uid], threshold, observation, draft.config))
    until = max(release.until for release in in_flight(releases, draft.now))
    return draft.close(replace(state, releases=releases, phase=CleaningUp(until=until)))


def _after_reclaim_as_kubelet(draft: Draft, state: State, phase: Reclaiming, observation: Observation) -> Step:
    """Test every configured threshold again, with its minimum reclaim and whatever its grace; evict on the old numbers.

    Kubelet `reclaimNodeLevelResources`: a soft or unrelated threshold still short costs a pod (spec 14, point 17).
    """
    if observation.outcomes.reclaimed is None:
        return draft.close(state)
    filesystems = state.filesystems or Filesystems()
    resting = replace(state, phase=Watching())
    thresholds = configured_thresholds(draft.config, filesystems)
    if observation.node is not None and not thresholds_met(
        thresholds, signal_observations(observation.node), with_min_reclaim=True
    ):
        draft.findings.append(Silent(why=Silence.RECLAIM_SUFFICED, threshold=phase.threshold))
        return draft.close(resting)
    return _evict(draft, resting, phase.before, phase.due, filesystems)


def _evict(
    draft: Draft, state: State, observation: Observation, due: tuple[Threshold, ...], filesystems: Filesystems
) -> Step:
    """Choose one pod by rank and send it on its way."""
    overdue = frozenset(release.uid for release in state.releases if release.gone_at is None)
    choice = choose_victim(due, observation, layout_of(filesystems), draft.config, overdue)
    draft.findings.extend(choice.findings)
    if choice.eviction is None:
        return draft.close(_resting(replace(state, phase=Watching()), draft.now))
    seen = signal_observations(observation.node) if observation.node is not None else {}
    release = release_of_victim(choice.eviction, seen, choice.usage, draft.now)
    return _evicting(draft, state, [(choice.eviction, release)])


def _evicting(draft: Draft, state: State, victims: list[tuple[EvictPod, Release]]) -> Step:
    draft.decisions.extend(eviction for eviction, _ in victims)
    releases = (*state.releases, *(release for _, release in victims))
    until = max(release.until for release in releases)
    return draft.close(replace(state, releases=releases, phase=CleaningUp(until=until)))
