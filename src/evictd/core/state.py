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
    """Collectors are at work; the reading that follows them decides whether a pod must go."""

    threshold: Threshold
    due: tuple[Threshold, ...]
    before: Observation
    """What was seen when the threshold was met; the kubelet ranks with these numbers."""
    until: int
    """When waiting for the collectors ends, whatever they do (policy Standard)."""

    name = PhaseName.RECLAIMING


@dataclass(frozen=True, slots=True, kw_only=True)
class CleaningUp:
    """Victims are on their way out; `until` is when waiting for them ends."""

    until: int

    name = PhaseName.CLEANING_UP


Phase = Watching | Reclaiming | CleaningUp


@dataclass(frozen=True, slots=True, kw_only=True)
class Release:
    """Something that should give resources back: a pod on its way out, or a collection that has ended (no `uid`)."""

    uid: str = ""
    full_name: str = ""
    signal: Signal | None = None
    """Whose shortage it was for; `None`: the pod broke a local-storage limit."""
    grace_period_seconds: int = 0
    until: int = 0
    """When waiting for the pod to stop ends."""
    available_before: int | None = None
    """The signal's available amount when it was decided."""
    expected: int | None = None
    """How much should come back, in the signal's unit."""
    gone_at: int | None = None
    """When the pod was first seen gone, or the collection ended; the bytes may show later."""
    collected: bool = False
    """Whether collectors have run since, over what a victim left behind."""


@dataclass(frozen=True, slots=True, kw_only=True)
class State:
    """All that is remembered between two cycles. Times are `now` values in nanoseconds."""

    phase: Phase = Watching()
    releases: tuple[Release, ...] = ()
    """Victims in flight, and bytes that are still due."""
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
