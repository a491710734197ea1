"""Declares the part of the configuration that decisions depend on.

Built from files and flags by `config.build`; every value is already validated. Durations are nanoseconds.
"""

from collections.abc import Mapping
from dataclasses import field
from enum import Enum

from evictd.core.frozen import frozen
from evictd.core.model.pod import Pod
from evictd.core.model.signal import SIGNALS, STALLS, Signal
from evictd.core.model.threshold import Threshold
from evictd.core.units.duration import MINUTE, SECOND

MONITORING_PERIOD = 10 * SECOND
"""The kubelet's time between two looks at the signals (`evictionMonitoringPeriod`)."""


class Policy(Enum):
    """Whether the kubelet's documentation or its code decides where the two differ (docs/parity.md)."""

    STANDARD = "Standard"
    KUBELET = "Kubelet"


class EvictionMethod(Enum):
    """The ways to end a pod in a cluster (`cluster.podTermination`)."""

    AUTO = "Auto"
    """By the Eviction API for a soft threshold, past a budget after a while; by `Delete` for a hard one."""
    EVICTION_API = "EvictionAPI"
    """Ask; budgets are honoured."""
    DELETE = "Delete"
    """Set DisruptionTarget, then delete the object; the kubelet stops the pod."""
    STATUS = "Status"
    """Stop it, then write its status: what the kubelet itself does."""


class MemoryFormula(Enum):
    """How `memory.available` is computed (`memory.formula`): capacity minus working set, the kernel's estimate, or the lower."""

    AUTO = "Auto"
    """Under policy Standard the lower of both for hard thresholds, the documented one for soft ones (docs/adr/0017)."""
    WORKING_SET = "WorkingSet"
    MEM_AVAILABLE = "MemAvailable"
    LOWEST = "Lowest"


class FastFill(Enum):
    """Whether a rule for a resource that fills too fast for an eviction applies (`memory.lead`, `disk.lead`, `disk.freeze`)."""

    OFF = "Off"
    AUTO = "Auto"


class ImageReclaim(Enum):
    """Which images an eviction may remove: all unused ones, just enough of them, or none."""

    ALL = "All"
    ENOUGH = "Enough"
    OFF = "Off"


@frozen
class ImageGCPolicy:
    """When unused images are deleted (kubelet `images.ImageGCPolicy`)."""

    high_threshold_percent: int = 85
    low_threshold_percent: int = 80
    min_age: int = 2 * MINUTE
    max_age: int = 0
    """Age at which an unused image is deleted; zero: no limit."""
    keep: tuple[str, ...] = ()
    """`reclaim.keepImages`: glob patterns over tags and digests that are never removed."""


@frozen
class ContainerGCPolicy:
    """When dead containers are deleted (kubelet `container.GCPolicy`)."""

    min_age: int = 0
    max_per_pod_container: int = 1
    max_containers: int = -1
    """Negative: no limit."""


@frozen
class PodGroup:
    """The pods of these namespaces that have all these labels; no namespace means every namespace."""

    namespaces: frozenset[str] = frozenset()
    labels: Mapping[str, str] = field(default_factory=dict)

    def has(self, pod: Pod) -> bool:
        """Whether a pod is in the group."""
        return (not self.namespaces or pod.namespace in self.namespaces) and self.labels.items() <= pod.labels.items()


@frozen
class Preferences:
    """`ranking`: which pods go before and after the others that exceed their requests alike (policy Standard).

    A pod that both match is avoided.
    """

    prefer: tuple[PodGroup, ...] = ()
    avoid: tuple[PodGroup, ...] = ()


NO_PREFERENCES = Preferences()


@frozen
class EvictionLimit:
    """`evictionLimit`: at most `pods` evictions for pressure within `per` (policy Standard)."""

    pods: int = 0
    """Zero: no limit."""
    per: int = 10 * MINUTE


@frozen
class EvictionConfig:
    """The configuration of `synchronize`."""

    thresholds: tuple[Threshold, ...] = ()
    """In configuration order; containerfs thresholds are derived later, when the filesystem layout is known."""
    max_pod_grace_period_seconds: int = 0
    pressure_transition_period: int = 5 * MINUTE
    local_storage_capacity_isolation: bool = True
    policy: Policy = Policy.STANDARD
    monitoring_period: int = MONITORING_PERIOD
    """`evictionMonitoringPeriod`: time between two cycles of a node without pressure."""
    reclaim_containers: bool = True
    reclaim_images: ImageReclaim = ImageReclaim.ALL
    reclaim_rotated_logs: bool = False
    reclaim_page_cache: bool = False
    eviction_timeout: int = 60 * SECOND
    """`cluster.evictionTimeout`: how long a pod that a budget refused comes after all others (soft thresholds)."""
    pod_termination: EvictionMethod | None = EvictionMethod.AUTO
    """`cluster.podTermination`; no decision depends on it. `None`: not known, as in the journal of an older evictd."""
    protected_pods: frozenset[str] = frozenset()
    """Uids of pods that are never evicted, beside critical pods: evictd's own pod."""
    allow_api_pods_standalone: bool = False
    """Whether evictd may act without an API server on a node whose pods are an API server's (`core.eviction.synchronize`)."""
    memory_formula: MemoryFormula = MemoryFormula.AUTO
    """The formula of `memory.available`; see `memory_formula`."""
    memory_lead: FastFill = FastFill.OFF
    """Whether a hard memory threshold is acted on before it is crossed."""
    disk_lead: FastFill = FastFill.OFF
    """Whether a hard disk threshold is acted on before it is crossed."""
    disk_freeze: FastFill = FastFill.OFF
    """Whether the containers of a pod are frozen until it is killed."""
    keep_away: bool = True
    """Whether a taint keeps pods away while a condition is reported (`cluster.taints`); then it may stay longer (`keep_away`)."""
    preferences: Preferences = NO_PREFERENCES
    eviction_limit: EvictionLimit = EvictionLimit()
    image_gc: ImageGCPolicy = ImageGCPolicy()
    container_gc: ContainerGCPolicy = ContainerGCPolicy()

    def protects(self, pod: Pod) -> bool:
        """Whether this pod is never evicted: static, mirror, critical by priority, or evictd's own."""
        return pod.critical or pod.uid in self.protected_pods


def own_thresholds(config: EvictionConfig) -> tuple[Threshold, ...]:
    """Return the thresholds that are configured; policy Kubelet has none on stalls and swap."""
    if config.policy is Policy.STANDARD:
        return config.thresholds
    return tuple(threshold for threshold in config.thresholds if not SIGNALS[threshold.signal].own)


def memory_formula(config: EvictionConfig) -> MemoryFormula:
    """Return the formula in effect: policy Kubelet reads `Auto` as the kubelet's own."""
    if config.memory_formula is MemoryFormula.AUTO and config.policy is Policy.KUBELET:
        return MemoryFormula.WORKING_SET
    return config.memory_formula


def stall_signals(config: EvictionConfig) -> frozenset[Signal]:
    """Return the stall signals that have a threshold; only these are read."""
    return frozenset(threshold.signal for threshold in own_thresholds(config) if threshold.signal in STALLS)


def available_by(formula: MemoryFormula, documented: int | None, kernels: int | None) -> int | None:
    """Return the available bytes by a formula from both readings; `None` where it needs one that is missing.

    The documented reading is capacity minus working set. It counts memory that processes cannot allocate: the kernel's own memory
    and its reserves are in no cgroup's usage. The kernel's estimate (`MemAvailable`) has neither, but counts active file pages as
    free.
    """
    if formula is MemoryFormula.MEM_AVAILABLE:
        return kernels
    if documented is None or formula is MemoryFormula.WORKING_SET:
        return documented
    if kernels is None:
        return documented if formula is MemoryFormula.AUTO else None
    return min(documented, kernels)


def unallocatable_by(formula: MemoryFormula, documented: int | None, available: int) -> int | None:
    """Return the amount that soft thresholds add to `available` to use the documented formula; `None` for nothing."""
    if formula is not MemoryFormula.AUTO or documented is None or documented <= available:
        return None
    return documented - available
