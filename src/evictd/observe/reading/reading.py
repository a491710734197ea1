"""Holds one reading of the node: the core's observation, and what actuators need beside it.

A decision knows the observation alone. Beside it are the runtime's listing with its ids, and the lifecycles of pods, which tell
what may be collected.
"""

from collections.abc import Mapping
from dataclasses import field

from evictd.codec.pods.slim_pods import SlimPod
from evictd.core.frozen import frozen
from evictd.core.gc.container_gc import PodLifecycles
from evictd.core.model.observation import Observation
from evictd.observe.runtime.runtime_view import RuntimeView


@frozen
class Reading:
    """One reading. `now` on the boot-time clock, `wall` since the epoch, both in nanoseconds."""

    now: int
    wall: int
    observation: Observation
    view: RuntimeView | None = None
    """The runtime's listing; `None` before its first answer. A listing of an earlier cycle has `current` false."""
    lifecycles: PodLifecycles | None = None
    reasons: Mapping[str, str] = field(default_factory=dict)
    """By uid of each evicted pod the reason why it was chosen and not another, for the pod's event."""
    evicted_by_kubelet: tuple[SlimPod, ...] | None = None
    """The last pods that a kubelet evicted, as `ActivePods` has them."""
