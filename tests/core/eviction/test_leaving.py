"""Pods that another component deleted are victims in flight, and what pods that are listed no more hold comes back."""

from dataclasses import replace
from typing import Any

import pytest

from evictd.core.model.decision import EvictPod, Wait
from evictd.core.model.finding import NoAction, NoActionReason
from evictd.core.model.observation import Filesystems, Reclaim, ReclaimOutcome, RemovedPod
from evictd.core.model.signal import Signal
from evictd.core.units.duration import SECOND
from tests.playbook import DEDICATED, NO_COLLECTING, SINGLE, SPLIT, Playbook, config, pod, usage

OLD = pod("old", memory="8Gi", grace=60)
SIDECAR = pod("sidecar", memory="64Mi")
SHORT = "500Mi of 8Gi"
NOTHING = (ReclaimOutcome(action=Reclaim.CONTAINERS), ReclaimOutcome(action=Reclaim.IMAGES))


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


# --- pods that are listed no more --------------------------------------------------------------------------------------------

FULL: dict[str, Any] = {"nodefs": "5Gi of 100Gi"}
LEFT = RemovedPod(first_seen=0, has_volumes=True)
RUNS = RemovedPod(first_seen=0, runs=True)


def short_of_disk(signal: str = "nodefs.available", layout: Filesystems = SINGLE) -> Playbook:
    """A sidecar that holds a little of a short disk, where the kubelet still removes the volumes of other pods."""
    uses = [usage(SIDECAR, volumes={"data": "1Gi"}, logs="0", rootfs="1Gi", memory="80Mi")]
    settings = config(hard={signal: "10Gi"}, **NO_COLLECTING)
    return Playbook(settings, pods=[SIDECAR], usage=uses, filesystems=layout)


def test_no_pod_goes_for_the_volumes_of_a_removed_pod() -> None:
    book = short_of_disk()
    book.at("0s", removed={"hog": LEFT}, **FULL).conditions("DiskPressure").does_nothing()
    (waiting,) = book.findings(NoAction)
    assert (waiting.why, waiting.detail) == (NoActionReason.WAITING_FOR_RELEASE, "removed pods (hog)")
    (wait,) = (each for each in book.step.decisions if isinstance(each, Wait))
    assert wait.nanoseconds <= SECOND
    book.at("2s", nodefs="50Gi of 100Gi").does_nothing()


def collected_beside_a_removed_pod() -> Playbook:
    """A disk whose collectors found nothing while the pod that filled it was still ending, deleted by force."""
    uses = [usage(SIDECAR, volumes={"data": "1Gi"}, logs="0", rootfs="1Gi", memory="80Mi")]
    book = Playbook(config(hard={"nodefs.available": "10Gi"}), pods=[SIDECAR], usage=uses)
    book.at("0s", removed={"hog": LEFT}, **FULL).conditions("DiskPressure")
    book.reclaims("containers", "images").does_nothing()
    for now in (1, 2, 3):
        book.at(f"{now}s", removed={"hog": LEFT}, reclaimed=NOTHING, **FULL).does_nothing()
    return book


def test_what_a_pod_deleted_by_force_has_left_is_collected_before_another_goes() -> None:
    """Its dead container, with a layer of 800 MiB, was there only after the collection: three neighbours went."""
    book = collected_beside_a_removed_pod()
    book.at("4s", **FULL).reclaims("containers", "images").does_nothing()
    book.at("5s", nodefs="50Gi of 100Gi", reclaimed=NOTHING).does_nothing()


def test_it_is_collected_once_and_not_while_a_volume_stays() -> None:
    book = collected_beside_a_removed_pod()
    book.at("4s", **FULL).reclaims("containers", "images").does_nothing()
    book.at("5s", reclaimed=NOTHING, **FULL).evicts("sidecar")
    stays = collected_beside_a_removed_pod()
    stays.at("30s", removed={"hog": LEFT}, reclaimed=NOTHING, **FULL).evicts("sidecar")


@pytest.mark.parametrize(("rate", "seconds"), [(0, 30), (50 << 30, 10)])
def test_a_volume_that_is_not_removed_is_waited_for_as_the_kubelet_waits(rate: int, seconds: int) -> None:
    """A restarted one removes it late, and one that is busy never (kubernetes#60987). A disk that is soon full waits less."""
    book = short_of_disk()
    for now in range(seconds):
        book.at(f"{now}s", removed={"hog": LEFT}, nodefs_rate=rate, **FULL)
        assert not any(isinstance(each, EvictPod) for each in book.left)
        book.left.clear()
    book.at(f"{seconds}s", removed={"hog": LEFT}, nodefs_rate=rate, **FULL).evicts("sidecar")


def test_pods_that_end_one_after_another_hold_a_threshold_up_for_a_minute() -> None:
    """Jobs of five seconds each, say: the wait for one is not renewed by the next without end."""
    book, evicted_at = short_of_disk(), None
    for now in range(0, 120, 5):
        book.at(f"{now}s", removed={f"job-{now}": replace(LEFT, first_seen=now * SECOND)}, **FULL)
        if any(isinstance(each, EvictPod) for each in book.left):
            evicted_at = now
            break
        book.left.clear()
    book.left.clear()
    assert evicted_at == 60


@pytest.mark.parametrize(
    ("signal", "layout", "numbers"),
    [
        ("imagefs.available", DEDICATED, {"nodefs": "50Gi of 100Gi", "imagefs": "5Gi of 100Gi"}),
        ("memory.available", SINGLE, {"memory": "5Gi of 100Gi"}),
    ],
)
def test_volumes_on_another_device_hold_nothing_up(signal: str, layout: Filesystems, numbers: dict[str, Any]) -> None:
    book = short_of_disk(signal, layout)
    book.at("0s", removed={"hog": LEFT}, **numbers)
    book.conditions("MemoryPressure" if "memory" in numbers else "DiskPressure").evicts("sidecar")


def test_the_volumes_of_a_victim_count_in_the_ledger_alone() -> None:
    """Its deadline is that of its grace, and what it was measured to hold is known."""
    book = short_of_disk()
    book.at("0s", **FULL).conditions("DiskPressure").evicts("sidecar")
    book.at("1s", gone=["sidecar"], removed={"sidecar": replace(LEFT, first_seen=SECOND)}, **FULL).does_nothing()
    assert [each.detail for each in book.findings(NoAction)] == ["default/sidecar"]


@pytest.mark.parametrize(("rate", "until"), [(0, 30), (50 << 30, 11)])
def test_a_victim_whose_volumes_its_kubelet_keeps_is_waited_for_as_the_kubelet_waits(rate: int, until: int) -> None:
    """A neighbour within its request went ten seconds after a hog that a restarting kubelet had not cleaned up yet."""
    book = short_of_disk()
    other = replace(SIDECAR, name="other", uid="other")
    book.pods, book.usage["other"] = (*book.pods, other), usage(other, logs="0", rootfs="100Mi")
    book.at("0s", **FULL).conditions("DiskPressure").evicts("sidecar")
    left = {"sidecar": replace(LEFT, first_seen=SECOND)}
    for now in range(1, until):
        book.at(f"{now}s", gone=["sidecar"], removed=left, nodefs_rate=rate, **FULL).does_nothing()
    book.at(f"{until}s", gone=["sidecar"], removed=left, nodefs_rate=rate, **FULL).evicts("other")


def test_what_comes_back_late_counts_for_the_victim() -> None:
    """Its bytes were back after 15 s: it had not helped, and after another such pod evictions paused."""
    book = short_of_disk()
    book.at("0s", **FULL).conditions("DiskPressure").evicts("sidecar")
    left = {"sidecar": replace(LEFT, first_seen=SECOND)}
    for now in range(1, 16):
        book.at(f"{now}s", gone=["sidecar"], removed=left, **FULL).does_nothing()
    book.at("16s", gone=["sidecar"], nodefs="7Gi of 100Gi").left.clear()
    (effect,) = book.state.effects[Signal.NODEFS_AVAILABLE]
    assert effect.freed == 2 << 30


def test_a_pod_that_leaves_and_is_then_deleted_by_force_is_waited_for_as_the_kubelet_waits() -> None:
    book = short_of_disk()
    other = replace(SIDECAR, name="other", uid="other")
    book.pods = (replace(SIDECAR, deletion_grace_period_seconds=30), other)
    book.usage = {"sidecar": usage(SIDECAR, logs="0", rootfs="6Gi"), "other": usage(other, logs="0", rootfs="100Mi")}
    book.at("0s", **FULL).conditions("DiskPressure").evicts("sidecar", grace=1, shortens=True).does_nothing()
    book.pods = (other,)
    left = {"sidecar": replace(LEFT, first_seen=SECOND)}
    for now in range(1, 30):
        book.at(f"{now}s", removed=left, **FULL).does_nothing()
    book.at("30s", removed=left, **FULL).evicts("other")


@pytest.mark.parametrize(
    ("signal", "layout", "numbers"),
    [
        ("nodefs.available", SINGLE, FULL),
        ("imagefs.available", DEDICATED, {"nodefs": "50Gi of 100Gi", "imagefs": "5Gi of 100Gi"}),
        ("memory.available", SINGLE, {"memory": "5Gi of 100Gi"}),
    ],
)
def test_no_pod_goes_while_a_removed_pod_runs(signal: str, layout: Filesystems, numbers: dict[str, Any]) -> None:
    """It ends two seconds after its deletion by force, later under a kubelet that is away, and holds a layer, logs and memory."""
    book = short_of_disk(signal, layout)
    book.at("0s", removed={"hog": RUNS}, **numbers)
    book.conditions("MemoryPressure" if "memory" in numbers else "DiskPressure").does_nothing()
    assert [each.detail for each in book.findings(NoAction)] == ["removed pods (hog)"]
    book.at("29s", removed={"hog": RUNS}, **numbers).does_nothing()
    book.at("30s", removed={"hog": RUNS}, **numbers).evicts("sidecar")


def test_a_disk_of_images_alone_waits_for_no_removed_pod() -> None:
    book = short_of_disk("imagefs.available", SPLIT)
    book.at("0s", removed={"hog": RUNS}, nodefs="50Gi of 100Gi", imagefs="5Gi of 100Gi").conditions("DiskPressure")
    assert "removed pods (hog)" not in [each.detail for each in book.findings(NoAction)]


def test_memory_that_runs_out_is_not_waited_for() -> None:
    book = short_of_disk("memory.available")
    book.at("0s", removed={"hog": RUNS}, memory="5Gi of 100Gi", fill_rate=50 << 30)
    book.conditions("MemoryPressure").evicts("sidecar")


def test_a_layer_that_its_runtime_removes_is_waited_for_a_second() -> None:
    """The kubelet had removed the container: the collection found nothing, and three neighbours went for its 800 MiB."""
    book = collected_beside_a_removed_pod()
    gone = {"hog": RemovedPod(first_seen=0, gone_at=4 * SECOND)}
    book.at("4s", removed=gone, **FULL).reclaims("containers", "images").does_nothing()
    book.at("4100ms", removed=gone, reclaimed=NOTHING, **FULL).does_nothing()
    assert [each.detail for each in book.findings(NoAction)] == ["removed pods (hog)"]
    book.at("4900ms", removed=gone, **FULL).does_nothing()
    book.at("5s", removed=gone, **FULL).evicts("sidecar")


def test_it_is_not_waited_for_where_the_disk_is_full_within_that_second_nor_for_memory() -> None:
    gone = {"hog": RemovedPod(first_seen=0, gone_at=0)}
    book = short_of_disk()
    book.at("0s", removed=gone, nodefs_rate=50 << 30, **FULL)
    book.conditions("DiskPressure").evicts("sidecar")
    book = short_of_disk("memory.available")
    book.at("0s", removed=gone, memory="5Gi of 100Gi").conditions("MemoryPressure").evicts("sidecar")


def test_what_evictd_has_stopped_counts_in_the_ledger_alone_although_its_bytes_have_shown() -> None:
    book = short_of_disk()
    book.at("0s", **FULL).conditions("DiskPressure").evicts("sidecar")
    book.pods = (*book.pods, replace(SIDECAR, name="other", uid="other"))
    book.usage["other"] = book.usage["sidecar"]
    gone = {"sidecar": RemovedPod(first_seen=SECOND, gone_at=SECOND)}
    book.at("1s", gone=["sidecar"], removed=gone, nodefs="7Gi of 100Gi").evicts("other")
