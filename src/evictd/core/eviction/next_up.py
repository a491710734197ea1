"""Determines which pod would be evicted next for each signal, for the status page, `explain` and `status`.

The only answer to that question: it goes through the same ranking and the same reasons to skip a pod as an eviction does, so that
what is shown is what would happen.
"""

from collections.abc import Collection, Mapping
from dataclasses import replace

from evictd.core.eviction.accounts.holdings import owed_by_ended
from evictd.core.eviction.accounts.ledger import supply_of
from evictd.core.eviction.assess import configured_thresholds
from evictd.core.eviction.choice.choose import choose_victim, ranked
from evictd.core.eviction.choice.chooser import Choice, why_no_pod
from evictd.core.eviction.choice.shorten import worth_shortening
from evictd.core.eviction.page_cache import not_short_of_memory, pages_then, with_file_pages
from evictd.core.eviction.rank import RANKED_PARTS, Part
from evictd.core.eviction.reclaim import Layout, device_of, layout_of, node_reclaim_actions
from evictd.core.eviction.synchronize import may_only_report, with_own_pods
from evictd.core.eviction.time_left import missing_to_target
from evictd.core.frozen import frozen
from evictd.core.model.attribution import Attribution
from evictd.core.model.config import EvictionConfig, Policy
from evictd.core.model.finding import (
    Finding,
    NoAction,
    NoActionReason,
    PodSkipped,
    RankedPod,
    Ranking,
    SkipReason,
)
from evictd.core.model.observation import Observation, SignalObservation, signal_observations
from evictd.core.model.signal import DISKS, SIGNALS, Resource, Signal
from evictd.core.model.state import State
from evictd.core.model.threshold import Operator, Threshold, is_met


@frozen
class NextUp:
    """The answer for one signal."""

    signal: Signal
    resource: Resource
    rows: tuple[RankedPod, ...]
    """All active pods in rank order, protected ones and those being evicted included."""
    victim: RankedPod | None
    """The pod that would go if the signal's threshold were acted on now; `None` if none would."""
    grace_period_seconds: int = 0
    """The grace period that the eviction of that pod would have."""
    measured: bool = True
    """Whether everything that counts of the victim was measured. On a calm disk logs and volumes are not walked."""
    not_of_pods: int | None = None
    """Used bytes or inodes of the filesystem that belong to no active pod: images, host files, dead containers. `None` for other
    signals, and where a pod was not measured."""
    held: Attribution | None = None
    """The holders of the supply that the signal observes; `None` for a stall and under policy Kubelet."""
    reclaims_first: bool = False
    """Whether evictd removes what no pod needs before the pod goes; `False` where it already did in this shortage."""
    waits_for_pages: int | None = None
    """The clean file pages for which a soft threshold that is not met would wait when it is; `None` if it would act."""
    leaves_first: tuple[str, ...] = ()
    """Full names of pods that another component has deleted, and whose grace periods evictd shortens before the pod goes; none
    where they hold less than is missing."""
    findings: tuple[Finding, ...] = ()
    """Findings that say which pods are passed over and why, and why no pod would go."""

    @property
    def stop(self) -> NoAction | None:
        """Why no pod would go, if none would."""
        return next((finding for finding in self.findings if isinstance(finding, NoAction)), None)


def who_is_next(state: State, observation: Observation, config: EvictionConfig, now: int) -> tuple[NextUp, ...]:
    """Rank the active pods for every observed signal with a threshold, in configuration order.

    `state` is the one that the last cycle left, `now` its time in nanoseconds (back-offs end by it).
    """
    if observation.node is None:
        return ()
    # A disk that is far from its thresholds is not followed; the growth of its last shortage, maybe of a victim, is of no use.
    state = replace(state, holdings={supply: held for supply, held in state.holdings.items() if held.at >= now})
    seen = signal_observations(observation.node)
    by_signal: dict[Signal, list[Threshold]] = {}
    for threshold in configured_thresholds(config, state.disks):
        if threshold.operator is Operator.LESS_THAN and threshold.signal in seen:
            by_signal.setdefault(threshold.signal, []).append(threshold)
    return tuple(
        replace(
            _next_up(_most_urgent(thresholds, seen), state, observation, config, now),
            waits_for_pages=_pages_then(thresholds, seen, observation, config),
        )
        for thresholds in by_signal.values()
    )


def first_to_go(
    threshold: Threshold, state: State, observation: Observation, config: EvictionConfig, now: int
) -> RankedPod | None:
    """Return the pod that a threshold which is not configured would evict first; `None` where none would go."""
    found = next_at(threshold, state, observation, config, now)
    return None if found is None else found.victim


def next_at(
    threshold: Threshold, state: State, observation: Observation, config: EvictionConfig, now: int
) -> NextUp | None:
    """Return the answer for one threshold as if there were no other; `None` where its signal is not observed."""
    found = who_is_next(state, observation, replace(config, thresholds=(threshold,)), now)
    return next((each for each in found if each.signal is threshold.signal), None)


def _pages_then(
    thresholds: list[Threshold],
    seen: Mapping[Signal, SignalObservation],
    observation: Observation,
    config: EvictionConfig,
) -> int | None:
    found = (pages_then(each, observation, seen[each.signal], config) for each in thresholds)
    return next((pages for pages in found if pages), None)


def _most_urgent(thresholds: list[Threshold], seen: Mapping[Signal, SignalObservation]) -> Threshold:
    """Return the hard threshold if it is met, else a soft one that is met, else the hard one."""
    return min(thresholds, key=lambda each: (not is_met(each, seen[each.signal]), not each.hard))


def _next_up(threshold: Threshold, state: State, observation: Observation, config: EvictionConfig, now: int) -> NextUp:
    """Return the pod that would go if this threshold were due now, or why none would; and what comes before that eviction."""
    layout = layout_of(state.disks)
    if may_only_report(observation, config):
        choice = Choice(
            eviction=None, findings=(NoAction(why=NoActionReason.API_PODS_STANDALONE, threshold=threshold),)
        )
    elif (waits := _page_cache(threshold, observation, config)) is not None:
        choice = Choice(eviction=None, findings=(waits,))
    else:
        choice = choose_victim((threshold,), observation, state, with_own_pods(config, observation), now)
    rows = next((finding.rows for finding in choice.findings if isinstance(finding, Ranking)), None)
    if rows is None:
        rows = ranked(threshold.signal, observation, layout, config, state, now=now)
    victim = None if choice.eviction is None else next(row for row in rows if row.uid == choice.eviction.pod.uid)
    findings = tuple(finding for finding in choice.findings if not isinstance(finding, Ranking | Attribution))
    unmeasured = {row.uid for row in rows if not _measured(row, threshold.signal, observation, layout)}
    return NextUp(
        signal=threshold.signal,
        resource=SIGNALS[threshold.signal].resource,
        rows=tuple(with_file_pages(row, threshold.signal, observation.pod_stats) for row in rows),
        victim=victim,
        grace_period_seconds=0 if choice.eviction is None else choice.eviction.grace_period_seconds,
        measured=victim is not None and victim.uid not in unmeasured,
        not_of_pods=None if unmeasured else _not_of_pods(threshold.signal, rows, observation, state, now=now),
        held=next((finding for finding in choice.findings if isinstance(finding, Attribution)), None),
        reclaims_first=bool(node_reclaim_actions(threshold.signal, layout, config))
        and device_of(threshold.signal, layout) not in state.collections,
        leaves_first=_leaves_first(threshold, state, observation, config, layout=layout),
        findings=_with_unmeasured(findings, unmeasured),
    )


def _with_unmeasured(findings: tuple[Finding, ...], unmeasured: Collection[str]) -> tuple[Finding, ...]:
    """Return the findings with the pods that use nothing as far as they were measured, and were not wholly, as not measured.

    An eviction for a disk waits until the pods are walked, so it has no such finding.
    """
    found = tuple(
        replace(each, reason=SkipReason.NOT_MEASURED)
        if isinstance(each, PodSkipped) and each.reason is SkipReason.USES_NOTHING and each.pod.uid in unmeasured
        else each
        for each in findings
    )
    why = why_no_pod(each for each in found if isinstance(each, PodSkipped))
    return tuple(
        replace(each, why=why) if isinstance(each, NoAction) and each.why is NoActionReason.NOTHING_HELPS else each
        for each in found
    )


def _leaves_first(
    threshold: Threshold, state: State, observation: Observation, config: EvictionConfig, *, layout: Layout
) -> tuple[str, ...]:
    """Return the leaving pods that a hard threshold shortens before another pod goes, if they hold what is missing then."""
    if not threshold.hard or config.policy is Policy.KUBELET or observation.node is None or not state.leaving:
        return ()
    supply = supply_of(threshold.signal, layout)
    missing = max(missing_to_target(threshold, signal_observations(observation.node)[threshold.signal], config), 1)
    guarded = {pod.uid for pod in observation.pods if pod.critical or config.protects(pod)}
    may = [victim for victim in state.leaving if victim.can_shorten(0) and victim.uid not in guarded]
    found = worth_shortening(may, state.leaving, supply, missing)
    enough = sum(victim.owed.get(supply, 0) for victim in found) >= missing
    return tuple(victim.full_name for victim in found) if enough else ()


def _page_cache(threshold: Threshold, observation: Observation, config: EvictionConfig) -> NoAction | None:
    """Return why a threshold that is met waits, because only page cache holds it met."""
    seen = None if observation.node is None else signal_observations(observation.node)[threshold.signal]
    if config.policy is Policy.KUBELET or seen is None or not is_met(threshold, seen):
        return None
    return not_short_of_memory(threshold, observation, seen, config)


def _not_of_pods(
    signal: Signal,
    rows: tuple[RankedPod, ...],
    observation: Observation,
    state: State,
    *,
    now: int,
) -> int | None:
    if SIGNALS[signal].resource not in DISKS or observation.node is None:
        return None
    if observation.pods_unknown:
        return None
    seen = signal_observations(observation.node)[signal]
    owed = owed_by_ended(state.in_flight, observation, supply_of(signal, layout_of(state.disks)), seen, now)
    of_pods = sum(row.usage or 0 for row in rows) + sum(owed.values())
    return max(0, (seen.capacity - seen.available).value() - of_pods)


def _measured(row: RankedPod, signal: Signal, observation: Observation, layout: Layout) -> bool:
    """Whether all parts of a pod that count for the signal were measured, and not only its layers.

    The runtime reports writable layers also while no folder is walked, so a pod that was not walked seems to use next to nothing.
    """
    stats, filesystem = observation.pod_stats.get(row.uid), SIGNALS[signal].filesystem
    if filesystem is None:
        return row.usage is not None  # maybe what the pod was known to hold before: only a disk is read in parts
    if row.usage is None or stats is None or stats.disk_at_least:
        return False
    if not RANKED_PARTS[layout][filesystem] - {Part.ROOTFS}:
        return True
    walked = any(container.logs is not None for container in stats.containers) or bool(stats.volumes)
    return stats.disk_time is not None or walked
