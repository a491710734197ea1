"""Which pod goes, if any?

The end of the kubelet's `synchronize` (steps 18 to 21 of spec 4.2): go through the ranking, pass over whoever is protected,
take the first. Policy Standard stops where a protected pod is the cause and all the others could not make up for it.
"""

from dataclasses import dataclass

from evictd.core.config import EvictionConfig, Policy
from evictd.core.decision import EvictPod, Finding, RankedPod, Ranking, Silence, Silent, Spared
from evictd.core.evict import evict_for_pressure, is_protected
from evictd.core.observation import Observation, SignalObservation, signal_observations
from evictd.core.pod import Pod
from evictd.core.quantity import NANO, Quantity
from evictd.core.rank import rank
from evictd.core.reclaim import Layout, layout_of
from evictd.core.signal import RESOURCE_TO_FORMAT, SIGNAL_TO_RESOURCE
from evictd.core.threshold import Threshold, limit_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """The victim, if there is one, its usage in the signal's unit, and how it came to that."""

    eviction: EvictPod | None
    usage: int | None = None
    findings: tuple[Finding, ...] = ()


def choose_victim(
    due: tuple[Threshold, ...],
    observation: Observation,
    layout: Layout,
    config: EvictionConfig,
    overdue: frozenset[str] = frozenset(),
) -> Choice:
    """Rank the active pods for the first threshold due and take the first that may go and is not already going."""
    threshold = due[0]
    if not observation.pods or observation.node is None:
        return Choice(eviction=None, findings=(Silent(why=Silence.NO_ACTIVE_PODS, threshold=threshold),))
    seen = signal_observations(observation.node)[threshold.signal]
    rows = rank(threshold.signal, observation.pods, observation.pod_stats, layout, config.policy)
    resource = SIGNAL_TO_RESOURCE[threshold.signal]
    findings: list[Finding] = [Ranking(signal=threshold.signal, resource=resource, rows=rows, due=due)]
    if config.policy is Policy.STANDARD and (stop := protected_culprit(rows, threshold, seen, config)) is not None:
        return Choice(eviction=None, findings=(*findings, stop))
    for row in rows:
        if is_protected(row.pod, config):
            findings.append(Spared(pod=row.pod))
        elif row.uid not in overdue:
            stats = observation.pod_stats.get(row.uid)
            eviction = evict_for_pressure(row, threshold, seen, stats, config)
            return Choice(eviction=eviction, usage=row.usage, findings=tuple(findings))
    findings.append(Silent(why=Silence.NOTHING_EVICTABLE, threshold=threshold))
    return Choice(eviction=None, findings=tuple(findings))


def protected_culprit(
    rows: tuple[RankedPod, ...], threshold: Threshold, seen: SignalObservation, config: EvictionConfig
) -> Silent | None:
    """Say whether evicting would be in vain: the largest user is protected, and all others together use too little.

    Where the usage of an unprotected pod is unknown nothing is concluded (kubernetes issues 39124, 53659).
    """
    reachable, culprit, most = 0, None, 0
    needed = limit_of(threshold, seen) - seen.available
    for row in rows:
        usage, pod = row.usage, row.pod
        protected = is_protected(pod, config)
        if usage is None:
            if not protected:
                return None
            continue
        if not protected:
            reachable += usage
        if usage > most:
            most, culprit = usage, pod if protected else None
        if reachable * NANO >= needed.nano:
            return None
    if culprit is None:
        return None
    form = RESOURCE_TO_FORMAT[SIGNAL_TO_RESOURCE[threshold.signal]]
    return Silent(
        why=Silence.PROTECTED_CULPRIT,
        threshold=threshold,
        pod=culprit,
        needed=needed,
        reachable=Quantity(reachable * NANO, form),
    )


def shortening(pod: Pod, threshold: Threshold, observation: Observation, config: EvictionConfig) -> EvictPod:
    """Make the decision to give a pod that is already going no more grace than this threshold would."""
    if observation.node is None:
        raise AssertionError("a threshold cannot be due without an observation")
    seen = signal_observations(observation.node)[threshold.signal]
    layout = layout_of(observation.filesystems)
    row = rank(threshold.signal, (pod,), observation.pod_stats, layout, config.policy)[0]
    eviction = evict_for_pressure(row, threshold, seen, observation.pod_stats.get(pod.uid), config)
    return EvictPod(
        pod=eviction.pod,
        grace_period_seconds=eviction.grace_period_seconds,
        message=eviction.message,
        because=eviction.because,
        annotations=eviction.annotations,
        condition=eviction.condition,
        shortens=True,
    )
