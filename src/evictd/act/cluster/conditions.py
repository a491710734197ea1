"""Encodes the node's pressure conditions for the API server.

Where a kubelet reports, the built-in types are its own and are rewritten by it every ten seconds; evictd then has types of
its own beside them. A condition that is True says until when it holds unless renewed, so that one left behind by a crash is
recognised by its message. Reasons and messages are the kubelet's (`nodestatus/setters.go`), with evictd's name on
its own types.
"""

from collections.abc import Mapping

from evictd.clients.kube.nodes import Condition
from evictd.codec.times import parse_time, rfc3339
from evictd.config.settings import ConditionTypes
from evictd.core.frozen import frozen
from evictd.core.model.condition_text import KUBELET, condition_text, transition_events
from evictd.core.model.decision import RecordEvent
from evictd.core.model.signal import NodeCondition
from evictd.core.units.duration import SECOND
from evictd.errors import InvalidValueError

VALID = 180 * SECOND
"""How long a True condition holds without a renewal: three times the interval of renewals."""
STOPPED_REASON = "EvictdStopped"
BY_EVICTD = "reported by evictd"
"""In the message of each condition that evictd writes as True."""
_VALID_UNTIL = "valid until "

TAINTS = {
    NodeCondition.MEMORY_PRESSURE: "evictd.io/memory-pressure",
    NodeCondition.DISK_PRESSURE: "evictd.io/disk-pressure",
    NodeCondition.PID_PRESSURE: "evictd.io/pid-pressure",
}
"""The only taint keys that evictd ever touches; effect NoSchedule."""


def condition_type(types: ConditionTypes, condition: NodeCondition) -> str:
    """Return the condition's type in the API, built in or evictd's own."""
    return condition.value if types is ConditionTypes.BUILT_IN else f"Evictd{condition.value}"


@frozen
class ConditionReport:
    """The conditions that hold, and the names under which they are reported."""

    types: ConditionTypes
    """Built-in or own."""
    active: frozenset[NodeCondition]
    stopped: bool = False
    """evictd has ended, or was made a dry run: nothing is reported any more."""

    def statuses(self) -> dict[NodeCondition, bool]:
        """Return whether each condition holds."""
        return {condition: condition in self.active for condition in NodeCondition}

    def conditions(self, known: Mapping[str, Condition], wall: int) -> tuple[Condition, ...]:
        """Return all three conditions; a transition time is set only where the status differs, or no time is known."""
        return tuple(self._condition(condition, known, wall) for condition in NodeCondition)

    def _condition(self, condition: NodeCondition, known: Mapping[str, Condition], wall: int) -> Condition:
        name, held = condition_type(self.types, condition), condition in self.active
        status = "True" if held else "False"
        reason, message = self._texts(condition, held, wall)
        old = known.get(name)
        same = old is not None and old.status == status and bool(old.last_transition_time)
        return Condition(
            type=name,
            status=status,
            reason=reason,
            message=message,
            last_heartbeat_time=rfc3339(wall),
            last_transition_time="" if same else rfc3339(wall),
        )

    def _texts(self, condition: NodeCondition, held: bool, wall: int) -> tuple[str, str]:
        if self.stopped and self.types is ConditionTypes.OWN:
            return STOPPED_REASON, "evictd was stopped, or made a dry run; it reports nothing"
        reporter = KUBELET if self.types is ConditionTypes.BUILT_IN else "evictd"
        reason, message = condition_text(condition, held, reporter)
        until = f" ({BY_EVICTD}, {_VALID_UNTIL}{rfc3339(wall + VALID)} unless renewed)" if held else ""
        return reason, f"{message}{until}"

    def holds(self, known: Mapping[str, Condition]) -> bool:
        """Whether the API server shows this report: all three types with the right status and a transition time."""
        return all(
            (found := known.get(condition_type(self.types, condition))) is not None
            and found.status == ("True" if condition in self.active else "False")
            and found.last_transition_time
            for condition in NodeCondition
        )


def taken_back(known: Mapping[str, Condition], types: ConditionTypes, wall: int) -> tuple[Condition, ...]:
    """Return all three conditions of types that are used no longer, as False."""
    return ConditionReport(types=types, active=frozenset(), stopped=True).conditions(known, wall)


def orphans(known: Mapping[str, Condition], types: ConditionTypes, wall: int) -> tuple[Condition, ...]:
    """Return as False what an earlier evictd left as True under the types other than `types`.

    It stopped under pressure, and handed over to one that reports under other names. A built-in condition without evictd's mark
    is the kubelet's.
    """
    other = ConditionTypes.BUILT_IN if types is ConditionTypes.OWN else ConditionTypes.OWN
    left = {
        each.type
        for each in known.values()
        if each.status == "True" and (other is ConditionTypes.OWN or BY_EVICTD in each.message)
    }
    return tuple(each for each in taken_back(known, other, wall) if each.type in left)


def node_transition_events(
    before: ConditionReport | None, after: ConditionReport, node: str
) -> tuple[RecordEvent, ...]:
    """List the node events of a change; the first report is a transition of each condition."""
    subject = "Node" if after.types is ConditionTypes.BUILT_IN else "Evictd"
    return transition_events({} if before is None else before.statuses(), after.statuses(), node, subject=subject)


def holds_until(condition: Condition) -> int:
    """Return until when a condition that evictd wrote as True holds, in ns since 1970; 0 for any other condition."""
    _, marked, rest = condition.message.partition(f"{BY_EVICTD}, {_VALID_UNTIL}")
    if condition.status != "True" or not marked:
        return 0
    try:
        return parse_time(rest.partition(" ")[0])
    except InvalidValueError:
        return 0
