"""What did the last cycle see and decide? One frozen value, for everybody who only looks.

The loop replaces it once a cycle; the web pages and the metrics read whichever is there, on their own threads,
without a lock.
"""

from dataclasses import dataclass

from evictd.core.config import EvictionConfig
from evictd.core.decision import Finding
from evictd.core.observation import Observation
from evictd.core.state import State


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


class Board:
    """Where the latest snapshot hangs; empty before the first cycle."""

    def __init__(self) -> None:
        self.latest: Snapshot | None = None
