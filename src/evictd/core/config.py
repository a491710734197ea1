"""What the decisions are asked to obey: the part of the configuration that the core reads.

Built from files and flags by `config.file`; every value here is already checked. Durations in nanoseconds.
"""

from dataclasses import dataclass
from enum import Enum

from evictd.core.duration import MINUTE, SECOND
from evictd.core.threshold import Threshold


class Policy(Enum):
    """Which way to decide where the kubelet's documentation and code differ (docs/parity.md)."""

    STANDARD = "Standard"
    KUBELET = "Kubelet"


class ImageReclaim(Enum):
    """Which images an eviction may remove: all unused ones, just enough of them, or none."""

    ALL = "All"
    ENOUGH = "Enough"
    OFF = "Off"


@dataclass(frozen=True, slots=True, kw_only=True)
class ImageGCPolicy:
    """When images go (kubelet `images.ImageGCPolicy`)."""

    high_threshold_percent: int = 85
    low_threshold_percent: int = 80
    min_age: int = 2 * MINUTE
    max_age: int = 0
    """Zero: unused images may stay for ever."""
    keep: tuple[str, ...] = ()
    """`reclaim.keepImages`: glob patterns over tags and digests that are never removed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ContainerGCPolicy:
    """When dead containers go (kubelet `container.GCPolicy`)."""

    min_age: int = 0
    max_per_pod_container: int = 1
    max_containers: int = -1
    """Negative: no limit."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EvictionConfig:
    """All that `synchronize` obeys."""

    thresholds: tuple[Threshold, ...] = ()
    """In configuration order; containerfs thresholds are derived later, when the filesystem layout is known."""
    max_pod_grace_period_seconds: int = 0
    pressure_transition_period: int = 5 * MINUTE
    local_storage_capacity_isolation: bool = True
    policy: Policy = Policy.STANDARD
    monitoring_period: int = 10 * SECOND
    """`evictionMonitoringPeriod`: how long a calm node is left alone between two cycles."""
    reclaim_containers: bool = True
    reclaim_images: ImageReclaim = ImageReclaim.ALL
    protected_pods: frozenset[str] = frozenset()
    """Uids never to be evicted beside the critical ones: evictd's own pod."""
    image_gc: ImageGCPolicy = ImageGCPolicy()
    container_gc: ContainerGCPolicy = ContainerGCPolicy()
