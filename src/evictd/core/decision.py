"""What can be decided, and what is said about everything else.

`Decision` is a closed union; the shell performs each kind in one place (`act.perform`) and ends in `assert_never`. A decision
carries its reason as data. `Finding`s are the non-decisions and the evidence; the shell turns them into logs, metrics and pages.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import NamedTuple

from evictd.core.observation import Reclaim
from evictd.core.pod import Pod
from evictd.core.quantity import Quantity
from evictd.core.signal import NodeCondition, Resource, Signal
from evictd.core.threshold import Threshold


class EvictionReason(Enum):
    """Why a pod goes; the value is the label of `kubelet_evictions`, a pressure eviction's label is its signal."""

    PRESSURE = "pressure"
    EMPTY_DIR_LIMIT = "emptydirfs.limit"
    POD_LIMIT = "ephemeralpodfs.limit"
    CONTAINER_LIMIT = "ephemeralcontainerfs.limit"


@dataclass(frozen=True, slots=True, kw_only=True)
class Because:
    """The numbers behind an eviction."""

    reason: EvictionReason
    threshold: Threshold | None = None
    limit: Quantity | None = None
    """What the threshold or limit came to on this node."""
    available: Quantity | None = None
    """Pressure: what was left."""
    usage: Quantity | None = None
    """The pod's own usage that counted."""
    request: Quantity | None = None
    subject: str = ""
    """The volume or container that broke its limit."""

    @property
    def signal_label(self) -> str:
        """The label under which this eviction is counted."""
        if self.reason is EvictionReason.PRESSURE and self.threshold is not None:
            return self.threshold.signal.value
        return self.reason.value


@dataclass(frozen=True, slots=True, kw_only=True)
class PodCondition:
    """A condition to set on the pod's status."""

    type: str
    status: str
    reason: str
    message: str
    observed_generation: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportConditions:
    """The node's pressure conditions changed; every type not listed is False."""

    conditions: tuple[NodeCondition, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordEvent:
    """An event on the node."""

    type: str
    reason: str
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ReclaimNode:
    """Free what can be freed without touching a running pod, in this order."""

    actions: tuple[Reclaim, ...]
    threshold: Threshold
    wanted_bytes: int | None = None
    """How much is enough; `None`: everything that is unused."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EvictPod:
    """Stop this pod now, with so many seconds of grace, and say why."""

    pod: Pod
    grace_period_seconds: int
    message: str
    because: Because
    annotations: Mapping[str, str] = field(default_factory=dict)
    condition: PodCondition | None = None
    shortens: bool = False
    """The pod is already on its way; only its grace period becomes shorter. Not another eviction."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wait:
    """Nothing more now; look again after so many nanoseconds at the latest, sooner if something that was begun has ended."""

    nanoseconds: int


Decision = ReportConditions | RecordEvent | ReclaimNode | EvictPod | Wait


# --- findings ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class ThresholdFinding:
    """How one configured threshold stands: the limit on this node, what is available, and how much grace is left."""

    threshold: Threshold
    limit: Quantity
    available: Quantity
    capacity: Quantity
    met: bool
    kept_by_min_reclaim: bool = False
    """Not below the threshold itself any more, but the minimum reclaim is not reached yet."""
    grace_left: int | None = None
    """Nanoseconds until it is due; `None` while it is not met."""
    stale: bool = False
    """Due, but its numbers are no newer than the last ones, so it waits for fresh ones."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SignalUnobserved:
    """A threshold that could not be tested: nothing was read for its signal."""

    signal: Signal


class RankedPod(NamedTuple):
    """One row of a ranking: the key, in the order of comparison, then what it was made of.

    `first`: 0 has no stats (policy Kubelet), 1 uses more than it requested, 2 does not; `second`: 1 has no stats (policy
    Standard); `deficit`: request minus usage in nano-units, so that the largest excess sorts first.
    """

    first: int
    priority: int
    second: int
    deficit: int
    namespace: str
    name: str
    uid: str
    usage: int | None
    """In bytes, inodes or processes; `None` without stats."""
    request: int
    """In nano-units, as it was subtracted."""
    pod: Pod


@dataclass(frozen=True, slots=True, kw_only=True)
class Ranking:
    """All active pods in the order in which they would go for this signal, protected ones included."""

    signal: Signal
    resource: Resource
    rows: tuple[RankedPod, ...]
    due: tuple[Threshold, ...] = ()
    """The thresholds that wanted a victim (the kubelet takes the age of each one's numbers here)."""


class Silence(Enum):
    """Why nothing was done although something was due, or could have been."""

    NO_STATS = "NoStats"
    """The reading failed as a whole."""
    RECLAIM_SUFFICED = "ReclaimSufficed"
    """Node-level reclaim was enough; no pod had to go."""
    NO_RANK_FUNCTION = "NoRankFunction"
    NO_ACTIVE_PODS = "NoActivePods"
    NOTHING_EVICTABLE = "NothingEvictable"
    """Every active pod is protected."""
    PROTECTED_CULPRIT = "ProtectedCulprit"
    """Policy Standard: a protected pod is the cause, and all the others together could not make up for it."""
    WAITING_FOR_VICTIM = "WaitingForVictim"
    """A pod is on its way out; nobody else goes before it is gone."""
    WAITING_FOR_RELEASE = "WaitingForRelease"
    """Policy Standard: what the last victim or collection freed has not shown up yet."""
    LAYOUT_UNKNOWN = "LayoutUnknown"
    """Which filesystems are which could not be found out; the whole cycle waits for it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Silent:
    """A reason why nothing (more) was decided, with its evidence."""

    why: Silence
    threshold: Threshold | None = None
    pod: Pod | None = None
    """The protected culprit, or the victim waited for."""
    needed: Quantity | None = None
    reachable: Quantity | None = None
    detail: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class StatsMissing:
    """Active pods of which no usage is known; where they rank is a matter of policy."""

    pods: tuple[Pod, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Spared:
    """A pod that ranked before the victim but is protected."""

    pod: Pod


@dataclass(frozen=True, slots=True, kw_only=True)
class ContainerFsIgnored:
    """A user's containerfs threshold that the derived one replaces (kubelet `UpdateContainerFsThresholds`)."""

    threshold: Threshold


Finding = ThresholdFinding | SignalUnobserved | Ranking | Silent | StatsMissing | Spared | ContainerFsIgnored
