"""What did the last cycle see and decide? One frozen value, for everybody who only looks.

The loop replaces it once a cycle; the web pages and the metrics read whichever is there, on their own threads,
without a lock.
"""

from dataclasses import dataclass

from evictd.core.config import EvictionConfig
from evictd.core.decision import Finding
from evictd.core.observation import Observation
from evictd.core.state import State
from evictd.daemon.look import RUNTIME


@dataclass(frozen=True, slots=True, kw_only=True)
class Decided:
    """A decision of the past, in words."""

    wall: int
    """When, on the wall clock in nanoseconds."""
    kind: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """One cycle, seen from outside. Times in nanoseconds: `at` boot-time clock, `wall` wall clock."""

    at: int
    wall: int
    config: EvictionConfig
    state: State
    observation: Observation
    findings: tuple[Finding, ...]
    recent: tuple[Decided, ...] = ()
    """The last decisions, newest last."""
    dry_run: bool = False
    version: str = ""

    @property
    def blind(self) -> str:
        """Say what could not be seen; empty where the node and its pods were."""
        problem = next((p.detail for p in self.observation.problems if p.source == RUNTIME), "")
        return problem or ("" if self.observation.node is not None else "the node's numbers could not be read")


class Board:
    """Where the latest snapshot hangs; empty before the first cycle."""

    def __init__(self) -> None:
        self.latest: Snapshot | None = None
        self.alive_at = 0
        """When the loop last gave a sign of life, on the boot-time clock: between two steps of a cycle, or while it waits."""
