"""Owners whose pods are evicted again and again."""

from dataclasses import replace

from evictd.act.cluster.events import owner_reference
from evictd.act.repeated import WITHIN, RepeatedEvictions, repeated_eviction
from evictd.core.model.decision import EvictionCause, EvictionReason, EvictPod
from evictd.core.units.duration import MINUTE
from evictd.core.units.quantity import of_bytes
from tests.playbook import pod, threshold

OWNED = replace(pod("web-1"), owner="ReplicaSet/web", owner_uid="u")
BECAUSE = EvictionCause(
    reason=EvictionReason.PRESSURE,
    threshold=threshold("memory.available", "1Gi"),
    usage=of_bytes(3 << 30),
    request=of_bytes(100 << 20),
)


def test_the_third_within_the_hour_is_one_too_many() -> None:
    """Each one after it as well, until the first of them are an hour ago; pods of another namespace are another owner's."""
    seen = RepeatedEvictions()
    assert [seen.note(OWNED, minute * MINUTE) for minute in (0, 10, 20, 30)] == [0, 0, 3, 4]
    assert seen.note(replace(OWNED, namespace="other"), 30 * MINUTE) == 0
    assert seen.note(OWNED, WITHIN + 15 * MINUTE) == 3
    assert seen.note(OWNED, 3 * WITHIN) == 0


def test_a_bare_pod_has_no_owner() -> None:
    seen = RepeatedEvictions()
    assert [seen.note(pod("a"), 0) for _ in range(5)] == [0] * 5
    assert owner_reference(pod("a")) is None


def test_only_known_kinds_have_an_event() -> None:
    """The admission policy allows no other; without a uid `kubectl describe` would not show it."""
    about = owner_reference(OWNED)
    assert about is not None
    assert (about.api_version, about.kind, about.name, about.uid) == ("apps/v1", "ReplicaSet", "web", "u")
    assert owner_reference(replace(OWNED, owner="VirtualMachine/web")) is None
    assert owner_reference(replace(OWNED, owner_uid="")) is None


def test_the_event_says_what_was_used_and_what_would_help() -> None:
    """Of the last pod; for a limit of its own the remedy is another one."""
    evicted = EvictPod(pod=OWNED, grace_period_seconds=1, message="m", because=BECAUSE)
    assert repeated_eviction(evicted, 3, "n1").message == (
        "3 pods of this ReplicaSet were evicted from node n1 within an hour. The last one, web-1, used 3Gi of memory, "
        "requested 100Mi. A request of what it really uses lets the scheduler choose a node that has it; a limit bounds what it "
        "takes."
    )
    own = EvictionCause(reason=EvictionReason.POD_LIMIT, usage=of_bytes(1 << 20))
    assert "raise the limit" in repeated_eviction(replace(evicted, because=own), 3, "n1").message
