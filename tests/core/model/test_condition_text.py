"""Reasons, messages and events of the node conditions."""

import pytest

from evictd.core.model.condition_text import condition_text, transition_events
from evictd.core.model.signal import NodeCondition

MEMORY, DISK, PID = NodeCondition


@pytest.mark.parametrize("condition", list(NodeCondition))
@pytest.mark.parametrize("status", [True, False])
def test_only_the_name_differs_between_reporters(condition: NodeCondition, status: bool) -> None:
    """The kubelet's name is replaced by evictd's in evictd's own types."""
    reason, message = condition_text(condition, status)
    assert (reason[:7], message[:8]) == ("Kubelet", "kubelet ")
    assert condition_text(condition, status, "evictd") == (f"Evictd{reason[7:]}", f"evictd {message[8:]}")


def test_each_change_of_a_status_is_one_event() -> None:
    """The first report of a condition is a transition as well."""
    calm = dict.fromkeys(NodeCondition, False)
    assert [event.reason for event in transition_events({}, calm, "n")] == [
        "NodeHasSufficientMemory",
        "NodeHasNoDiskPressure",
        "NodeHasSufficientPID",
    ]
    assert transition_events(calm, calm, "n") == ()
    (event,) = transition_events(calm, {**calm, DISK: True}, "n", subject="Evictd")
    assert (event.type, event.message) == ("Normal", "Node n status is now: EvictdHasDiskPressure")
