"""The port through which decisions change the node, and `perform`, which puts a step's decisions through it.

In a cycle `outcomes` is called before the observation, then the methods of `Actuator` for each decision (`perform`), then
`advance` and `perform_duties`. No call waits for a victim, a collector or a server, and none depends on another call having been
made: what a method needs of this cycle is in the reading that it is given.

Three implementations: `act.standalone` (runtime, files and log), `act.cluster.actuator` (API server and runtime) and
`act.dry_run` (log lines only).
"""

from collections.abc import Iterable
from typing import Protocol, assert_never

from evictd.act.stop.termination import Termination
from evictd.core.frozen import frozen
from evictd.core.model.decision import (
    Decision,
    EvictPod,
    ReclaimNode,
    RecordEvent,
    ReportConditions,
    Wait,
    WithdrawEviction,
)
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
    """Carries decisions out; `perform` calls it."""

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

    def suspend(self, reading: Reading) -> None:
        """Leave nothing behind in the first cycles after a reload began a dry run; may be called in each of them.

        Takes the reported conditions back, withdraws the evictions that are not certain, and begins no duty until
        `perform_duties` is called again.
        """
        ...

    def heartbeat(self, reading: Reading) -> None:
        """Renew the reported conditions."""
        ...


@frozen
class Failure:
    """A decision that could not be announced or performed, and the reason."""

    decision: Decision
    error: Exception


@frozen
class Performed:
    """The result of performing a step."""

    failures: tuple[Failure, ...]
    news: bool
    """Whether a decision was announced for the first time, or could not be announced."""


def perform(decisions: Iterable[Decision], actuator: Actuator, reading: Reading) -> Performed:
    """Perform every decision, in the order decided; each is logged after it was started, so that no log delays a stop.

    A decision that fails, for whatever reason, is returned as a failure, and the ones after it are performed all the same: a
    report that cannot be written must not prevent an eviction.
    """
    failures, news = [], False
    for decision in decisions:
        try:
            _perform_one(actuator, reading, decision)
        except Exception as error:  # whatever it is: the decisions after it are still performed
            failures.append(Failure(decision=decision, error=error))
        try:
            news |= actuator.announce(decision)
        except Exception as error:
            failures.append(Failure(decision=decision, error=error))
            news = True
    return Performed(failures=tuple(failures), news=news)


def _perform_one(actuator: Actuator, reading: Reading, decision: Decision) -> None:
    match decision:
        case ReportConditions():
            actuator.report_conditions(decision.conditions, reading)
        case RecordEvent():
            actuator.record_event(decision, reading)
        case ReclaimNode():
            actuator.begin_reclaim(decision, reading)
        case EvictPod():
            actuator.begin_eviction(decision, reading)
        case WithdrawEviction():
            actuator.withdraw_eviction(decision, reading)
        case Wait():
            pass
        case _:
            assert_never(decision)
