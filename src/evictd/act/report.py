"""What does the node report about itself, and where does that go without an API server?

The three pressure conditions in Kubernetes' own form, with the kubelet's reasons and messages (kubelet
`nodestatus/setters.go`, spec 6.6), in one JSON file that is replaced atomically. `lastTransitionTime` moves only when
a status changes; the heartbeat moves with every report. What was written survives a restart, so that a restart is no
transition.
"""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from evictd.core.decision import RecordEvent
from evictd.core.duration import SECOND
from evictd.core.signal import NodeCondition

CONDITION_TEXTS = {
    (NodeCondition.MEMORY_PRESSURE, True): (
        "KubeletHasInsufficientMemory",
        "kubelet has insufficient memory available",
    ),
    (NodeCondition.MEMORY_PRESSURE, False): ("KubeletHasSufficientMemory", "kubelet has sufficient memory available"),
    (NodeCondition.DISK_PRESSURE, True): ("KubeletHasDiskPressure", "kubelet has disk pressure"),
    (NodeCondition.DISK_PRESSURE, False): ("KubeletHasNoDiskPressure", "kubelet has no disk pressure"),
    (NodeCondition.PID_PRESSURE, True): ("KubeletHasInsufficientPID", "kubelet has insufficient PID available"),
    (NodeCondition.PID_PRESSURE, False): ("KubeletHasSufficientPID", "kubelet has sufficient PID available"),
}

TRANSITION_REASONS = {
    (NodeCondition.MEMORY_PRESSURE, True): "NodeHasInsufficientMemory",
    (NodeCondition.MEMORY_PRESSURE, False): "NodeHasSufficientMemory",
    (NodeCondition.DISK_PRESSURE, True): "NodeHasDiskPressure",
    (NodeCondition.DISK_PRESSURE, False): "NodeHasNoDiskPressure",
    (NodeCondition.PID_PRESSURE, True): "NodeHasInsufficientPID",
    (NodeCondition.PID_PRESSURE, False): "NodeHasSufficientPID",
}
"""The reason of the event that goes with a transition (spec 6.2)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportedCondition:
    """One condition as reported; times are seconds of the wall clock as text, RFC 3339 as Kubernetes writes it."""

    type: NodeCondition
    status: bool
    reason: str
    message: str
    last_heartbeat_time: str
    last_transition_time: str


def transitions(
    before: Mapping[NodeCondition, ReportedCondition], active: Iterable[NodeCondition], wall: int
) -> dict[NodeCondition, ReportedCondition]:
    """Bring every condition up to date; reason, message and transition time change only with the status."""
    pressing, heartbeat = frozenset(active), rfc3339(wall)
    after = {}
    for condition in NodeCondition:
        status, known = condition in pressing, before.get(condition)
        if known is not None and known.status is status:
            after[condition] = replace(known, last_heartbeat_time=heartbeat)
            continue
        reason, message = CONDITION_TEXTS[condition, status]
        after[condition] = ReportedCondition(
            type=condition,
            status=status,
            reason=reason,
            message=message,
            last_heartbeat_time=heartbeat,
            last_transition_time=heartbeat,
        )
    return after


def transition_events(
    before: Mapping[NodeCondition, ReportedCondition], after: Mapping[NodeCondition, ReportedCondition], node: str
) -> tuple[RecordEvent, ...]:
    """List the node events that these transitions call for; the first report ever is a transition as well."""
    changed = [c for c in after.values() if c.type not in before or before[c.type].status is not c.status]
    return tuple(
        RecordEvent(
            type="Normal",
            reason=(reason := TRANSITION_REASONS[condition.type, condition.status]),
            message=f"Node {node} status is now: {reason}",
        )
        for condition in changed
    )


def rfc3339(wall: int) -> str:
    """Write nanoseconds since the epoch as Kubernetes' `metav1.Time`."""
    return datetime.fromtimestamp(wall // SECOND, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


class ConditionsFile:
    """Report on a node without an API server; `replace_file` puts a new content in place, later or at once."""

    def __init__(self, path: Path, *, node: str, replace_file: Callable[[Path, bytes], object]) -> None:
        self.reported: dict[NodeCondition, ReportedCondition] = _read(path)
        self._path = path
        self._node = node
        self._replace_file = replace_file

    def report(self, active: Iterable[NodeCondition], wall: int) -> tuple[RecordEvent, ...]:
        """Write the conditions, heartbeat included, and give the events that go with what changed."""
        before, self.reported = self.reported, transitions(self.reported, active, wall)
        self._replace_file(self._path, encode_conditions(self.reported.values()))
        return transition_events(before, self.reported, self._node)


def encode_conditions(conditions: Iterable[ReportedCondition]) -> bytes:
    """Write conditions as the list that a node's status has."""
    entries = [
        {
            "type": condition.type.value,
            "status": "True" if condition.status else "False",
            "lastHeartbeatTime": condition.last_heartbeat_time,
            "lastTransitionTime": condition.last_transition_time,
            "reason": condition.reason,
            "message": condition.message,
        }
        for condition in conditions
    ]
    return json.dumps({"conditions": entries}, indent=2).encode() + b"\n"


def _read(path: Path) -> dict[NodeCondition, ReportedCondition]:
    """Take up what an earlier run reported; a file that says nothing usable counts as none."""
    try:
        entries: Sequence[Mapping[str, Any]] = json.loads(path.read_bytes())["conditions"]
        found = [
            ReportedCondition(
                type=NodeCondition(entry["type"]),
                status=entry["status"] == "True",
                reason=str(entry["reason"]),
                message=str(entry["message"]),
                last_heartbeat_time=str(entry["lastHeartbeatTime"]),
                last_transition_time=str(entry["lastTransitionTime"]),
            )
            for entry in entries
        ]
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return {}
    return {condition.type: condition for condition in found}
