"""Who would go next for each signal? One view of one reading, for `explain`.

Signals whose rankings are the same are put together: on a node with one filesystem, nodefs and containerfs tell the same story.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from evictd.core.choose import protected_culprit
from evictd.core.config import EvictionConfig, Policy
from evictd.core.decision import Finding, RankedPod, Ranking, SignalUnobserved, Silent, ThresholdFinding
from evictd.core.evict import is_protected
from evictd.core.observation import Filesystems, Observation, SignalObservation
from evictd.core.oom import OomScoreDifference
from evictd.core.rank import rank
from evictd.core.reclaim import layout_of
from evictd.core.signal import SIGNAL_TO_RESOURCE, Resource, Signal
from evictd.core.state import State


@dataclass(frozen=True, slots=True, kw_only=True)
class Queue:
    """The pods in the order in which they would go, for one or more signals that agree on it."""

    signals: tuple[Signal, ...]
    resource: Resource
    thresholds: tuple[ThresholdFinding, ...]
    rows: tuple[RankedPod, ...]
    stop: Silent | None = None
    """Why nobody would go although somebody could: a protected culprit (policy Standard)."""

    def next_row(self, config: EvictionConfig) -> RankedPod | None:
        """Give the first one that may go; `None` if nobody would."""
        if self.stop is not None:
            return None
        return next((row for row in self.rows if not is_protected(row.pod, config)), None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """Everything `explain` tells about one reading."""

    title: str
    config: EvictionConfig
    observation: Observation
    state: State
    thresholds: tuple[ThresholdFinding, ...]
    unobserved: tuple[Signal, ...]
    queues: tuple[Queue, ...]
    notes: tuple[Finding, ...] = ()
    """What else was found, such as pods without stats."""
    sources: Mapping[Signal, str] = field(default_factory=dict)
    oom_scores: tuple[OomScoreDifference, ...] = ()


def explanation(
    title: str,
    config: EvictionConfig,
    observation: Observation,
    state: State,
    findings: Iterable[Finding],
    *,
    sources: Mapping[Signal, str] | None = None,
    oom_scores: tuple[OomScoreDifference, ...] = (),
) -> Explanation:
    """Put together what one reading says; `state` and `findings` are what the core left of it."""
    told = tuple(findings)
    thresholds = tuple(finding for finding in told if isinstance(finding, ThresholdFinding))
    return Explanation(
        title=title,
        config=config,
        observation=observation,
        state=state,
        thresholds=thresholds,
        unobserved=tuple(dict.fromkeys(finding.signal for finding in told if isinstance(finding, SignalUnobserved))),
        queues=_queues(thresholds, config, observation, state),
        notes=tuple(
            finding for finding in told if not isinstance(finding, ThresholdFinding | SignalUnobserved | Ranking)
        ),
        sources=sources or {},
        oom_scores=oom_scores,
    )


def _queues(
    thresholds: tuple[ThresholdFinding, ...], config: EvictionConfig, observation: Observation, state: State
) -> tuple[Queue, ...]:
    """Rank for every signal with a threshold; a pod that is already on its way out cannot be next."""
    leaving = {release.uid for release in state.releases if release.gone_at is None}
    pods = tuple(pod for pod in observation.pods if pod.uid not in leaving)
    layout = layout_of(state.filesystems or Filesystems())
    queues: list[Queue] = []
    for signal in dict.fromkeys(finding.threshold.signal for finding in thresholds):
        rows = rank(signal, pods, observation.pod_stats, layout, config.policy)
        own = tuple(finding for finding in thresholds if finding.threshold.signal is signal)
        queue = Queue(
            signals=(signal,),
            resource=SIGNAL_TO_RESOURCE[signal],
            thresholds=own,
            rows=rows,
            stop=_stop(own, rows, config),
        )
        same = next((i for i, q in enumerate(queues) if _agree(q, queue)), None)
        if same is None:
            queues.append(queue)
        else:
            queues[same] = _joined(queues[same], queue)
    return tuple(queues)


def _stop(findings: tuple[ThresholdFinding, ...], rows: tuple[RankedPod, ...], config: EvictionConfig) -> Silent | None:
    if config.policy is not Policy.STANDARD:
        return None
    for finding in findings:
        if finding.met:
            seen = SignalObservation(available=finding.available, capacity=finding.capacity)
            if (stop := protected_culprit(rows, finding.threshold, seen, config)) is not None:
                return stop
    return None


def _agree(first: Queue, second: Queue) -> bool:
    same_end = (first.stop is None) == (second.stop is None)
    return first.resource is second.resource and first.rows == second.rows and same_end


def _joined(first: Queue, second: Queue) -> Queue:
    return Queue(
        signals=(*first.signals, *second.signals),
        resource=first.resource,
        thresholds=(*first.thresholds, *second.thresholds),
        rows=first.rows,
        stop=first.stop,
    )
