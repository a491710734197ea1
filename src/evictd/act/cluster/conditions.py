"""What does the node say about its pressure, word for word?

Where a kubelet reports, the built-in types are its own and are rewritten by it every ten seconds; evictd then has types of
its own beside them. A condition that is True says until when it holds unless renewed, so that one left behind by a crash is
recognised by its own words. Reasons and messages are the kubelet's (`nodestatus/setters.go`, spec 6.6), with evictd's name on
its own types.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import Enum

from evictd.clients.kube.nodes import Condition
from evictd.core.decision import RecordEvent
from evictd.core.duration import SECOND
from evictd.core.signal import NodeCondition

VALID = 180 * SECOND
"""How long a True condition holds without being renewed; three times the rhythm at which it is."""
STOPPED_REASON = "EvictdStopped"

_TEXTS = {
    (NodeCondition.MEMORY_PRESSURE, True): ("HasInsufficientMemory", "has insufficient memory available"),
    (NodeCondition.MEMORY_PRESSURE, False): ("HasSufficientMemory", "has sufficient memory available"),
    (NodeCondition.DISK_PRESSURE, True): ("HasDiskPressure", "has disk pressure"),
    (NodeCondition.DISK_PRESSURE, False): ("HasNoDiskPressure", "has no disk pressure"),
    (NodeCondition.PID_PRESSURE, True): ("HasInsufficientPID", "has insufficient PID available"),
    (NodeCondition.PID_PRESSURE, False): ("HasSufficientPID", "has sufficient PID available"),
}

TAINTS = {
    NodeCondition.MEMORY_PRESSURE: "evictd.io/memory-pressure",
    NodeCondition.DISK_PRESSURE: "evictd.io/disk-pressure",
    NodeCondition.PID_PRESSURE: "evictd.io/pid-pressure",
}
"""The only taint keys that evictd ever touches; effect NoSchedule."""


class Types(Enum):
    """Under which names the conditions go."""

    BUILT_IN = "BuiltIn"
    OWN = "Own"

    def name_of(self, condition: NodeCondition) -> str:
        """Give the condition's type in the API."""
        return condition.value if self is Types.BUILT_IN else f"Evictd{condition.value}"

    @property
    def reporter(self) -> tuple[str, str]:
        """Give the beginning of a reason and of a message."""
        return ("Kubelet", "kubelet") if self is Types.BUILT_IN else ("Evictd", "evictd")


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """What is to be said: which conditions hold, and under which names."""

    types: Types
    active: frozenset[NodeCondition]
    stopped: bool = False
    """evictd has ended: nothing is reported any more."""

    def conditions(self, known: Mapping[str, Condition], wall: int) -> tuple[Condition, ...]:
        """Write all three; a transition time is given only where the status differs from what is known."""
        return tuple(self._condition(condition, known, wall) for condition in NodeCondition)

    def _condition(self, condition: NodeCondition, known: Mapping[str, Condition], wall: int) -> Condition:
        name, held = self.types.name_of(condition), condition in self.active
        status = "True" if held else "False"
        reason, message = self._texts(condition, held, wall)
        old = known.get(name)
        same = old is not None and old.status == status
        return Condition(
            type=name,
            status=status,
            reason=reason,
            message=message,
            last_heartbeat_time=rfc3339(wall),
            last_transition_time="" if same else rfc3339(wall),
        )

    def _texts(self, condition: NodeCondition, held: bool, wall: int) -> tuple[str, str]:
        if self.stopped and self.types is Types.OWN:
            return STOPPED_REASON, "evictd was stopped; it reports nothing"
        reason, message = _TEXTS[condition, held]
        prefix, subject = self.types.reporter
        until = f" (reported by evictd, valid until {rfc3339(wall + VALID)} unless renewed)" if held else ""
        return prefix + reason, f"{subject} {message}{until}"

    def holds(self, known: Mapping[str, Condition]) -> bool:
        """Whether the API shows what is to be said: all three types with the right status."""
        return all(
            (found := known.get(self.types.name_of(condition))) is not None
            and found.status == ("True" if condition in self.active else "False")
            for condition in NodeCondition
        )


def transition_events(before: Report | None, after: Report, node: str) -> tuple[RecordEvent, ...]:
    """List the node events that go with a change; the first report ever is one as well (spec 6.2)."""
    changed = [
        condition
        for condition in NodeCondition
        if before is None or (condition in before.active) is not (condition in after.active)
    ]
    return tuple(_event(condition, condition in after.active, after.types, node) for condition in changed)


def _event(condition: NodeCondition, held: bool, types: Types, node: str) -> RecordEvent:
    reason = ("Node" if types is Types.BUILT_IN else "Evictd") + _TEXTS[condition, held][0]
    return RecordEvent(type="Normal", reason=reason, message=f"Node {node} status is now: {reason}")


def stale(known: Iterable[Condition], wall: int) -> tuple[str, ...]:
    """Name the True conditions of evictd that say themselves that they no longer hold."""
    found = []
    for condition in known:
        _, marked, rest = condition.message.partition("valid until ")
        if condition.status == "True" and marked and rest[:20] < rfc3339(wall):
            found.append(condition.type)
    return tuple(found)


def rfc3339(wall: int, *, micro: bool = False) -> str:
    """Write nanoseconds since the epoch as Kubernetes' `metav1.Time`, or with microseconds as its `MicroTime`."""
    time = datetime.fromtimestamp(wall // SECOND, UTC)
    if micro:
        return time.strftime("%Y-%m-%dT%H:%M:%S") + f".{wall % SECOND // 1000:06d}Z"
    return time.strftime("%Y-%m-%dT%H:%M:%SZ")
