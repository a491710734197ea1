"""Carries decisions out on a node without an API server.

Conditions go to `conditions.json`, events to the log, reclaims to the collectors, pods to the runtime. The uid of an evicted pod
is remembered for as long as the runtime lists anything of it, so that what is left of it does not count as an active pod.
"""

from dataclasses import replace

from evictd.act.actuator import Progress
from evictd.act.conditions_file import ConditionsFile
from evictd.act.node_actuation import NodeActuation, victims_of
from evictd.core.eviction.choice.evict import EVICTED
from evictd.core.eviction.draft import WARNING
from evictd.core.model.decision import Decision, EvictPod, ReclaimNode, RecordEvent, Wait, WithdrawEviction
from evictd.core.model.observation import Outcomes, Problem
from evictd.core.model.signal import NodeCondition
from evictd.core.model.state import State
from evictd.errors import RuntimeUnavailableError
from evictd.observe.reading.reading import Reading


class StandaloneActuator:
    """The `Actuator` of a node of its own. `evicted` is kept up to date: uids evicted and still listed by the runtime."""

    def __init__(self, node: NodeActuation, *, conditions: ConditionsFile, evicted: set[str]) -> None:
        self._node = node
        self._conditions = conditions
        self._evicted = evicted
        self._begun: list[EvictPod] = []
        self._reported: tuple[NodeCondition, ...] = ()
        self._resumed = False

    # --- queries ---------------------------------------------------------------------------------------------------

    def outcomes(self, state: State) -> Outcomes:
        """Return what became of the decisions; a victim is gone when it has stopped and its leftovers were dealt with once."""
        outcomes = self._node.outcomes(state)
        cleaned = frozenset(uid for uid in outcomes.stopped if self._node.cleanup.done(uid))
        return replace(outcomes, cleaned_up=cleaned)

    def problems(self) -> tuple[Problem, ...]:
        """Return a problem for each decision that could not be carried out so far."""
        return self._node.problems()

    # --- performing ------------------------------------------------------------------------------------------------

    def announce(self, decision: Decision) -> bool:
        """Log a decision; each is news."""
        self._node.log.decision(decision)
        return not isinstance(decision, Wait)

    def report_conditions(self, conditions: tuple[NodeCondition, ...], reading: Reading) -> None:
        """Write the conditions, and log the events of those that changed."""
        self._reported = conditions
        for event in self._conditions.report(conditions, reading.wall):
            self._node.log.event(event)

    def record_event(self, event: RecordEvent, reading: Reading) -> None:  # noqa: ARG002
        """Log an event on the node."""
        self._node.log.event(event)

    def begin_reclaim(self, decision: ReclaimNode, reading: Reading) -> None:
        """Begin to collect."""
        self._node.begin_reclaim(decision, reading, reading.lifecycles)

    def begin_eviction(self, decision: EvictPod, reading: Reading) -> None:
        """Stop the pod's containers, or shorten their grace period."""
        view = reading.view
        if view is None:
            raise RuntimeUnavailableError(f"{decision.pod.full_name}: its containers are not known")
        self._evicted.add(decision.pod.uid)
        self._node.stopper.update(view)
        self._node.stopper.stop(decision.pod, decision.grace_period_seconds, freeze=decision.freeze)
        if not decision.shortens:  # after the stop call, so that no log delays it
            self._node.log.event(RecordEvent(type=WARNING, reason=EVICTED, message=decision.message))
            self._begun.append(decision)

    def withdraw_eviction(self, decision: WithdrawEviction, reading: Reading) -> None:
        """Withdraw nothing: the containers are being stopped since the decision."""

    def advance(self, state: State, reading: Reading) -> Progress:
        """Resume victims of the previous run, remove leftovers of dead victims, forget evicted pods that are gone."""
        ended = self._node.advance(state, reading)
        if reading.view is not None:
            self._evicted.intersection_update(sandbox.uid for sandbox in reading.view.sandboxes)
            self._resume(state, reading)
        self._remove_leftovers(state)
        begun, self._begun = tuple(self._begun), []
        return Progress(evicted=begun, ended=ended)

    def perform_duties(self, reading: Reading) -> None:
        """Log the collectors' events and begin the periodic collections that are due."""
        for event in self._node.collector.take_events():
            self.record_event(event, reading)
        self._node.perform_collections(reading, reading.lifecycles)

    def suspend(self, reading: Reading) -> None:
        """Write that no condition holds, once; every collection begins in `perform_duties` itself."""
        if self._reported:
            self._reported = ()
            self._conditions.report((), reading.wall)

    def heartbeat(self, reading: Reading) -> None:
        """Write the conditions again, with a new heartbeat time."""
        self.report_conditions(self._reported, reading)

    # --- victims ---------------------------------------------------------------------------------------------------

    def _resume(self, state: State, reading: Reading) -> None:
        """Resume the victims of the previous run, once, with the first listing."""
        if self._resumed:
            return
        victims = [
            victim
            for victim in state.in_flight
            if victim.gone_at is None and self._node.stopper.progress(victim.uid) is None
        ]
        self._node.resume(victims, reading)
        self._resumed = True

    def _remove_leftovers(self, state: State) -> None:
        """Begin to remove what is left of victims that are dead.

        Also of one that the runtime still believes to run: it may need that very disk space to notice that the pod is dead.
        """
        for uid in victims_of(state):
            if self._node.stopper.progress(uid) is None:
                continue
            if self._node.stopped(uid) or self._node.stopper.has_no_tasks(uid):
                self._node.cleanup.begin(uid)
