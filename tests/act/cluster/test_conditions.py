"""Node conditions as the API server holds them."""

import pytest

from evictd.act.cluster.conditions import TAINTS, VALID, ConditionReport, holds_until, node_transition_events, orphans
from evictd.clients.kube.nodes import Condition
from evictd.codec.times import rfc3339
from evictd.config.settings import ConditionTypes
from evictd.core.model.signal import NodeCondition
from evictd.core.units.duration import SECOND
from tests.kube.objects import sample

MEMORY = frozenset({NodeCondition.MEMORY_PRESSURE})
CALM: frozenset[NodeCondition] = frozenset()
WALL = 1_795_000_000 * SECOND


def test_built_in_words_are_the_kubelets() -> None:
    """As recorded on a real node, for all three conditions while they are False."""
    recorded = {c["type"]: (c["reason"], c["message"]) for c in sample("node")["status"]["conditions"]}
    for condition in ConditionReport(types=ConditionTypes.BUILT_IN, active=CALM).conditions({}, WALL):
        assert recorded[condition.type] == (condition.reason, condition.message)


def test_own_words_name_evictd_and_say_how_long_they_hold() -> None:
    """A True condition carries its end."""
    memory, disk, _ = ConditionReport(types=ConditionTypes.OWN, active=MEMORY).conditions({}, WALL)
    assert (memory.type, memory.status, memory.reason) == (
        "EvictdMemoryPressure",
        "True",
        "EvictdHasInsufficientMemory",
    )
    assert memory.message.startswith("evictd has insufficient memory available (")
    assert f"valid until {rfc3339(WALL + VALID)}" in memory.message
    assert (disk.reason, disk.message) == ("EvictdHasNoDiskPressure", "evictd has no disk pressure")


def test_the_transition_time_moves_only_with_the_status() -> None:
    """Left out of the patch, the one that is there stays."""
    old = Condition(type="EvictdMemoryPressure", status="True", last_transition_time=rfc3339(WALL - SECOND))
    memory, disk, _ = ConditionReport(types=ConditionTypes.OWN, active=MEMORY).conditions({old.type: old}, WALL)
    assert (memory.last_transition_time, disk.last_transition_time) == ("", rfc3339(WALL))


def test_a_condition_without_a_transition_time_gets_one() -> None:
    """One that was patched onto a node registered anew has none."""
    known = {"EvictdMemoryPressure": Condition(type="EvictdMemoryPressure", status="True")}
    report = ConditionReport(types=ConditionTypes.OWN, active=MEMORY)
    assert report.conditions(known, WALL)[0].last_transition_time == rfc3339(WALL)
    shown = {condition.type: condition for condition in report.conditions({}, WALL)}
    assert not report.holds({**shown, **known})


def test_a_condition_left_by_a_crash_is_recognised() -> None:
    """By its message, once its time has passed; False ones and those of other writers never."""
    written = ConditionReport(types=ConditionTypes.OWN, active=MEMORY).conditions({}, WALL)
    others = [Condition(type="Ready", status="True", message="kubelet is posting ready status")]
    assert [holds_until(each) for each in (*written, *others)] == [WALL + VALID, 0, 0, 0]
    damaged = Condition(type="EvictdMemoryPressure", status="True", message="reported by evictd, valid until noon")
    assert holds_until(damaged) == 0


def test_after_a_clean_stop_nothing_holds() -> None:
    """Own types say that evictd was stopped; built-in ones are what the kubelet would write."""
    own = ConditionReport(types=ConditionTypes.OWN, active=CALM, stopped=True).conditions({}, WALL)
    assert {(c.status, c.reason) for c in own} == {("False", "EvictdStopped")}
    built_in = ConditionReport(types=ConditionTypes.BUILT_IN, active=CALM, stopped=True).conditions({}, WALL)
    assert built_in[0].reason == "KubeletHasSufficientMemory"


@pytest.mark.parametrize("types", [ConditionTypes.BUILT_IN, ConditionTypes.OWN])
def test_what_holds(types: ConditionTypes) -> None:
    """All three must be there with their status."""
    report = ConditionReport(types=types, active=MEMORY)
    shown = {condition.type: condition for condition in report.conditions({}, WALL)}
    assert report.holds(shown)
    assert not ConditionReport(types=types, active=CALM).holds(shown)
    assert not report.holds({})


def test_transition_events() -> None:
    """The kubelet's for the built-in types; the first report is three."""
    first = ConditionReport(types=ConditionTypes.BUILT_IN, active=CALM)
    assert len(node_transition_events(None, first, "n1")) == 3
    (event,) = node_transition_events(first, ConditionReport(types=ConditionTypes.BUILT_IN, active=MEMORY), "n1")
    recorded = [e["message"] for e in sample("events")["items"] if e["reason"] == "NodeHasInsufficientMemory"]
    assert event.message in recorded
    (event,) = node_transition_events(first, ConditionReport(types=ConditionTypes.OWN, active=MEMORY), "n1")
    assert event.reason == "EvictdHasInsufficientMemory"


def test_every_taint_has_our_prefix() -> None:
    """No other key may ever be touched."""
    assert all(key.startswith("evictd.io/") for key in TAINTS.values())
    assert set(TAINTS) == set(NodeCondition)


def test_a_condition_of_the_kubelets_is_no_orphan() -> None:
    """Whether a True one is evictd's, its message says; evictd's own types are written by evictd alone."""
    known = {name: Condition(type=name, status="True") for name in ("MemoryPressure", "EvictdMemoryPressure")}
    assert orphans(known, ConditionTypes.OWN, WALL) == ()
    assert [each.type for each in orphans(known, ConditionTypes.BUILT_IN, WALL)] == ["EvictdMemoryPressure"]
