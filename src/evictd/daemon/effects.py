"""Declares the parts by which a cycle has effects: the live ones, or those of a dry run, which have none."""

from collections.abc import Callable, Iterable
from typing import Protocol

from evictd.act.actuator import Failure, NodeActuator
from evictd.act.dry_run import DryRunActuator
from evictd.act.node_actuation import ActuatorLog
from evictd.core.frozen import frozen
from evictd.core.model.observation import Problem
from evictd.core.model.oom import MemoryQoSDifference, OomScoreDifference
from evictd.core.model.state import State
from evictd.daemon.store.recorder import Cycle


class OomScoreSetter(Protocol):
    """Sets OOM scores and Memory QoS values."""

    def write(self, differences: Iterable[OomScoreDifference | MemoryQoSDifference]) -> tuple[Problem, ...]:
        """Set each `oom_score_adj` and memory file to its documented value; return a problem for each that could not be set."""
        ...


class Checkpoints(Protocol):
    """Keeps the state for the next run."""

    def save(self, state: State, *, always: bool = False) -> None:
        """Write a checkpoint if it is not the one written last."""
        ...


class Reactions(Protocol):
    """Counts what was performed."""

    def performed(self, cycle: Cycle, failures: Iterable[Failure], *, since: int, acted: int) -> None:
        """Count a cycle; `since` is when the crossing was noticed, `acted` when the decisions had been performed."""
        ...


@frozen
class Effects:
    """The parts by which a cycle has effects; `label` is for the status line."""

    actuator: NodeActuator
    oom_scores: OomScoreSetter
    checkpoints: Checkpoints
    reactions: Reactions
    hooks: Callable[[Cycle], None] | None = None
    """Starts the commands that are configured for the evictions of a cycle; `None` for none, and always in a dry run."""
    label: str = ""


def effects_of(live: Effects, current: Effects, log: ActuatorLog, *, dry_run: bool) -> Effects:
    """Return the live effects, or those of a dry run; a dry run under way keeps its own, so that it repeats nothing."""
    if not dry_run:
        return live
    if current is not live:
        return current
    dry, records = DryRunActuator(live.actuator, log), _NoRecords()
    return Effects(actuator=dry, oom_scores=dry, checkpoints=records, reactions=records, label="dry run")


class _NoRecords:
    """Keeps nothing of a dry run: the state file keeps the victims of a live run before it."""

    def save(self, state: State, *, always: bool = False) -> None:
        """Save nothing."""

    def performed(self, cycle: Cycle, failures: Iterable[Failure], *, since: int, acted: int) -> None:
        """Count nothing."""
