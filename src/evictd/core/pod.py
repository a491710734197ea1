"""What a pod is to an eviction: who it is, what it asked for, whether it may be touched.

A slim v1.Pod. What it comes to is in `accounts`, summed once, when the pod is built.
"""

from dataclasses import dataclass, field
from enum import Enum

from evictd.core.accounts import PodAccounts, settle
from evictd.core.qos import QOSClass, compute_qos_class
from evictd.core.resources import Container, PodLevelResources, Resources
from evictd.core.volume import Volume

SYSTEM_CRITICAL_PRIORITY = 2_000_000_000


class PodSource(Enum):
    """Where the pod comes from; static pods and their mirrors are never evicted."""

    API = "api"
    STATIC = "static"
    MIRROR = "mirror"


@dataclass(frozen=True, slots=True, kw_only=True)
class Toleration:
    """A toleration of the pod's spec, as written."""

    key: str = ""
    operator: str = ""
    value: str = ""
    effect: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pod:
    """A pod that runs, or may run, on this node."""

    name: str
    namespace: str
    uid: str
    priority: int = 0
    priority_class_name: str = ""
    source: PodSource = PodSource.API
    phase: str = ""
    status_qos_class: str = ""
    generation: int = 0
    termination_grace_period_seconds: int | None = None
    deletion_grace_period_seconds: int | None = None
    """Set while the pod is being deleted."""
    containers: tuple[Container, ...] = ()
    init_containers: tuple[Container, ...] = ()
    resources: PodLevelResources | None = None
    overhead: Resources = field(default_factory=dict)
    volumes: tuple[Volume, ...] = ()
    tolerations: tuple[Toleration, ...] = ()
    owner: str = ""
    """`Kind/name` of the controlling owner."""
    spec_known: bool = True
    """False where only the runtime told of this pod: requests, priority and volumes are then unknown, not zero."""
    accounts: PodAccounts = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        accounts = settle(
            self.containers,
            self.init_containers,
            level=self.resources,
            overhead=self.overhead,
            volumes=self.volumes,
        )
        object.__setattr__(self, "accounts", accounts)

    @property
    def full_name(self) -> str:
        """`namespace/name`."""
        return f"{self.namespace}/{self.name}"

    @property
    def critical(self) -> bool:
        """Never evicted, always admitted (kubelet `types.IsCriticalPod`)."""
        return self.source is not PodSource.API or self.priority >= SYSTEM_CRITICAL_PRIORITY

    @property
    def qos_class(self) -> QOSClass:
        """The class in the status if there is one, else computed from the spec."""
        if self.status_qos_class:
            return QOSClass(self.status_qos_class)
        return compute_qos_class((*self.containers, *self.init_containers), self.resources)
