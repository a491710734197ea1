"""Defines the findings, which explain everything that was not decided.

`Finding` is a closed union: the non-decisions and the evidence. The shell turns them into logs, metrics and pages.
"""

from enum import Enum, IntEnum
from typing import NamedTuple

from evictd.core.frozen import frozen
from evictd.core.model.attribution import Attribution
from evictd.core.model.observation import Reclaim
from evictd.core.model.pod import Pod
from evictd.core.model.signal import NodeCondition, Resource, Signal
from evictd.core.model.threshold import Threshold
from evictd.core.units.quantity import Quantity


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

    @property
    def is_short(self) -> bool:
        """Whether it is met, or counts as met until its minimum reclaim is reached."""
        return self.met or self.kept_by_min_reclaim


@frozen
class SignalUnobserved:
    """A threshold that could not be tested: nothing was read for its signal."""

    signal: Signal
    absent: bool = False
    """The node does not have it (any more), so there is nothing to read."""


class Standing(IntEnum):
    """The first key of a ranking: how a pod's usage compares with its request."""

    UNMEASURED_FIRST = 0
    """The pod has no stats; policy Kubelet ranks it first."""
    EXCEEDS = 1
    WITHIN = 2
    """Within its request; also a pod without stats under Standard, and every pod for a resource that no pod requests."""


class RankPlace(IntEnum):
    """The key of a ranking that comes after the priority."""

    UNMEASURED_FIRST = 0
    """The pod has no stats; policy Kubelet ranks it first."""
    MEASURED = 1
    LAST = 2
    """The pod has no stats (policy Standard), or does not stall itself while others do."""


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
    PODS_UNKNOWN = "PodsUnknown"
    """The container runtime does not answer, and no pod is known."""
    NOTHING_EVICTABLE = "NothingEvictable"
    """Every active pod is protected."""
    NO_POD_MEASURED = "NoPodMeasured"
    """Policy Standard: the usage of what is short is not known of any pod that may go."""
    API_PODS_STANDALONE = "ApiPodsStandalone"
    """evictd runs without an API server beside pods of one, and `allowApiPodsStandalone` is not set: it only reports."""
    FILESYSTEM_READ_ONLY = "FilesystemReadOnly"
    """Policy Standard: the filesystem cannot be written, so neither collecting nor evicting frees anything of it."""
    PROTECTED_CULPRIT = "ProtectedCulprit"
    """Policy Standard: a protected pod holds or grew the most of all pods, and the others together could not make up for it and
    its growth; what belongs to no pod may have grown more. Or a budget guards the cause for a while, and the others are within
    their requests."""
    WAITING_FOR_VICTIM = "WaitingForVictim"
    """A victim is being terminated; no other pod is evicted before it is gone."""
    WAITING_FOR_RELEASE = "WaitingForRelease"
    """Policy Standard: what the last victim, a collection or a removed pod freed has not shown up yet."""
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
    """The layout of the filesystems could not be detected: thresholds on disks wait for it, under policy Kubelet all do."""


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
    missing: Quantity | None = None
    """`ProtectedCulprit`, `UnmeasuredCulprit`: what is missing now; `needed` includes the culprit's growth."""
    detail: str = ""
    """Who is waited for, which limit is reached; `EvictionsDoNotHelp`: whether too little came back, or what grows is no pod;
    `ProtectedCulprit`: what the pod does and why it may not go."""
    until: int | None = None
    """`now` at which it is tried again; `None` where no time is set."""

    @property
    def includes_growth(self) -> bool:
        """Whether more is needed than is missing now."""
        return None not in {self.missing, self.needed} and self.missing != self.needed

    @property
    def missing_now(self) -> Quantity | None:
        """What is missing now; `None` where that is the least amount, which stands for nothing at all (`Shortage.missing`)."""
        return None if self.missing is None or self.missing.value() <= 1 else self.missing

    @property
    def suffices(self) -> bool:
        """Whether the pods that may be evicted hold what is needed."""
        return self.reachable is not None and self.needed is not None and self.reachable >= self.needed


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
    """The pod is a victim already and has not ended."""
    NOT_MEASURED = "NotMeasured"
    """Its usage of what is short is unknown."""
    USES_NOTHING = "UsesNothing"
    """The pod was measured to use nothing of what is short, so its end would free nothing."""
    BUDGET = "Budget"
    """A PodDisruptionBudget refused its eviction a short time ago."""
    OWNER = "OwnerBackoff"
    """Its owner recreated it here after an eviction, again and again."""
    UNNECESSARY = "Unnecessary"
    """Another pod (`PodSkipped.instead`) makes its eviction unnecessary."""
    STALLS_LITTLE = "StallsLittle"
    """The pod stalls far less than the node does, so its end would not end the stall."""
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


@frozen
class KeptAway:
    """Policy Standard: a condition, and its taint, stays longer because an owner's pods come back and are evicted each time."""

    condition: NodeCondition
    owner: str
    """`namespace/Kind/name`."""
    evictions: int
    """Number of evictions of this owner's pods; all but the first were of pods that came back."""
    period: int
    """Nanoseconds that the condition stays after its threshold was last met."""
    until: int
    """`now` at which it ends if no threshold is met from now on."""


NodeFinding = Attribution | KeptAway
"""The findings that belong to no decision of this cycle."""

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
