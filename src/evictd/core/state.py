"""What one cycle leaves to the next, and the phase the manager is in.

Everything the kubelet keeps in fields of its `managerImpl`, as one value, so that it can be written down, read back after a
restart and compared. The phase is explicit because a decision spans two readings: the node-level reclaim lies between them.

    Watching --due, something to reclaim--> Reclaiming --still short--> CleaningUp --victims gone or time up--> Watching
       |                                       +--sufficed--> Watching
       +--due, nothing to reclaim--> CleaningUp
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum

from evictd.core.decision import Decision, Finding
from evictd.core.observation import Filesystems, Observation, SignalObservation
from evictd.core.signal import NodeCondition, Signal
from evictd.core.threshold import Threshold


class PhaseName(Enum):
    """The three phases, for metrics and pages."""

    WATCHING = "Watching"
    RECLAIMING = "Reclaiming"
    CLEANING_UP = "CleaningUp"


@dataclass(frozen=True, slots=True, kw_only=True)
class Watching:
    """Nothing is under way."""

    name = PhaseName.WATCHING


@dataclass(frozen=True, slots=True, kw_only=True)
class Reclaiming:
    """Collectors are at work; the next reading that follows them decides whether a pod must go."""

    threshold: Threshold
    due: tuple[Threshold, ...]
    before: Observation
    """What was seen when the threshold was met; the kubelet ranks with these numbers."""
    until: int = 0
    """When waiting for the collectors ends, whatever they do."""

    name = PhaseName.RECLAIMING


@dataclass(frozen=True, slots=True, kw_only=True)
class Victim:
    """A pod on its way out."""

    uid: str
    full_name: str
    signal: Signal | None
    """`None`: it broke a local-storage limit."""
    evicted_at: int
    grace_period_seconds: int
    available_before: int | None = None
    """The signal's available amount when the victim was chosen."""
    expected_release: int | None = None
    """How much its end should give back, in the signal's unit."""
    gone_at: int | None = None
    """When it was first seen to be gone; its bytes may show later."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CleaningUp:
    """Victims are on their way out; `until` is when waiting for them ends."""

    victims: tuple[Victim, ...]
    until: int

    name = PhaseName.CLEANING_UP


Phase = Watching | Reclaiming | CleaningUp


@dataclass(frozen=True, slots=True, kw_only=True)
class State:
    """All that is remembered between two cycles. Times are `now` values in nanoseconds."""

    phase: Phase = Watching()
    filesystems: Filesystems | None = None
    """The layout as last detected; `None` before the first cycle."""
    thresholds_first_observed_at: Mapping[Threshold, int] = field(default_factory=dict)
    thresholds_met: tuple[Threshold, ...] = ()
    """The ones that were due last time; they stay met until their minimum reclaim is reached."""
    node_conditions: tuple[NodeCondition, ...] = ()
    """What the node reports, transition period included."""
    node_conditions_last_observed_at: Mapping[NodeCondition, int] = field(default_factory=dict)
    last_observations: Mapping[Signal, SignalObservation] = field(default_factory=dict)
    reported: bool = False
    """Whether conditions were ever reported by this state."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """What one call of `synchronize` came to."""

    state: State
    decisions: tuple[Decision, ...]
    findings: tuple[Finding, ...]
