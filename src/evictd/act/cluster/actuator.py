"""Carries decisions out on a node of a cluster.

Conditions, taints and events go to the API server, and pods are evicted as `act.cluster` does it; collectors work as on any
node. The kubelet removes the volumes of its pods; where none reports, evictd does.
"""

from collections.abc import Collection, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from evictd.act.actuator import Progress
from evictd.act.node_actuation import NodeActuation, grace_left, victims_of
from evictd.core.gc.container_gc import PodLifecycles, with_api_pods
from evictd.core.model.decision import (
    Decision,
    EvictionCause,
    EvictionReason,
    EvictPod,
    ReclaimNode,
    RecordEvent,
    Wait,
    WithdrawEviction,
)
from evictd.core.model.observation import EvictionAnswer, EvictionAnswerKind, Outcomes, Problem
from evictd.core.model.pod import Pod
from evictd.core.model.signal import NodeCondition
from evictd.core.model.state import State, Victim
from evictd.observe.reading.reading import Reading

if TYPE_CHECKING:  # importing it loads the API's client
    from evictd.act.cluster.wiring import Cluster


class ClusterActuator:
    """The `Actuator` of a node with an API server; `cluster` was started by its owner, and is closed by it."""

    def __init__(self, node: NodeActuation, cluster: "Cluster") -> None:
        self._node = node
        self._cluster = cluster
        self._previous: dict[str, Victim] | None = None
        """Victims of the previous run for which something is left to do, by uid; `None` before the runtime's first listing."""
        self._resumed: set[str] = set()
        """Uids of the victims of the previous run whose stop was resumed."""

    # --- queries ---------------------------------------------------------------------------------------------------

    def outcomes(self, state: State) -> Outcomes:
        """Return the outcomes of the decisions. Where evictd removes volumes, a victim is gone once that was tried."""
        outcomes = self._node.outcomes(state)
        stopped = outcomes.stopped
        cleaned = frozenset(uid for uid in stopped if not self._removes_volumes() or self._node.cleanup.done(uid))
        return replace(
            outcomes,
            cleaned_up=(self._cluster.evictor.cleaned_up() - stopped) | cleaned,
            unanswered=self._cluster.evictor.unanswered() | self._unanswered_of_the_previous_run(state),
            answers=(*self._cluster.evictor.answers(), *self._answers_of_the_previous_run()),
        )

    def _unanswered_of_the_previous_run(self, state: State) -> frozenset[str]:
        """Return the victims of the previous run that nothing is known of yet: their deadline makes no other pod go.

        Before the first listing of the runtime these are all that need an answer.
        """
        previous = state.in_flight if self._previous is None else self._previous.values()
        open_ones = (victim for victim in previous if not _needs_no_answer(victim) and not victim.counted)
        own = self._cluster.evictor.in_flight()

        def known(victim: Victim) -> bool:
            return self._previous is not None and self._agreed(victim) is not None

        return frozenset(each.uid for each in open_ones if each.uid not in own and not known(each))

    def _answers_of_the_previous_run(self) -> Iterator[EvictionAnswer]:
        """Yield the API server's answers about the evictions of the previous run, as far as the pods' objects show them."""
        for victim in (self._previous or {}).values():
            agreed = None if _needs_no_answer(victim) else self._agreed(victim)
            if agreed is not None:
                kind = EvictionAnswerKind.AGREED if agreed else EvictionAnswerKind.NOT_ASKED
                yield EvictionAnswer(uid=victim.uid, kind=kind, at=victim.since)

    def problems(self) -> tuple[Problem, ...]:
        """Return a problem for each decision that was not performed so far, or that the API server refused."""
        return (*self._node.problems(), *self._cluster.problems())

    # --- performing ------------------------------------------------------------------------------------------------

    def announce(self, decision: Decision) -> bool:
        """Log a decision; each is news."""
        self._node.log.decision(decision)
        return not isinstance(decision, Wait)

    def report_conditions(self, conditions: tuple[NodeCondition, ...], reading: Reading) -> None:
        """Report to the API server, and record the events of what changed."""
        for event in self._cluster.reporter.report(conditions, reading.now):
            self.record_event(event, reading)

    def record_event(self, event: RecordEvent, reading: Reading) -> None:
        """Record an event on the node, and log it."""
        self._cluster.events.record(event, reading.now)
        self._node.log.event(event)

    def begin_reclaim(self, decision: ReclaimNode, reading: Reading) -> None:
        """Begin to collect."""
        self._node.begin_reclaim(decision, reading, self._lifecycles(reading))

    def begin_eviction(self, decision: EvictPod, reading: Reading) -> None:
        """Evict the pod by the method that the cluster's evictor chooses."""
        if self._previous is not None:
            self._previous.pop(decision.pod.uid, None)  # this run evicts it itself
        self._node.stopper.update(reading.view)
        self._cluster.evictor.begin(decision, reading.now, why=reading.reasons.get(decision.pod.uid, ""))

    def withdraw_eviction(self, decision: WithdrawEviction, reading: Reading) -> None:
        """Drop what the API server has not agreed to. Of a previous run's victim its object decides, as soon as it is listed."""
        self._cluster.evictor.withdraw(decision.pod.uid, reading.now)

    def advance(self, state: State, reading: Reading) -> Progress:
        """Advance evictions, resume victims of the previous run, and remove the volumes of stopped victims."""
        ended = self._node.advance(state, reading)
        self._cluster.evictor.advance(reading.now)
        if reading.view is not None:
            self._resume(state, reading)
        if self._removes_volumes():
            for uid in victims_of(state):
                if self._node.stopped(uid):
                    self._node.cleanup.begin(uid)
        return Progress(evicted=self._cluster.evictor.take_evicted(), ended=ended)

    def perform_duties(self, reading: Reading) -> None:
        """Record the collectors' events, begin the periodic collections that are due, and delete leftovers that are due."""
        for event in self._node.collector.take_events():
            self.record_event(event, reading)
        self._cluster.leftovers.delete_due(reading.now)
        self._node.perform_collections(reading, self._lifecycles(reading))

    def suspend(self, reading: Reading) -> None:
        """Take conditions and taints back, drop what the API server has not agreed to, and delete none of the leftovers."""
        self._cluster.leftovers.suspend()
        self._cluster.reporter.suspend()
        for uid in self._cluster.evictor.unanswered():
            self._cluster.evictor.withdraw(uid, reading.now)

    def heartbeat(self, reading: Reading) -> None:
        """Renew what the API server shows of the conditions."""
        self._cluster.reporter.heartbeat(reading.now)

    # --- parts of these --------------------------------------------------------------------------------------------

    def _lifecycles(self, reading: Reading) -> PodLifecycles | None:
        """Return the lifecycles of the pods; a pod that is still an object of the API is not gone."""
        return None if reading.lifecycles is None else with_api_pods(reading.lifecycles, self._cluster.known_pods())

    def _removes_volumes(self) -> bool:
        """Whether evictd removes the volumes of stopped pods; where a kubelet reports, or may report, the kubelet does."""
        return self._cluster.reporter.kubelet is False

    # --- victims of the previous run -------------------------------------------------------------------------------

    def _resume(self, state: State, reading: Reading) -> None:
        """Resume the evictions of the previous run.

        One that a hard threshold chose, or that the API server agreed to, is stopped at once. Its object is deleted, or its
        status written, as soon as the pods are listed, which may be long after the core has taken the stopped victim out of the
        state: without that the pod stays Running for ever. An eviction that was never requested leaves with the state.
        """
        own = self._cluster.evictor.in_flight()  # begun in this run
        if self._previous is None:
            self._previous = {victim.uid: victim for victim in state.in_flight}
            for victim in self._previous.values():
                if victim.uid not in own and (victim.is_hard or victim.counted):
                    self._cluster.events.record_again(victim, reading.now)
        tracked = victims_of(state)
        left = [each for uid, each in self._previous.items() if uid not in own]
        self._previous = {each.uid: each for each in left if not self._resume_one(each, reading, tracked)}

    def _resume_one(self, victim: Victim, reading: Reading, tracked: Collection[str]) -> bool:
        """Resume one eviction; only a victim that the core still tracks is stopped. Return True if nothing is left to do."""
        if not self._agreed(victim):
            return victim.uid not in tracked
        if victim.gone_at is None and victim.uid in tracked and victim.uid not in self._resumed:
            self._resumed.add(victim.uid)
            self._node.resume([victim], reading)
        pods = self._cluster.watch.snapshot
        entry = pods.pods.get(victim.uid)
        if entry is not None and not entry.terminal and entry.pod.deletion_grace_period_seconds is None:
            self._cluster.evictor.resume(_decision(entry.pod, victim, reading.now), reading.now, hard=victim.is_hard)
            return True
        return pods.synced

    def _agreed(self, victim: Victim) -> bool | None:
        """Whether the victim goes: a budget may protect one that a soft threshold chose. `None`: not known yet."""
        return True if _needs_no_answer(victim) else self._cluster.evictor.may_stop(victim.uid)


def _needs_no_answer(victim: Victim) -> bool:
    """Whether the API server's consent is not needed: the eviction is hard, or the pod has stopped already."""
    return victim.is_hard or victim.gone_at is not None


def _decision(pod: Pod, victim: Victim, now: int) -> EvictPod:
    """Return the decision of the previous run, as far as it is needed to carry it out."""
    return EvictPod(
        pod=pod,
        grace_period_seconds=grace_left(victim, now),
        message=victim.message,
        because=EvictionCause(reason=EvictionReason.PRESSURE),
        condition=victim.condition,
    )
