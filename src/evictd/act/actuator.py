"""The port through which decisions change the node.

In a cycle `outcomes` is called before the observation, then the methods of `Actuator` for each decision (`act.perform`), then
`advance` and `perform_duties`. No call waits for a victim, a collector or a server, and none depends on another call having been
made: what a method needs of this cycle is in the reading that it is given.

Three implementations: `act.standalone` (runtime, files and log), `act.cluster.actuator` (API server and runtime) and
`act.dry_run` (log lines only).
"""

from typing import Protocol

from evictd.act.stop.termination import Termination
from evictd.core.frozen import frozen
from evictd.core.model.decision import Decision, EvictPod, ReclaimNode, RecordEvent, WithdrawEviction
from evictd.core.model.observation import Outcomes, Problem
from evictd.core.model.signal import NodeCondition
from evictd.core.model.state import State
from evictd.observe.reading.reading import Reading


@frozen
class Progress:
    """Evictions and collections whose end became certain since the last `advance`."""

    evicted: tuple[EvictPod, ...] = ()
    """Evictions that are certain: they were started, or the API server has agreed."""
    ended: tuple[Termination, ...] = ()
    """Terminations of pods that the core no longer waits for, finished or not."""


class Actuator(Protocol):
    """Carries decisions out; `act.perform` calls it."""

    def announce(self, decision: Decision) -> bool:
        """Log a decision. Return whether it is new, so that it is journaled as well; `Wait` never is."""
        ...

    def report_conditions(self, conditions: tuple[NodeCondition, ...], reading: Reading) -> None:
        """Report the node's conditions; every type not listed is False."""
        ...

    def record_event(self, event: RecordEvent, reading: Reading) -> None:
        """Record an event on the node."""
        ...

    def begin_reclaim(self, decision: ReclaimNode, reading: Reading) -> None:
        """Begin to collect; raises `RuntimeUnavailableError` where it is not known what may be collected."""
        ...

    def begin_eviction(self, decision: EvictPod, reading: Reading) -> None:
        """Begin to evict a pod, or shorten its grace period; raises `RuntimeUnavailableError` where nothing is known of it."""
        ...

    def withdraw_eviction(self, decision: WithdrawEviction, reading: Reading) -> None:
        """Withdraw an eviction that is not certain yet; `outcomes` reports the pod as not asked."""
        ...


class NodeActuator(Actuator, Protocol):
    """An actuator that also tracks evictions and collections under way and runs periodic duties; called by the loop."""

    def outcomes(self, state: State) -> Outcomes:
        """Return what has become of the decisions that `state` waits for; changes nothing."""
        ...

    def problems(self) -> tuple[Problem, ...]:
        """Return a problem for each decision that could not be carried out so far; changes nothing."""
        ...

    def advance(self, state: State, reading: Reading) -> Progress:
        """Advance what is under way: resume victims of the previous run, remove leftovers, drop records not needed any more."""
        ...

    def perform_duties(self, reading: Reading) -> None:
        """Begin the periodic collections that are due, and record the collectors' events."""
        ...

    def suspend_duties(self) -> None:
        """Begin no periodic collection until `perform_duties` is called again: a reload began a dry run."""
        ...

    def heartbeat(self, reading: Reading) -> None:
        """Renew the reported conditions."""
        ...
