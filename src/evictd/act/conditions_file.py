"""Writes the node's pressure conditions to a JSON file, for nodes without an API server.

The three pressure conditions in Kubernetes' own form, with the kubelet's reasons and messages (kubelet
`nodestatus/setters.go`), in one JSON file that is replaced atomically. `lastTransitionTime` moves only when
a status changes; the heartbeat moves with every report. The file is read at start, so that a restart is
no transition.
"""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from evictd.codec.times import rfc3339
from evictd.core.frozen import frozen
from evictd.core.model.condition_text import condition_text, transition_events
from evictd.core.model.decision import RecordEvent
from evictd.core.model.signal import NodeCondition
from evictd.errors import InputError

_MOST_BYTES = 1 << 20
"""The file has less than a thousand."""


@frozen
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
    """Update every condition; reason, message and transition time change only with the status."""
    pressing, heartbeat = frozenset(active), rfc3339(wall)
    after = {}
    for condition in NodeCondition:
        status, known = condition in pressing, before.get(condition)
        if known is not None and known.status is status:
            after[condition] = replace(known, last_heartbeat_time=heartbeat)
            continue
        reason, message = condition_text(condition, status)
        after[condition] = ReportedCondition(
            type=condition,
            status=status,
            reason=reason,
            message=message,
            last_heartbeat_time=heartbeat,
            last_transition_time=heartbeat,
        )
    return after


class ConditionsFile:
    """Reports the conditions of a standalone node; `replace_file` replaces the file's content, immediately or later.

    `read_file` reads a file of at most that many bytes; it raises OSError or `InputError`.
    """

    def __init__(
        self,
        path: Path,
        *,
        node: str,
        replace_file: Callable[[Path, bytes], object],
        read_file: Callable[[Path, int], bytes],
    ) -> None:
        self.reported: dict[NodeCondition, ReportedCondition] = _read(path, read_file)
        self._path = path
        self._node = node
        self._replace_file = replace_file

    def report(self, active: Iterable[NodeCondition], wall: int) -> tuple[RecordEvent, ...]:
        """Write the conditions with a new heartbeat, and return the events of the transitions."""
        before, self.reported = self.reported, transitions(self.reported, active, wall)
        self._replace_file(self._path, encode_conditions(self.reported.values()))
        return transition_events(_statuses(before), _statuses(self.reported), self._node)


def _statuses(conditions: Mapping[NodeCondition, ReportedCondition]) -> dict[NodeCondition, bool]:
    return {condition: reported.status for condition, reported in conditions.items()}


def encode_conditions(conditions: Iterable[ReportedCondition]) -> bytes:
    """Encode conditions as in a node's `status.conditions`."""
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


def _read(path: Path, read_file: Callable[[Path, int], bytes]) -> dict[NodeCondition, ReportedCondition]:
    """Read what the previous run reported; a missing or damaged file counts as none."""
    try:
        entries: Sequence[Mapping[str, Any]] = json.loads(read_file(path, _MOST_BYTES))["conditions"]
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
    except (OSError, InputError, ValueError, KeyError, TypeError, RecursionError):
        return {}
    return {condition.type: condition for condition in found}
