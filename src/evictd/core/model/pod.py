"""Declares a pod with the fields of v1.Pod that eviction needs.

The sums of its requests and limits (`resource_totals`), and whether it is critical, are computed once, when the pod is built.
"""

from collections.abc import Mapping
from dataclasses import field
from enum import Enum

from evictd.core.frozen import frozen
from evictd.core.model.resources import (
    Container,
    PodLevelResources,
    PodResources,
    QOSClass,
    Resources,
    Volume,
    compute_qos_class,
    pod_resources,
)

SYSTEM_CRITICAL_PRIORITY = 2_000_000_000
MOST_LABELS = 256
"""Labels that are kept of a pod of this node: its author can give it 110,000, which take 10 MiB."""
PENDING = "Pending"
_TERMINAL_PHASES = frozenset({"Failed", "Succeeded"})
_QOS_CLASSES = frozenset(qos.value for qos in QOSClass)


class PodSource(Enum):
    """Where the pod comes from; static pods and their mirrors are never evicted."""

    API = "api"
    STATIC = "static"
    MIRROR = "mirror"


@frozen
class Toleration:
    """A toleration of the pod's spec, as written."""

    key: str = ""
    operator: str = ""
    value: str = ""
    effect: str = ""


@frozen
class Pod:
    """A pod bound to this node."""

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
    host_users: bool = True
    """False where the spec gives the pod a user namespace of its own, so that its root is not the node's."""
    labels: Mapping[str, str] = field(default_factory=dict)
    """As the pod's author wrote them: only `ranking` of the configuration may match them."""
    owner: str = ""
    """`Kind/name` of the controlling owner."""
    owner_uid: str = ""
    """Its uid; empty where that is not known."""
    spec_known: bool = True
    """False for a pod known from the runtime only: requests and priority are then unknown, not zero."""
    volumes_known: bool = True
    """False where it could not be found out which volumes the pod has: what is measured of its disk usage is then not all."""
    resource_totals: PodResources = field(init=False, repr=False, compare=False)
    critical: bool = field(init=False, repr=False, compare=False)
    """Whether the pod is never evicted and always admitted (kubelet `types.IsCriticalPod`)."""

    def __post_init__(self) -> None:
        totals = pod_resources(
            self.containers,
            self.init_containers,
            level=self.resources,
            overhead=self.overhead,
            volumes=self.volumes,
        )
        object.__setattr__(self, "resource_totals", totals)
        critical = self.source is not PodSource.API or self.priority >= SYSTEM_CRITICAL_PRIORITY
        object.__setattr__(self, "critical", critical)

    @property
    def terminal(self) -> bool:
        """Whether the phase is final, Failed or Succeeded."""
        return self.phase in _TERMINAL_PHASES

    @property
    def full_name(self) -> str:
        """`namespace/name`."""
        return f"{self.namespace}/{self.name}"

    @property
    def qos_class(self) -> QOSClass:
        """The class in the status if it is a valid one, else computed from the spec."""
        if self.status_qos_class in _QOS_CLASSES:
            return QOSClass(self.status_qos_class)
        return compute_qos_class((*self.containers, *self.init_containers), self.resources)
