"""Words the node conditions: reasons and messages of the status, and the events of transitions.

All are the kubelet's (`nodestatus/setters.go`). Where evictd reports conditions of its own types beside a
kubelet's, its name takes the place of the kubelet's.
"""

from collections.abc import Mapping

from evictd.core.model.decision import RecordEvent
from evictd.core.model.signal import NodeCondition

_TEXTS = {
    (NodeCondition.MEMORY_PRESSURE, True): ("HasInsufficientMemory", "has insufficient memory available"),
    (NodeCondition.MEMORY_PRESSURE, False): ("HasSufficientMemory", "has sufficient memory available"),
    (NodeCondition.DISK_PRESSURE, True): ("HasDiskPressure", "has disk pressure"),
    (NodeCondition.DISK_PRESSURE, False): ("HasNoDiskPressure", "has no disk pressure"),
    (NodeCondition.PID_PRESSURE, True): ("HasInsufficientPID", "has insufficient PID available"),
    (NodeCondition.PID_PRESSURE, False): ("HasSufficientPID", "has sufficient PID available"),
}

KUBELET = "kubelet"


def condition_text(condition: NodeCondition, status: bool, reporter: str = KUBELET) -> tuple[str, str]:
    """Return reason and message of a condition with this status, as `reporter` words them."""
    reason, message = _TEXTS[condition, status]
    return reporter.capitalize() + reason, f"{reporter} {message}"


def transition_events(
    before: Mapping[NodeCondition, bool], after: Mapping[NodeCondition, bool], node: str, *, subject: str = "Node"
) -> tuple[RecordEvent, ...]:
    """List the node events of the transitions between two statuses, by condition; the first report of a condition is one as well.

    `subject` is the first word of the reason.
    """
    return tuple(
        RecordEvent(
            type="Normal",
            reason=(reason := subject + _TEXTS[condition, status][0]),
            message=f"Node {node} status is now: {reason}",
        )
        for condition, status in after.items()
        if before.get(condition) is not status
    )
