"""What is known of a shortage."""

from evictd.core.eviction.laws.shortage import EVICTION_TIME, needed_with_growth, shortage_of
from evictd.core.eviction.reclaim import Layout
from evictd.core.model.finding import NoAction, NoActionReason
from evictd.core.model.observation import Observation, signal_observations
from evictd.core.model.signal import Resource, Signal
from evictd.core.model.state import Backoff, OwnerBackoff, State, Victim
from evictd.core.units.duration import MILLISECOND, SECOND
from evictd.core.units.quantity import of_bytes
from tests.playbook import config, node, pod, threshold, usage
from tests.shortages import row, shortage

A = pod("a", owner="ReplicaSet/a")


def test_what_is_missing_includes_the_minimum_reclaim_and_what_other_victims_owe() -> None:
    numbers = node(memory="60 of 1000", nodefs="500 of 1000")
    due = threshold("memory.available", "100", min_reclaim="50")
    owing = Victim(uid="v", cause=Signal.NODEFS_AVAILABLE, until=SECOND, owed={Signal.MEMORY_AVAILABLE: 30})
    backoff = Backoff(owners={"default/ReplicaSet/a": OwnerBackoff(level=0, evicted_at=0, until=0)})
    found = shortage_of(
        due,
        signal_observations(numbers)[due.signal],
        Observation(node=numbers, pods=(A,), pod_stats={"a": usage(A, memory="70", swap="5")}),
        State(in_flight=(owing,), backoff=backoff),
        config(),
        layout=Layout.SINGLE,
        now=0,
    )
    assert (found.missing, dict(found.held), set(found.recreated)) == (60, {"a": 70}, {"a"})
    assert found.eviction_time == EVICTION_TIME + 500 * MILLISECOND


def test_growth_comes_on_top() -> None:
    found = shortage({"a": 100, "b": 20}, missing=50, rate=7, grown={"a": 30}, elsewhere=12)
    assert found.with_growth(2) == 50 + 2 * 70
    assert found.growth == 42
    assert (found.grown_of("a"), found.grown_of("c")) == (30, 0)
    assert found.held_by([row("a", 100), row("b", 20), row("c", 1)]) == 120


def test_only_memory_and_disk_space_have_requests() -> None:
    over = row("a", 100, request=50)
    assert shortage({"a": 100}).exceeds(over)
    assert not shortage({"a": 100}, signal="pid.available").exceeds(over)
    assert not shortage({"a": 100}, signal="nodefs.inodesFree").exceeds(over)


def test_what_is_needed_with_growth_begins_with_what_is_missing_now() -> None:
    """More than a gibibyte was needed, and 72Mi were missing (world 42)."""
    finding = NoAction(why=NoActionReason.PROTECTED_CULPRIT, needed=of_bytes(2 << 30), missing=of_bytes(72 << 20))
    text = "if growth goes on while other pods end (40 s or more each)"
    assert needed_with_growth(finding, Resource.MEMORY) == f"72Mi is missing now, 2Gi {text}"
    least = NoAction(why=finding.why, needed=finding.needed, missing=of_bytes(1))
    assert needed_with_growth(least, Resource.MEMORY) == f"2Gi is needed {text}"
    now = NoAction(why=finding.why, needed=finding.needed, missing=finding.needed)
    assert needed_with_growth(now, Resource.MEMORY) == "2Gi is needed"
