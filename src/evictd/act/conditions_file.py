"""Writes the node's pressure conditions to a JSON file, for nodes without an API server.

The three pressure conditions in Kubernetes' own form, with the kubelet's reasons and messages (kubelet
`nodestatus/setters.go`), in one JSON file that is replaced atomically. `lastTransitionTime` moves only when
a status changes; the heartbeat moves with every report. The file is read at start, so that a restart is
no transition.
"""

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from pathlib import Path

from evictd.codec.plain import Form
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
    status: str
    """`True` or `False`."""
    last_heartbeat_time: str
    last_transition_time: str
    reason: str
    message: str


_CONDITIONS = tuple[ReportedCondition, ...]
_FORM = Form({})


def transitions(
    before: Mapping[NodeCondition, ReportedCondition], active: Iterable[NodeCondition], wall: int
) -> dict[NodeCondition, ReportedCondition]:
    """Update every condition; reason, message and transition time change only with the status."""
    pressing, heartbeat = frozenset(active), rfc3339(wall)
    after = {}
    for condition in NodeCondition:
        status, known = str(condition in pressing), before.get(condition)
        if known is not None and known.status == status:
            after[condition] = replace(known, last_heartbeat_time=heartbeat)
            continue
        reason, message = condition_text(condition, condition in pressing)
        after[condition] = ReportedCondition(
            type=condition,
            status=status,
            last_heartbeat_time=heartbeat,
            last_transition_time=heartbeat,
            reason=reason,
            message=message,
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
    return {condition: reported.status == "True" for condition, reported in conditions.items()}


def encode_conditions(conditions: Iterable[ReportedCondition]) -> bytes:
    """Encode conditions as in a node's `status.conditions`."""
    return json.dumps({"conditions": _FORM.encode(_CONDITIONS, conditions)}, indent=2).encode() + b"\n"


def _read(path: Path, read_file: Callable[[Path, int], bytes]) -> dict[NodeCondition, ReportedCondition]:
    """Read what the previous run reported; a missing or damaged file counts as none."""
    try:
        plain = json.loads(read_file(path, _MOST_BYTES))["conditions"]
        found: tuple[ReportedCondition, ...] = _FORM.decode(_CONDITIONS, plain, "conditions")
    except (OSError, InputError, ValueError, KeyError, TypeError, RecursionError):
        return {}
    return {condition.type: condition for condition in found}
