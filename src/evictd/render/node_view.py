"""The view of a node at one time: thresholds, the pods in the order of eviction for each signal, and notes.

It is made once, of a reading or of the daemon's last cycle; `explain`, `/statusz`, `/explainz` and the page show it.
Signals with the same ranking are put together: on a node with one filesystem, nodefs and containerfs have the same.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import field
from typing import NamedTuple

from evictd.codec.decision import encode_finding, encode_row
from evictd.codec.plain import Form
from evictd.core.eviction.accounts.ledger import is_asked_for
from evictd.core.eviction.next_up import NextUp, who_is_next
from evictd.core.frozen import frozen
from evictd.core.model.attribution import Attribution
from evictd.core.model.config import EvictionConfig
from evictd.core.model.finding import (
    Finding,
    NoAction,
    PodSkipped,
    ProtectedPodSkipped,
    RankedPod,
    Ranking,
    SignalUnobserved,
    SkipReason,
    ThresholdFinding,
)
from evictd.core.model.observation import Observation, Problem
from evictd.core.model.oom import MemoryQoSDifference, OomScoreDifference
from evictd.core.model.signal import Resource, Signal
from evictd.core.model.state import State
from evictd.core.units.duration import SECOND
from evictd.render.attribution import attribution_document
from evictd.render.contender import is_tie
from evictd.render.deciding import instead_of_others
from evictd.render.documents import API_VERSION, Document
from evictd.render.sentences import finding_text, goes_before, goes_last, passed_over_text, rivals
from evictd.render.text import protection


@frozen
class Queue:
    """The pods in the order of eviction, for one or more signals that agree on it; those being evicted are left out."""

    signals: tuple[Signal, ...]
    resource: Resource
    rows: tuple[RankedPod, ...]
    victim: RankedPod | None
    """The first pod that would go; `None` if none would."""
    not_of_pods: int | None = None
    """Used bytes that belong to no pod; `None` if unknown, or for another resource."""
    stop: NoAction | None = None
    """Why no pod would go."""
    held: Attribution | None = None
    """The holders of the supply that the signals observe, and who took it since it became short; `None`: unknown."""
    passed_over: Mapping[str, str] = field(default_factory=dict)
    """Why a pod that may be evicted would not go when it is its turn, by its uid."""
    skipped: Mapping[str, SkipReason] = field(default_factory=dict)
    """The reasons of these."""


@frozen
class NodeView:
    """A node at one time, as `/statusz`, `/explainz`, `explain` and the page show it."""

    title: str
    config: EvictionConfig
    observation: Observation
    state: State
    thresholds: tuple[ThresholdFinding, ...]
    unobserved: Mapping[Signal, bool]
    """The signals without a reading, and whether the node does not have what they observe."""
    answers: tuple[NextUp, ...]
    """The order of eviction for each signal."""
    queues: tuple[Queue, ...]
    """The order of eviction, with the signals that agree on it together."""
    notes: tuple[Finding, ...] = ()
    """Other findings, such as pods without statistics."""
    sources: Mapping[Signal, str] = field(default_factory=dict)
    oom_scores: tuple[OomScoreDifference, ...] = ()
    memory_qos: tuple[MemoryQoSDifference, ...] = ()
    wall: int | None = None
    """Time of the reading in nanoseconds since 1970; `None` in a scenario."""


def node_view(
    title: str,
    config: EvictionConfig,
    observation: Observation,
    state: State,
    findings: Iterable[Finding],
    *,
    now: int,
    sources: Mapping[Signal, str] | None = None,
    oom_scores: tuple[OomScoreDifference, ...] = (),
    memory_qos: tuple[MemoryQoSDifference, ...] = (),
    wall: int | None = None,
) -> NodeView:
    """Return the view of one reading; `state` and `findings` are the core's result at `now`, in nanoseconds."""
    found = tuple(findings)
    unobserved = {finding.signal: finding.absent for finding in found if isinstance(finding, SignalUnobserved)}
    answers = tuple(each for each in who_is_next(state, observation, config, now) if each.signal not in unobserved)
    # A pod that the API server is only asked for stays (law Consent).
    leaving = {
        each.uid
        for each in state.in_flight
        if each.gone_at is None and not is_asked_for(each, state, observation.outcomes, now)
    }
    return NodeView(
        title=title,
        config=config,
        observation=observation,
        state=state,
        thresholds=tuple(finding for finding in found if isinstance(finding, ThresholdFinding)),
        unobserved=unobserved,
        answers=answers,
        queues=_queues(answers, leaving),
        notes=tuple(
            finding
            for finding in found
            if not isinstance(finding, ThresholdFinding | SignalUnobserved | Ranking | Attribution)
        ),
        sources=sources or {},
        oom_scores=oom_scores,
        memory_qos=memory_qos,
        wall=wall,
    )


_POD = RankedPod._fields.index("pod")
"""The place in a row after the keys of a ranking."""


def _queues(answers: Iterable[NextUp], leaving: Collection[str]) -> tuple[Queue, ...]:
    """Group the signals that have the same ranking; pods that leave are left out."""
    queues: dict[tuple[object, ...], Queue] = {}
    for answer in answers:
        why = None if answer.stop is None else answer.stop.why
        key = (
            answer.resource,
            why,
            answer.victim and answer.victim.uid,
            *((*row[:_POD], row.stall) for row in answer.rows),
        )
        same, skips = queues.get(key), _skips(answer)
        queues[key] = Queue(
            signals=(*(() if same is None else same.signals), answer.signal),
            resource=answer.resource,
            rows=tuple(row for row in answer.rows if row.uid not in leaving),
            victim=answer.victim,
            not_of_pods=answer.not_of_pods if same is None else same.not_of_pods,
            stop=answer.stop if same is None else same.stop,
            held=answer.held if same is None else same.held,
            passed_over={each.pod.uid: passed_over_text(each) for each in skips},
            skipped={each.pod.uid: each.reason for each in skips},
        )
    return tuple(queues.values())


def _skips(answer: NextUp) -> list[PodSkipped]:
    """Return which pods are passed over; none where all are, because `NextUp.stop` says why."""
    skips = [each for each in answer.findings if isinstance(each, PodSkipped | ProtectedPodSkipped)]
    if answer.victim is None and len(skips) >= len(answer.rows):
        return []
    return [each for each in skips if isinstance(each, PodSkipped) and each.reason is not SkipReason.IN_FLIGHT]


class PlacedRow(NamedTuple):
    """A row of a ranking with the reason for its place."""

    row: RankedPod
    protected: str
    """Why the pod is never evicted; empty if it may be."""
    why: str
    """The key that sets it apart from the next pod that may be evicted, or all its keys."""
    tied: bool
    """Whether only its name sets it apart."""


def placed_rows(
    rows: Sequence[RankedPod], resource: Resource, config: EvictionConfig, most: int | None
) -> list[PlacedRow]:
    """Return the first rows of a ranking, all for `most` of `None`, with the reason for each place."""
    protections = [protection(row.pod, config) for row in rows]
    evictable = [row for row, protected in zip(rows, protections, strict=True) if not protected]
    before = evictable[-2] if len(evictable) > 1 else None  # of the last one that may be evicted
    return [
        PlacedRow(row, protected, goes_last(row, None if protected else before, resource), tied=False)
        if rival is None
        else PlacedRow(row, protected, goes_before(row, rival, resource), is_tie(row, rival))
        for row, rival, protected in zip(rows[:most], rivals(rows, protections), protections, strict=False)
    ]


# --- as a document --------------------------------------------------------------------------------------------------

_FORM = Form({})


def explanation_document(explained: NodeView, *, rows: int | None) -> Document:
    """Write an explanation as plain values; `rows` of `None` keeps every pod."""
    return {
        "apiVersion": API_VERSION,
        "kind": "Explanation",
        "title": explained.title,
        "policy": explained.config.policy.value,
        "conditions": [condition.value for condition in explained.state.node_conditions],
        "thresholds": [
            {**encode_finding(finding), "source": explained.sources.get(finding.threshold.signal)}
            for finding in explained.thresholds
        ],
        "unobserved": [signal.value for signal in explained.unobserved],
        "queues": [_queue(queue, explained, rows) for queue in explained.queues],
        "notes": [finding_text(note, explained.config) for note in explained.notes],
        "oomScoreDifferences": [_oom_score(difference) for difference in explained.oom_scores],
        "memoryQoSDifferences": [_FORM.encode(MemoryQoSDifference, each) for each in explained.memory_qos],
        "problems": [_FORM.encode(Problem, each) for each in explained.observation.problems],
    }


def _queue(queue: Queue, explained: NodeView, rows: int | None) -> Document:
    placed, ages = placed_rows(queue.rows, queue.resource, explained.config, rows), _usage_ages(queue, explained)
    return {
        "signals": [signal.value for signal in queue.signals],
        "resource": queue.resource.value,
        "next": None if queue.victim is None else queue.victim.pod.full_name,
        "nextWhy": _next_why(queue, placed, explained.config),
        "stop": None if queue.stop is None else finding_text(queue.stop, explained.config),
        "notOfPods": queue.not_of_pods,
        "attribution": attribution_document(queue.held, explained.wall),
        "pods": len(queue.rows),
        "rows": [
            {
                **encode_row(each.row),
                "owner": each.row.pod.owner,
                "protected": each.protected,
                "why": each.why,
                "passedOver": queue.passed_over.get(each.row.uid, ""),
                "usageAgeSeconds": ages.get(each.row.uid),
            }
            for each in placed
        ],
    }


def _usage_ages(queue: Queue, explained: NodeView) -> dict[str, float]:
    """Return by uid for how many seconds the usage of pods is old that were measured before, but not in this reading."""
    holdings = None if queue.held is None else explained.state.holdings.get(queue.held.signal)
    if holdings is None:
        return {}
    return {uid: round((holdings.at - at) / SECOND, 1) for uid, at in holdings.last_measured.items()}


def next_reasons(explained: NodeView) -> dict[Signal, str]:
    """Return for each signal why its next pod goes and no other one; empty where that is not known.

    Reasons are written up to that pod's place only: `/statusz` is read every few seconds, also with hundreds of pods.
    """
    found = {}
    for queue in explained.queues:
        place = next((n for n, row in enumerate(queue.rows, 1) if queue.victim and row.uid == queue.victim.uid), 0)
        placed = placed_rows(queue.rows, queue.resource, explained.config, place)
        found.update(dict.fromkeys(queue.signals, _next_why(queue, placed, explained.config)))
    return found


def _next_why(queue: Queue, placed: Iterable[PlacedRow], config: EvictionConfig) -> str:
    """Return why the next pod goes and no other one; empty where it was not measured, or only its name decides."""
    if queue.victim is None or queue.victim.usage is None:
        return ""
    own = next((each for each in placed if each.row.uid == queue.victim.uid), None)
    if passed := instead_of_others(queue.rows, queue.victim, queue.skipped, queue.resource):
        return f"{passed}; it {own.why}" if own is not None and own.tied else passed
    if queue.victim.deficit >= 0 and sum(not protection(row.pod, config) for row in queue.rows) == 1:
        return "it is the only pod that may be evicted"
    return "" if own is None or own.tied else own.why


def _oom_score(difference: OomScoreDifference) -> Document:
    return {
        "pod": difference.pod.full_name,
        "container": difference.container,
        "expected": difference.expected,
        "found": difference.found,
        "cgroup": difference.cgroup,
    }
