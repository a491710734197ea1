"""Pods that another component deleted are victims in flight."""

from dataclasses import replace

from evictd.core.eviction.leaving import worth_shortening
from evictd.core.model.finding import NoAction, NoActionReason
from evictd.core.model.signal import Signal
from evictd.core.model.state import Victim
from tests.playbook import Playbook, config, pod, usage

OLD = pod("old", memory="8Gi", grace=60)
SIDECAR = pod("sidecar", memory="64Mi")
SHORT = "500Mi of 8Gi"


def rolling_update(**thresholds: object) -> Playbook:
    """The old pod of an update holds 3Gi and is being deleted; a sidecar exceeds its request a little."""
    uses = [usage(OLD, memory="3Gi"), usage(SIDECAR, memory="80Mi")]
    deleted = replace(OLD, deletion_grace_period_seconds=60)
    return Playbook(config(**thresholds), pods=[deleted, SIDECAR], usage=uses)  # type: ignore[arg-type]


def test_a_hard_threshold_shortens_a_pod_that_leaves_and_evicts_no_other() -> None:
    book = rolling_update(hard={"memory.available": "1Gi"})
    book.at("0s", memory=SHORT).conditions("MemoryPressure").evicts("old", grace=1, shortens=True).does_nothing()
    book.at("1s", memory=SHORT, gone=[]).does_nothing()
    book.at("2s", memory="3500Mi of 8Gi", gone=["old"]).does_nothing()


def test_a_soft_threshold_waits_for_what_a_pod_that_leaves_gives_back() -> None:
    book = rolling_update(soft={"memory.available": ("1Gi", "1s")})
    book.at("0s", memory=SHORT).conditions("MemoryPressure").does_nothing()
    book.at("2s", memory=SHORT).does_nothing()
    assert [(f.why, f.detail) for f in book.findings(NoAction)] == [(NoActionReason.WAITING_FOR_RELEASE, "default/old")]


def test_one_that_does_not_suffice_holds_up_nothing_and_one_past_its_deadline_owes_nothing() -> None:
    settings = {"soft": {"memory.available": ("6Gi", "1s")}}
    book = rolling_update(**settings)
    book.at("0s", memory=SHORT).conditions("MemoryPressure").does_nothing()
    book.at("2s", memory=SHORT).evicts("sidecar")
    book = rolling_update(soft={"memory.available": ("1Gi", "1s")})
    book.at("0s", memory=SHORT).conditions("MemoryPressure").does_nothing()
    for now in range(1, 13):
        book.at(f"{now * 10}s", memory=SHORT).does_nothing()
    book.at("130s", memory=SHORT)
    assert [f.why for f in book.findings(NoAction)] == [NoActionReason.PROTECTED_CULPRIT], "it is the culprit now"
    book.left.clear()


def test_only_as_many_are_shortened_as_give_back_what_is_missing() -> None:
    victims = [
        Victim(uid=name, full_name=name, owed={Signal.MEMORY_AVAILABLE: held})
        for name, held in zip("abc", (5, 30, 20), strict=True)
    ]
    assert [v.uid for v in worth_shortening(victims, victims, Signal.MEMORY_AVAILABLE, 40)] == ["b", "c"]
    assert [v.uid for v in worth_shortening(victims, victims[1:], Signal.MEMORY_AVAILABLE, 40)] == ["a", "b", "c"]
    assert [v.uid for v in worth_shortening(victims, victims[1:], Signal.MEMORY_AVAILABLE, 5)] == ["a"]
