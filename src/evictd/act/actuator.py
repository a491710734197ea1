"""The port through which decisions change the node.

In a cycle `outcomes` is called before the observation, then the methods of `Actuator` for each decision (`act.perform`), then
`advance` and `perform_duties`. No call waits for a victim, a collector or a server, and none depends on another call having been
made: what a method needs of this cycle is in the reading that it is given.

Three implementations of both protocols in `daemon.actuator`: standalone (runtime, files and log), cluster (API server and
runtime), dry run (log lines only). `Reading_contra` stands for the shell's type of what was read in a cycle, which this package
does not know.
"""

from dataclasses import dataclass
from typing import Protocol, TypeVar

from evictd.act.termination import Termination
from evictd.core.model.decision import Decision, EvictPod, ReclaimNode, RecordEvent
from evictd.core.model.observation import Outcomes, Problem
from evictd.core.model.signal import NodeCondition
from evictd.core.model.state import State

Reading_contra = TypeVar("Reading_contra", contravariant=True)
"""What the shell read in this cycle."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """What has become certain since the last `advance`."""

    evicted: tuple[EvictPod, ...] = ()
    """Evictions that are under way for certain: begun, or agreed to by the API server."""
    ended: tuple[Termination, ...] = ()
    """Terminations of pods that the core no longer waits for, finished or not."""


class Actuator(Protocol[Reading_contra]):
    """Carries decisions out; `act.perform` calls it."""

    def announce(self, decision: Decision) -> bool:
        """Log a decision; whether it is news, to be journaled as well. `Wait` never is."""
        ...

    def report_conditions(self, conditions: tuple[NodeCondition, ...], reading: Reading_contra) -> None:
        """Report the node's conditions; every type not listed is False."""
        ...

    def record_event(self, event: RecordEvent, reading: Reading_contra) -> None:
        """Record an event on the node."""
        ...

    def begin_reclaim(self, decision: ReclaimNode, reading: Reading_contra) -> None:
        """Begin to collect; raises `RuntimeUnavailableError` where it is not known what may be collected."""
        ...

    def begin_eviction(self, decision: EvictPod, reading: Reading_contra) -> None:
        """Begin to evict a pod, or shorten its grace period; raises `RuntimeUnavailableError` where nothing is known of it."""
        ...


class Followed(Protocol[Reading_contra]):
    """Follows what was begun, and does what no decision asks for; the loop calls it."""

    def outcomes(self, state: State) -> Outcomes:
        """Give what has become of the decisions that `state` waits for; changes nothing."""
        ...

    def problems(self) -> tuple[Problem, ...]:
        """Name what could not be carried out so far; changes nothing."""
        ...

    def advance(self, state: State, reading: Reading_contra) -> Progress:
        """Advance what is under way: resume victims of the previous run, remove leftovers, drop records not needed any more."""
        ...

    def perform_duties(self, reading: Reading_contra) -> None:
        """Begin the periodic collections that are due, and record the collectors' events."""
        ...

    def suspend_duties(self) -> None:
        """Begin no more of these until `perform_duties` is called again: a reload made the daemon dry."""
        ...

    def heartbeat(self, reading: Reading_contra) -> None:
        """Renew the reported conditions."""
        ...
