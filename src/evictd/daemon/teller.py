"""Who tells people and machines what happens? Log lines, counters, and the list of the last decisions.

Everything here only speaks; nothing decides or does anything.
"""

from collections import deque
from collections.abc import Callable, Iterable
from typing import Any

from evictd.act.perform import Failure, Refusal
from evictd.core.decision import (
    Decision,
    EvictionReason,
    EvictPod,
    Finding,
    Ranking,
    ReclaimNode,
    RecordEvent,
    Silence,
    Silent,
    Wait,
)
from evictd.core.duration import SECOND
from evictd.core.observation import Observation, Problem, signal_observations
from evictd.core.oom import OomScoreDifference
from evictd.core.state import Reclaiming, State
from evictd.daemon.findings_log import Topics, changes, topics
from evictd.daemon.hands import NodeHands
from evictd.daemon.metrics import Metrics
from evictd.daemon.narrate import kind_of, narrate
from evictd.daemon.snapshot import Decided

_REMEMBERED = 50


class Teller:
    """Speaks to the log and the metrics. `wall` gives the wall clock in nanoseconds."""

    def __init__(self, log: Any, metrics: Metrics, wall: Callable[[], int]) -> None:
        self.dry_run = False
        self._log = log
        self._metrics = metrics
        self._wall = wall
        self._topics: Topics = {}
        self._recent: deque[Decided] = deque(maxlen=_REMEMBERED)

    def recent(self) -> tuple[Decided, ...]:
        """Give the last decisions, newest last."""
        return tuple(self._recent)

    def complain(self, source: str, detail: str) -> None:
        """Tell and count something that went wrong; safe from any thread."""
        self._metrics.error(source)
        self._log.warning("went wrong", source=source, detail=detail)

    def decision(self, decision: Decision) -> None:
        """Tell what is decided, or in a dry run what would be."""
        text = ("would " if self.dry_run else "") + narrate(decision)
        if isinstance(decision, Wait | RecordEvent):
            return  # an event is told when it is recorded
        self._recent.append(Decided(wall=self._wall(), kind=kind_of(decision), text=text))
        level = "warning" if isinstance(decision, EvictPod) else "info"
        fields = {"pod": decision.pod.full_name, "uid": decision.pod.uid} if isinstance(decision, EvictPod) else {}
        self._log.log(_LEVELS[level], text, decision=kind_of(decision), **fields)

    def event(self, event: RecordEvent) -> None:
        """Tell an event on the node."""
        speak = self._log.warning if event.type == "Warning" else self._log.info
        speak(event.message, event_reason=event.reason)

    def findings(self, findings: Iterable[Finding], problems: Iterable[Problem]) -> None:
        """Log what began and what ended since the last cycle."""
        # A dry run waits for nobody: that its steps do not follow from each other is nothing to tell.
        told = [f for f in findings if not (self.dry_run and isinstance(f, Silent) and f.why in _WAITING)]
        now = topics(told, problems)
        for line in changes(self._topics, now):
            self._log.log(_LEVELS[line.level], line.event, **line.fields)
        for key in now.keys() - self._topics.keys():
            if key[0] == "problem":
                self._metrics.error(key[1])
        self._topics = now

    def failures(self, failures: Iterable[Failure]) -> None:
        """Tell what could not be done."""
        for failure in failures:
            self.complain("perform", f"{narrate(failure.decision)}: {failure.error}")

    def actions(self, done: Iterable[Decision], *, since: int, acted: int) -> None:
        """Note how long after the crossing was noticed it was acted on."""
        for decision in done:
            if isinstance(decision, ReclaimNode):
                self._metrics.reaction("reclaim", acted - since)
            elif isinstance(decision, EvictPod) and not decision.shortens and _for_pressure(decision):
                self._metrics.reaction("evict", acted - since)

    def evicted(self, evictions: Iterable[EvictPod]) -> None:
        """Count the evictions that are sure."""
        for eviction in evictions:
            self._metrics.evicted(eviction.because)

    def refusals(self, refusals: Iterable[Refusal]) -> None:
        """Tell who stays, and on whose word."""
        for refusal in refusals:
            pod = refusal.pod
            self._log.info("pod stays: a disruption budget", pod=pod.full_name, uid=pod.uid, detail=refusal.detail)

    def outcomes(self, before: State, after: State, hands: NodeHands) -> None:
        """Tell what became of collectors and victims."""
        if isinstance(before.phase, Reclaiming) and not isinstance(after.phase, Reclaiming):
            outcomes = hands.reclaimed()
            self._metrics.reclaimed(outcomes)
            for outcome in outcomes:
                self._log.info(
                    "collected", what=outcome.action.value, removed=outcome.removed, freed_bytes=outcome.freed_bytes
                )
                if outcome.error:
                    self.complain(f"collect {outcome.action.value}", outcome.error)
        for termination in hands.finished(before, after):
            took = None if termination.finished_at is None else termination.finished_at - termination.started_at
            self._log.info(
                "pod is gone" if took is not None else "pod is still there",
                uid=termination.uid,
                seconds=None if took is None else round(took / SECOND, 3),
            )
            for error in termination.errors:
                self.complain("terminate", error)

    def stats_age(self, findings: Iterable[Finding], observation: Observation, acted: int) -> None:
        """Note how old the numbers were on which somebody was ranked (kubelet: observed at each ranking)."""
        seen = {} if observation.node is None else signal_observations(observation.node)
        for finding in findings:
            if isinstance(finding, Ranking):
                for threshold in finding.due:
                    at = seen[threshold.signal].time if threshold.signal in seen else None
                    if at:
                        self._metrics.stats_age(threshold.signal, max(0, acted - at))

    def oom_score(self, difference: OomScoreDifference) -> None:
        """Tell a container's OOM score that is put right, or in a dry run would be."""
        self._log.info(
            ("would set" if self.dry_run else "set") + " oom_score_adj as documented",
            pod=difference.pod.full_name,
            container=difference.container,
            was=difference.found,
            documented=difference.expected,
        )

    def cycle(self, cause: str, nanoseconds: int) -> None:
        """Count a cycle."""
        self._metrics.woken(cause)
        self._metrics.cycle(nanoseconds)


def _for_pressure(decision: EvictPod) -> bool:
    return decision.because.reason is EvictionReason.PRESSURE


_LEVELS = {"info": 20, "warning": 30}
_WAITING = {Silence.WAITING_FOR_RELEASE, Silence.WAITING_FOR_VICTIM, Silence.RECLAIM_SUFFICED}
