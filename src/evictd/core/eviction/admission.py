"""Decides whether a new pod may start under pressure; a scenario asks it (`admit`), as evictd itself starts no pods."""

from collections.abc import Iterable

from evictd.core.eviction.choice.evict import EVICTED
from evictd.core.frozen import frozen
from evictd.core.model.pod import Pod, Toleration
from evictd.core.model.resources import QOSClass
from evictd.core.model.signal import NodeCondition

MEMORY_PRESSURE_TAINT = "node.kubernetes.io/memory-pressure"
NO_SCHEDULE = "NoSchedule"


@frozen
class Admission:
    """The answer; `reason` and `message` say why not."""

    admitted: bool
    reason: str = ""
    message: str = ""


def admit(pod: Pod, conditions: Iterable[NodeCondition]) -> Admission:
    """Decide on one pod: under memory pressure alone only best-effort pods without a toleration are turned away.

    Kubelet eviction manager `Admit`.
    """
    present = tuple(conditions)
    if not present or pod.critical:
        return Admission(admitted=True)
    if present == (NodeCondition.MEMORY_PRESSURE,) and (
        pod.qos_class is not QOSClass.BEST_EFFORT or any(_tolerates_memory_pressure(t) for t in pod.tolerations)
    ):
        return Admission(admitted=True)
    names = " ".join(sorted(condition.value for condition in present))
    return Admission(admitted=False, reason=EVICTED, message=f"The node had condition: [{names}]. ")


def _tolerates_memory_pressure(toleration: Toleration) -> bool:
    if toleration.effect not in {"", NO_SCHEDULE} or toleration.key not in {"", MEMORY_PRESSURE_TAINT}:
        return False
    return toleration.operator == "Exists" or (toleration.operator in {"", "Equal"} and toleration.value == "")
