"""Defines the decisions.

`Decision` is a closed union; the shell performs each kind in one place (`act.actuator`) and ends in `assert_never`. A decision
carries its reason as data.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field
from enum import Enum

from evictd.core.frozen import frozen
from evictd.core.model.observation import Reclaim
from evictd.core.model.pod import Pod
from evictd.core.model.signal import Filesystem, NodeCondition
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
    """Pressure: what was left."""
    usage: Quantity | None = None
    """The pod's own usage that counted."""
    usage_age: int | None = None
    """Nanoseconds since that was measured, where the pod was not measured in this reading."""
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


def begun_evictions(decisions: Iterable[object]) -> Iterator[EvictPod]:
    """Yield the evictions that begin; one that only shortens the grace period of a leaving pod is none."""
    return (each for each in decisions if isinstance(each, EvictPod) and not each.shortens)
