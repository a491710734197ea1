"""Defines the decisions, and the findings that explain everything that was not decided.

`Decision` is a closed union; the shell performs each kind in one place (`act.perform`) and ends in `assert_never`. A decision
carries its reason as data. `Finding`s are the non-decisions and the evidence; the shell turns them into logs, metrics and pages.
"""

from collections.abc import Mapping
from dataclasses import field
from enum import Enum, IntEnum
from typing import NamedTuple

from evictd.core.frozen import frozen
from evictd.core.model.keep_away import NodeFinding
from evictd.core.model.observation import Reclaim
from evictd.core.model.pod import Pod
from evictd.core.model.signal import Filesystem, NodeCondition, Resource, Signal
from evictd.core.model.threshold import Threshold
from evictd.core.units.quantity import Quantity


class EvictionReason(Enum):
    """Why a pod goes; the value is the label of `kubelet_evictions`, a pressure eviction's label is its signal."""

    PRESSURE = "pressure"
    """A threshold of the node is due."""
    EMPTY_DIR_LIMIT = "emptydirfs.limit"
    """An emptyDir volume exceeds its size limit."""
    POD_LIMIT = "ephemeralpodfs.limit"
    """The pod exceeds the sum of its containers' ephemeral-storage limits."""
    CONTAINER_LIMIT = "ephemeralcontainerfs.limit"
    """A container exceeds its ephemeral-storage limit."""


@frozen
class EvictionCause:
    """The numbers behind an eviction."""

    reason: EvictionReason
    threshold: Threshold | None = None
    limit: Quantity | None = None
    """The threshold or limit as an absolute amount on this node."""
    available: Quantity | None = None
    usage: Quantity | None = None
    """The pod's own usage that counted."""
    request: Quantity | None = None
    subject: str = ""
    """The volume or container that broke its limit."""
    fill_rate: int | None = None
    """Pressure, policy Standard: units per second by which what is left falls; `None`: not measured, or not falling."""
    time_left: int | None = None
    """Nanoseconds until nothing is left at that rate."""
    fitted: bool = False
    """Whether the grace period was made shorter because of `time_left`."""
    file_pages: int | None = None
    """Memory: the bytes of `usage` that are clean active file pages; `None`: not measured."""
    node_file_pages: int | None = None
    """Memory: the bytes of clean active file pages of the whole node; `None`: not measured."""

    @property
    def signal_label(self) -> str:
        """The label under which this eviction is counted."""
        threshold = self.threshold if self.reason is EvictionReason.PRESSURE else None
        return self.reason.value if threshold is None else threshold.signal.value


@frozen
class PodCondition:
    """A condition to set on the pod's status."""

    type: str
    status: str
    reason: str
    message: str
    observed_generation: int = 0


@frozen
class ReportConditions:
    """The node's pressure conditions changed; every type not listed is False."""

    conditions: tuple[NodeCondition, ...]


@frozen
class RecordEvent:
    """An event on the node."""

    type: str
    reason: str
    message: str


@frozen
class ReclaimNode:
    """Free what can be freed without touching a running pod, in this order."""

    actions: tuple[Reclaim, ...]
    threshold: Threshold
    device: Filesystem | None = None
    """The device in short supply. Its outcomes carry the same name, so that collections of two devices do not mix."""
    wanted_bytes: int | None = None
    """The amount that is enough; `None`: remove everything that is unused."""
    measured: tuple[Reclaim, ...] = ()
    """Actions that the configuration switches off: the collectors only report how much each would free."""


@frozen
class EvictPod:
    """Stop this pod now, with this grace period in seconds and for this reason."""

    pod: Pod
    grace_period_seconds: int
    message: str
    because: EvictionCause
    annotations: Mapping[str, str] = field(default_factory=dict)
    condition: PodCondition | None = None
    shortens: bool = False
    """The pod is already on its way; only its grace period becomes shorter. Not another eviction."""
    freeze: bool = False
    """Its containers are frozen until shortly before the end of the grace."""
    refused_since: int | None = None
    """`now` at which a disruption budget first refused this pod; `None` if no refusal counts any more."""


@frozen
class WithdrawEviction:
    """Withdraw the eviction of a chosen pod: it is no longer needed.

    What the API server has not agreed to is dropped and reported as `NOT_ASKED`; what it has goes on as `AGREED`.
    """

    pod: Pod
    reason: str
    """Why, for the log: `pressure has ended`."""


@frozen
class Wait:
    """The end of a cycle: run the next one after this many nanoseconds, or sooner if an eviction or a collection has ended."""

    nanoseconds: int


Decision = ReportConditions | RecordEvent | ReclaimNode | EvictPod | WithdrawEviction | Wait


# --- findings ---------------------------------------------------------------------------------------------------------


@frozen
class ThresholdFinding:
    """The state of one configured threshold: its limit on this node, the available amount, and the grace that is left."""

    threshold: Threshold
    limit: Quantity
    available: Quantity
    capacity: Quantity
    met: bool
    led: bool = False
    """Acted on before it is crossed, because the resource would run out before an eviction can finish (`memory.lead: Auto`)."""
    kept_by_min_reclaim: bool = False
    """The signal is above the threshold again, but the minimum reclaim is not reached yet."""
    grace_left: int | None = None
    """Nanoseconds until it is due; `None` while it is not met."""
    stale: bool = False
    """Due, but its numbers are no newer than the last ones, so it waits for fresh ones."""


@frozen
class SignalUnobserved:
    """A threshold that could not be tested: nothing was read for its signal."""

    signal: Signal
    absent: bool = False
    """The node does not have it (any more), so there is nothing to read."""


class Standing(IntEnum):
    """The first key of a ranking: how a pod's usage compares with its request."""

    UNMEASURED_FIRST = 0
    """It has no stats, which policy Kubelet ranks first."""
    EXCEEDS = 1
    WITHIN = 2
    """Also a pod without stats under Standard, and every pod for a resource that no pod requests."""


class RankPlace(IntEnum):
    """The key of a ranking that comes after the priority."""

    UNMEASURED_FIRST = 0
    """It has no stats, which policy Kubelet ranks first."""
    MEASURED = 1
    LAST = 2
    """It has no stats (policy Standard), or does not stall itself while others do."""


class RankedPod(NamedTuple):
    """One row of a ranking: the keys in the order of comparison, up to `uid`, then what they were made of."""

    standing: Standing
    preference: int
    """-1 where the configuration prefers to evict the pod, 1 where it avoids it."""
    priority: int
    place: RankPlace
    deficit: int
    """Request minus usage in nano-units, so that the largest excess sorts first; 0 without stats."""
    namespace: str
    name: str
    uid: str
    usage: int | None
    """In bytes, inodes, processes or hundredths of a percent of the time (I/O stalls); `None` without stats."""
    request: int
    """In nano-units, as it was subtracted."""
    pod: Pod
    stall: int | None = None
    """For a stall signal: the pod's own stall, in hundredths of a percent of the time; `None` where it was not read."""
    file_pages: int | None = None
    """For memory: the bytes of `usage` that are clean active file pages; `None` where they were not read."""


@frozen
class Ranking:
    """All active pods in the order in which they would go for this signal, protected ones included."""

    signal: Signal
    resource: Resource
    rows: tuple[RankedPod, ...]
    due: tuple[Threshold, ...] = ()
    """The thresholds that the victim is chosen for (the kubelet records the age of their numbers at this point)."""


class NoActionReason(Enum):
    """Why nothing was done although something was due, or could have been."""

    NO_STATS = "NoStats"
    """The reading failed as a whole."""
    RECLAIM_SUFFICED = "ReclaimSufficed"
    """Node-level reclaim was enough; no pod had to go."""
    NO_RANK_FUNCTION = "NoRankFunction"
    """There is no ranking for the signal."""
    NO_ACTIVE_PODS = "NoActivePods"
    """No pod is active on the node."""
    NOTHING_EVICTABLE = "NothingEvictable"
    """Every active pod is protected."""
    NO_POD_MEASURED = "NoPodMeasured"
    """Policy Standard: the usage of what is short is not known of any pod that may go."""
    API_PODS_STANDALONE = "ApiPodsStandalone"
    """evictd runs without an API server beside pods of one, and `allowApiPodsStandalone` is not set: it only reports."""
    FILESYSTEM_READ_ONLY = "FilesystemReadOnly"
    """Policy Standard: the filesystem cannot be written, so neither collecting nor evicting frees anything of it."""
    PROTECTED_CULPRIT = "ProtectedCulprit"
    """Policy Standard: a protected pod is the cause, and all the others together could not make up for it."""
    WAITING_FOR_VICTIM = "WaitingForVictim"
    """A victim is being terminated; no other pod is evicted before it is gone."""
    WAITING_FOR_RELEASE = "WaitingForRelease"
    """Policy Standard: what the last victim or collection freed has not shown up yet."""
    NOTHING_HELPS = "NothingHelps"
    """Policy Standard: no pod that may go uses anything of what is short, so no eviction would free any of it."""
    HELD_BACK = "HeldBack"
    """Policy Standard: each pod whose eviction would help is skipped for now, because of a budget or its owner's back-off."""
    UNMEASURED_CULPRIT = "UnmeasuredCulprit"
    """Policy Standard: pods that were not measured hold or grow more of what is short than all pods that may go."""
    EVICTIONS_DO_NOT_HELP = "EvictionsDoNotHelp"
    """Policy Standard: the last evictions gave back too little of what was missing, or what grows is no pod."""
    THRESHOLD_NEVER_CLEAR = "ThresholdNeverClear"
    """Policy Standard: the threshold was met ever since it was configured, and pods were evicted in vain for it."""
    NOT_SHORT_OF_MEMORY = "NotShortOfMemory"
    """Policy Standard: only active file pages hold a soft memory threshold met, and no task stalls; the kernel can drop them."""
    EVICTION_LIMIT_REACHED = "EvictionLimitReached"
    """Policy Standard: as many pods were evicted as `evictionLimit` allows within its time."""
    LAYOUT_UNKNOWN = "LayoutUnknown"
    """The layout of the filesystems could not be detected; the whole cycle waits for it."""


@frozen
class NoAction:
    """A reason why nothing (more) was decided, with its evidence."""

    why: NoActionReason
    threshold: Threshold | None = None
    pod: Pod | None = None
    """The protected culprit, or the victim waited for."""
    needed: Quantity | None = None
    reachable: Quantity | None = None
    """Held by evictable pods; `EvictionsDoNotHelp`: freed by the last two victims; `NotShortOfMemory`: `MemAvailable`."""
    detail: str = ""
    until: int | None = None
    """`now` at which it is tried again; `None` where no time is set."""


@frozen
class StatsMissing:
    """Active pods without a known usage; the policy decides where they rank."""

    pods: tuple[Pod, ...]
    signals: tuple[Signal, ...] = ()
    """The signals of the thresholds that are due: their rankings suffer from it."""


@frozen
class ProtectedPodSkipped:
    """A pod that ranked before the victim but is protected."""

    pod: Pod
    signal: Signal | None = None
    """The signal that it was ranked for."""


class SkipReason(Enum):
    """Policy Standard: why a pod that ranked before the victim was not chosen, although nothing protects it for good."""

    IN_FLIGHT = "InFlight"
    """It is a victim already and has not ended."""
    NOT_MEASURED = "NotMeasured"
    """Its usage of what is short is unknown."""
    USES_NOTHING = "UsesNothing"
    """It was measured to use nothing of what is short, so its end would free nothing."""
    BUDGET = "Budget"
    """A PodDisruptionBudget refused its eviction a short time ago."""
    OWNER = "OwnerBackoff"
    """Its owner recreated it here again and again."""
    UNNECESSARY = "Unnecessary"
    """Another pod (`PodSkipped.instead`) makes its eviction unnecessary."""
    STALLS_LITTLE = "StallsLittle"
    """It stalls far less than the node does, so its end would not end the stall."""
    EVICTIONS_PAUSED = "EvictionsPaused"
    """Evictions for what is short are paused, because the last ones did not help."""


@frozen
class PodSkipped:
    """A pod that was passed over: it ranked before the victim, or was not measured and might have."""

    pod: Pod
    reason: SkipReason
    until: int | None = None
    """`now` from which the pod may be chosen again; `None` where no time is set."""
    signal: Signal | None = None
    """The signal that it was ranked for."""
    instead: Pod | None = None
    """The pod that makes its eviction unnecessary."""


@frozen
class PreferenceApplied:
    """Policy Standard: `ranking` of the configuration has changed which pod goes."""

    pod: Pod
    """The pod that goes."""
    instead_of: Pod
    """The pod that would go without `ranking`."""


@frozen
class WaitingForMeasurement:
    """Policy Standard: a decision that is held back until every pod was measured since the threshold was crossed."""

    threshold: Threshold
    what: tuple[str, ...]
    """The parts of a pod's usage that are too old: `layers`, `logs and volumes`."""
    pods: tuple[Pod, ...]
    """The pods that are not measured yet."""
    since: int
    """`now` of the crossing, or of the collection that followed it: what was measured later counts."""
    until: int
    """`now` at which the decision is made with what is known."""


@frozen
class ReclaimWouldHelp:
    """Policy Standard: a pod goes, and what the configuration does not allow would have freed bytes of those missing."""

    threshold: Threshold
    action: Reclaim
    size: int
    missing: int


@frozen
class ContainerFsIgnored:
    """A user's containerfs threshold that the derived one replaces (kubelet `UpdateContainerFsThresholds`)."""

    threshold: Threshold


Finding = (
    ThresholdFinding
    | SignalUnobserved
    | Ranking
    | NoAction
    | StatsMissing
    | ProtectedPodSkipped
    | PodSkipped
    | PreferenceApplied
    | WaitingForMeasurement
    | ReclaimWouldHelp
    | ContainerFsIgnored
    | NodeFinding
)
