"""The whole cycle as stories: the choreography of the kubelet's own manager tests, and what policy Standard puts right."""

from typing import Any

import pytest

from evictd.core.config import EvictionConfig, ImageReclaim, Policy
from evictd.core.decision import RecordEvent, Silence, Silent, ThresholdFinding, Wait
from evictd.core.duration import SECOND
from evictd.core.observation import Filesystems, Reclaim, ReclaimOutcome
from evictd.core.pod import PodSource
from evictd.core.state import PhaseName, State
from tests.playbook import DEDICATED, Playbook, as_kubelet, config, empty_dir, pod, usage

A = pod("a", memory="100Mi", grace=30)
B = pod("b", memory="1Gi", grace=30)
MEMORY = [usage(A, memory="700Mi"), usage(B, memory="900Mi")]
BOTH = pytest.mark.parametrize("policy", Policy)
DONE = (ReclaimOutcome(action=Reclaim.CONTAINERS), ReclaimOutcome(action=Reclaim.IMAGES))


def hard_memory(policy: Policy) -> EvictionConfig:
    """1Gi, hard."""
    return config(hard={"memory.available": "1Gi"}, policy=policy)


@BOTH
def test_hard_memory_pressure_evicts_who_exceeds_its_request_and_reports_first(policy: Policy) -> None:
    """TestMemoryPressure: condition and eviction in the same cycle, one second of grace."""
    book = Playbook(hard_memory(policy), pods=[A, B], usage=MEMORY)
    book.at("0s", memory="2Gi of 4Gi").conditions().does_nothing()
    book.at("10s", memory="500Mi of 4Gi").conditions("MemoryPressure").evicts("a", grace=1).does_nothing()
    book.in_phase(PhaseName.CLEANING_UP)
    book.at("20s", memory="2Gi of 4Gi").does_nothing()
    book.in_phase(PhaseName.WATCHING)
    book.at("309s", memory="2Gi of 4Gi").does_nothing()
    book.at("310s", memory="2Gi of 4Gi").conditions().does_nothing()


@BOTH
def test_a_soft_threshold_acts_after_its_grace_and_starts_again_when_it_was_not_met(policy: Policy) -> None:
    """The condition shows at once, the eviction waits; a single good reading starts the timer again."""
    settings = config(soft={"memory.available": ("2Gi", "2m")}, policy=policy, max_pod_grace_period_seconds=5)
    book = Playbook(settings, pods=[A, B], usage=MEMORY)
    book.at("0s", memory="1500Mi of 4Gi").conditions("MemoryPressure").does_nothing()
    book.at("119s", memory="1500Mi of 4Gi").does_nothing()
    book.at("119500ms", memory="3Gi of 4Gi").does_nothing()
    book.at("120s", memory="1500Mi of 4Gi").does_nothing()
    [finding] = book.findings(ThresholdFinding)
    assert finding.grace_left == 120 * SECOND
    book.at("239s", memory="1500Mi of 4Gi").does_nothing()
    book.at("240s", memory="1500Mi of 4Gi").evicts("a", grace=5)
    book.finish()


@BOTH
def test_minimum_reclaim_keeps_evicting_until_the_target(policy: Policy) -> None:
    """TestMinReclaim: 1Gi with 500Mi on top; kill at 500Mi, kill again at 1.2Gi, stop at 2Gi."""
    third = pod("c", memory="2Gi")
    settings = config(hard={"memory.available": "1Gi"}, min_reclaim={"memory.available": "500Mi"}, policy=policy)
    book = Playbook(settings, pods=[A, B, third], usage=[*MEMORY, usage(third, memory="100Mi")])
    book.at("0s", memory="500Mi of 4Gi").conditions("MemoryPressure").evicts("a")
    book.at("10s", memory="1200Mi of 4Gi").evicts("b")
    book.at("20s", memory="2Gi of 4Gi").does_nothing()
    book.at("319s", memory="2Gi of 4Gi").conditions().does_nothing()


@BOTH
@pytest.mark.parametrize("filesystem", ["nodefs", "imagefs"])
def test_disk_pressure_collects_first_and_spares_the_pods_if_that_suffices(policy: Policy, filesystem: str) -> None:
    """TestNodeReclaimFuncs: containers, then images; enough space afterwards, no kill."""
    settings = config(hard={f"{filesystem}.available": "1Gi"}, policy=policy)
    short: dict[str, Any] = {filesystem: "500Mi of 9Gi"}
    fine: dict[str, Any] = {filesystem: "2Gi of 9Gi"}
    book = Playbook(settings, pods=[A], usage=[usage(A, rootfs="3Gi")])
    book.at("0s", **short).conditions("DiskPressure").reclaims("containers", "images")
    book.in_phase(PhaseName.RECLAIMING)
    book.at("1s", reclaimed=DONE, **fine).does_nothing()
    book.stays_silent(Silence.RECLAIM_SUFFICED)


@BOTH
def test_disk_pressure_evicts_if_the_minimum_reclaim_is_not_reached_by_collecting(policy: Policy) -> None:
    """TestNodeReclaimFuncs: above the threshold, below the target."""
    settings = config(hard={"nodefs.available": "1Gi"}, min_reclaim={"nodefs.available": "500Mi"}, policy=policy)
    book = Playbook(settings, pods=[A], usage=[usage(A, rootfs="3Gi", logs="1Mi")])
    book.at("0s", nodefs="500Mi of 9Gi").conditions("DiskPressure").reclaims("containers", "images")
    book.at("1s", reclaimed=DONE, nodefs="1200Mi of 9Gi").evicts("a", grace=1)
    book.finish()


@BOTH
def test_memory_goes_before_disk(policy: Policy) -> None:
    """TestSortByEvictionPriority, as a story; the second resource waits for a later cycle."""
    settings = config(hard={"nodefs.available": "1Gi", "memory.available": "1Gi"}, policy=policy)
    book = Playbook(settings, pods=[A, B], usage=MEMORY)
    book.at("0s", memory="500Mi of 4Gi", nodefs="500Mi of 9Gi").conditions("MemoryPressure", "DiskPressure").evicts("a")
    book.at("10s", memory="2Gi of 4Gi", nodefs="500Mi of 9Gi").reclaims("containers", "images")


@BOTH
def test_the_same_numbers_do_not_act_twice(policy: Policy) -> None:
    """Kubernetes issue 51516: a threshold acts only on a reading newer than the last one."""
    book = Playbook(hard_memory(policy), pods=[A, B], usage=MEMORY)
    book.at("0s", memory="500Mi of 4Gi").conditions("MemoryPressure").evicts("a")
    stale = book.state.last_observations
    book.at("10s", memory="500Mi of 4Gi").evicts("b")
    assert book.state.last_observations != stale
    again = Playbook(hard_memory(policy), pods=[A, B], usage=MEMORY, state=book.state)
    again.at("10s", memory="500Mi of 4Gi", gone=["a", "b"]).does_nothing()
    assert [finding.stale for finding in again.findings(ThresholdFinding)] == [True]


@BOTH
def test_a_failed_reading_changes_nothing(policy: Policy) -> None:
    """No summary: conditions and timers stay as they were."""
    book = Playbook(hard_memory(policy), pods=[A, B], usage=MEMORY)
    book.at("0s", memory="500Mi of 4Gi").conditions("MemoryPressure").evicts("a")
    book.at("20s", memory="2Gi of 4Gi").does_nothing()
    before = book.state
    book.at("400s", failed=True).does_nothing().stays_silent(Silence.NO_STATS)
    assert book.state == before


@BOTH
def test_an_unknown_layout_holds_the_cycle_up_until_it_is_known(policy: Policy) -> None:
    """Imagefs cannot be found: nothing can be said about disks, so nothing is done (spec 14, point 37: tried again)."""
    book = Playbook(hard_memory(policy), pods=[A, B], usage=MEMORY, filesystems=Filesystems(dedicated_image_fs=None))
    book.at("0s", memory="500Mi of 4Gi").does_nothing().stays_silent(Silence.LAYOUT_UNKNOWN)
    book.filesystems = Filesystems()
    book.at("10s", memory="500Mi of 4Gi").conditions("MemoryPressure").evicts("a")


@BOTH
def test_limits_of_pods_are_enforced_before_pressure_and_for_all_at_once(policy: Policy) -> None:
    """TestManagerWithLocalStorageCapacityIsolationOpen: every offender goes in one cycle; pressure waits."""
    full = pod("dir", volumes=[empty_dir("v", size_limit="1Gi")])
    fat = pod("fat", storage_limit="1Gi")
    settings = hard_memory(policy)
    uses = [usage(full, volumes={"v": "2Gi"}), usage(fat, rootfs="2Gi", logs="1Mi"), *MEMORY]
    book = Playbook(settings, pods=[full, fat, A, B], usage=uses)
    book.at("0s", memory="500Mi of 4Gi").conditions("MemoryPressure").evicts("dir", grace=1).evicts("fat", grace=1)
    book.at("10s", memory="500Mi of 4Gi").evicts("a")


@BOTH
def test_nothing_configured_means_nothing_done(policy: Policy) -> None:
    """No thresholds and no isolation of local storage: the cycle is a no-op."""
    settings = config(policy=policy, local_storage_capacity_isolation=False)
    book = Playbook(settings, pods=[A], usage=MEMORY)
    book.at("0s", memory="0 of 4Gi").does_nothing()
    assert book.state == State()


@BOTH
def test_static_and_critical_pods_stay(policy: Policy) -> None:
    """TestStaticCriticalPodsAreNotEvicted: with nobody else there, nothing is evicted."""
    static = pod("static", source=PodSource.STATIC)
    critical = pod("critical", priority=2_000_000_000)
    book = Playbook(
        hard_memory(policy), pods=[static, critical], usage=[usage(static, memory="3Gi"), usage(critical, memory="9Mi")]
    )
    book.at("0s", memory="500Mi of 4Gi").conditions("MemoryPressure").does_nothing()
    expected = Silence.PROTECTED_CULPRIT if policy is Policy.STANDARD else Silence.NOTHING_EVICTABLE
    book.stays_silent(expected)


@BOTH
def test_every_attempt_leaves_an_event_on_the_node(policy: Policy) -> None:
    """`Attempting to reclaim memory`, in each cycle that gets so far."""
    book = Playbook(hard_memory(policy), pods=[A, B], usage=MEMORY)
    book.at("0s", memory="500Mi of 4Gi").conditions("MemoryPressure").evicts("a")
    events = [d for d in book.step.decisions if isinstance(d, RecordEvent)]
    assert events == [
        RecordEvent(type="Warning", reason="EvictionThresholdMet", message="Attempting to reclaim memory")
    ]


# --- where the policies part ------------------------------------------------------------------------------------------


def test_kubelet_lets_an_unmet_soft_threshold_turn_a_good_collection_into_an_eviction() -> None:
    """Spec 14, point 17: the disk is fine again, memory is below a soft value still in its grace, and a pod goes."""
    settings = config(hard={"nodefs.available": "1Gi"}, soft={"memory.available": ("2Gi", "1h")})
    numbers: dict[str, Any] = {"memory": "1500Mi of 4Gi"}
    standard = Playbook(settings, pods=[A], usage=[usage(A, rootfs="3Gi", memory="1Mi")])
    standard.at("0s", nodefs="500Mi of 9Gi", **numbers).conditions("MemoryPressure", "DiskPressure")
    standard.reclaims("containers", "images")
    standard.at("1s", reclaimed=DONE, nodefs="2Gi of 9Gi", **numbers).does_nothing()
    standard.stays_silent(Silence.RECLAIM_SUFFICED)
    kubelet = Playbook(as_kubelet(settings), pods=[A], usage=[usage(A, rootfs="3Gi", memory="1Mi")])
    kubelet.at("0s", nodefs="500Mi of 9Gi", **numbers).conditions("MemoryPressure", "DiskPressure")
    kubelet.reclaims("containers", "images")
    kubelet.at("1s", reclaimed=DONE, nodefs="2Gi of 9Gi", **numbers).evicts("a")


def test_standard_collects_dead_containers_on_nodefs_pressure_although_images_lie_apart() -> None:
    """Spec 14, point 1: documented, but the kubelet's list is empty."""
    settings = config(hard={"nodefs.available": "1Gi"})
    uses = [usage(A, logs="3Gi")]
    standard = Playbook(settings, pods=[A], usage=uses, filesystems=DEDICATED)
    standard.at("0s", nodefs="500Mi of 9Gi").conditions("DiskPressure").reclaims("containers")
    kubelet = Playbook(as_kubelet(settings), pods=[A], usage=uses, filesystems=DEDICATED)
    kubelet.at("0s", nodefs="500Mi of 9Gi").conditions("DiskPressure").evicts("a")


def test_standard_waits_for_bytes_that_are_due_before_another_pod_goes() -> None:
    """Kubernetes issue 127864: the victim is gone, its bytes show two seconds later, nobody else had to go."""
    settings = config(hard={"nodefs.available": "1Gi"}, reclaim_containers=False, reclaim_images=ImageReclaim.OFF)
    book = Playbook(settings, pods=[A, B], usage=[usage(A, rootfs="3Gi"), usage(B, rootfs="1Gi")])
    book.at("0s", nodefs="500Mi of 9Gi").conditions("DiskPressure").evicts("a")
    book.at("1s", nodefs="500Mi of 9Gi").does_nothing().stays_silent(Silence.WAITING_FOR_RELEASE)
    book.at("2s", nodefs="600Mi of 9Gi").does_nothing().stays_silent(Silence.WAITING_FOR_RELEASE)
    book.at("3s", nodefs="3500Mi of 9Gi").does_nothing()
    book.in_phase(PhaseName.WATCHING)


def test_standard_stops_waiting_for_bytes_after_a_bound() -> None:
    """Bytes that never come keep nobody alive for ever."""
    settings = config(hard={"nodefs.available": "1Gi"}, reclaim_containers=False, reclaim_images=ImageReclaim.OFF)
    book = Playbook(settings, pods=[A, B], usage=[usage(A, rootfs="3Gi"), usage(B, rootfs="1Gi")])
    book.at("0s", nodefs="500Mi of 9Gi").conditions("DiskPressure").evicts("a")
    book.at("1s", nodefs="500Mi of 9Gi").does_nothing()
    book.at("11s", nodefs="500Mi of 9Gi").evicts("b")


def test_kubelet_takes_the_next_pod_as_soon_as_the_last_is_cleaned_up() -> None:
    """The same disk under the kubelet's code."""
    settings = config(hard={"nodefs.available": "1Gi"}, reclaim_containers=False, reclaim_images=ImageReclaim.OFF)
    book = Playbook(as_kubelet(settings), pods=[A, B], usage=[usage(A, rootfs="3Gi"), usage(B, rootfs="1Gi")])
    book.at("0s", nodefs="500Mi of 9Gi").conditions("DiskPressure").evicts("a")
    book.at("1s", nodefs="500Mi of 9Gi").evicts("b")


def test_what_a_victim_left_behind_is_collected_before_the_next_pod_goes() -> None:
    """A dead container keeps its writable layer: collectors run again, and only then is a second pod considered."""
    settings = config(hard={"nodefs.available": "1Gi"})
    book = Playbook(settings, pods=[A, B], usage=[usage(A, rootfs="3Gi"), usage(B, rootfs="1Gi")])
    book.at("0s", nodefs="500Mi of 9Gi").conditions("DiskPressure").reclaims("containers", "images")
    book.at("1s", reclaimed=DONE, nodefs="500Mi of 9Gi").evicts("a")
    book.at("2s", nodefs="500Mi of 9Gi").reclaims("containers", "images")
    book.at("3s", reclaimed=DONE, nodefs="500Mi of 9Gi").does_nothing().stays_silent(Silence.WAITING_FOR_RELEASE)
    book.at("4s", nodefs="3500Mi of 9Gi").does_nothing()


def test_a_hard_threshold_shortens_the_grace_of_a_soft_victim() -> None:
    """Kubernetes issue 123872: a soft eviction with a long grace blocks nothing."""
    settings = config(
        hard={"memory.available": "500Mi"},
        soft={"memory.available": ("2Gi", "10s")},
        max_pod_grace_period_seconds=3600,
    )
    patient = pod("patient", grace=3600)
    book = Playbook(settings, pods=[patient, B], usage=[usage(patient, memory="1Gi"), MEMORY[1]])
    book.at("0s", memory="1500Mi of 4Gi").conditions("MemoryPressure").does_nothing()
    book.at("10s", memory="1500Mi of 4Gi").evicts("patient", grace=3600)
    book.at("20s", memory="1500Mi of 4Gi", gone=[]).does_nothing().stays_silent(Silence.WAITING_FOR_VICTIM)
    book.at("30s", memory="100Mi of 4Gi", gone=[]).evicts("patient", grace=1, shortens=True)
    book.at("31s", memory="100Mi of 4Gi", gone=[]).does_nothing()
    book.at("32s", memory="100Mi of 4Gi").evicts("b", grace=1)


def test_the_kubelet_stands_still_while_its_victim_leaves() -> None:
    """The same under the kubelet's code: conditions are not even looked at."""
    settings = config(soft={"memory.available": ("2Gi", "0s")}, hard={}, max_pod_grace_period_seconds=60)
    patient = pod("patient", grace=60)
    book = Playbook(as_kubelet(settings), pods=[patient, B], usage=[usage(patient, memory="1Gi"), MEMORY[1]])
    book.at("0s", memory="1500Mi of 4Gi").conditions("MemoryPressure").evicts("patient", grace=1)
    before = book.state
    book.at("39s", memory="100Mi of 4Gi", gone=[]).does_nothing().stays_silent(Silence.WAITING_FOR_VICTIM)
    assert book.state == before
    book.at("40s", memory="100Mi of 4Gi", gone=[]).evicts("patient")


def test_a_victim_that_cannot_be_stopped_is_passed_over_in_the_end() -> None:
    """Past its bound the next in rank goes; the one that will not die is not chosen again."""
    book = Playbook(hard_memory(Policy.STANDARD), pods=[A, B], usage=MEMORY)
    book.at("0s", memory="500Mi of 4Gi").conditions("MemoryPressure").evicts("a")
    book.at("39s", memory="500Mi of 4Gi", gone=[]).does_nothing()
    book.at("40s", memory="500Mi of 4Gi", gone=[]).evicts("b")


def test_a_memory_emergency_does_not_wait_for_the_disk_collectors() -> None:
    """Images are being removed; memory runs out meanwhile; a pod goes for memory at once."""
    settings = config(hard={"nodefs.available": "1Gi", "memory.available": "1Gi"})
    book = Playbook(settings, pods=[A, B], usage=MEMORY)
    book.at("0s", memory="2Gi of 4Gi", nodefs="500Mi of 9Gi").conditions("DiskPressure")
    book.reclaims("containers", "images")
    book.at("1s", memory="2Gi of 4Gi", nodefs="500Mi of 9Gi").does_nothing()
    book.stays_silent(Silence.WAITING_FOR_RELEASE)
    book.at("2s", memory="500Mi of 4Gi", nodefs="500Mi of 9Gi").conditions("MemoryPressure", "DiskPressure")
    book.evicts("a").finish()


def test_collectors_that_hang_do_not_hold_an_eviction_up_for_ever() -> None:
    """Policy Standard waits a minute for the runtime, then goes on without."""
    settings = config(hard={"nodefs.available": "1Gi"})
    book = Playbook(settings, pods=[A], usage=[usage(A, rootfs="3Gi")])
    book.at("0s", nodefs="500Mi of 9Gi").conditions("DiskPressure").reclaims("containers", "images")
    book.at("59s", nodefs="500Mi of 9Gi").does_nothing()
    book.at("60s", nodefs="500Mi of 9Gi").evicts("a")


def test_a_wait_is_short_while_something_is_under_way() -> None:
    """A second while victims leave, the monitoring period otherwise."""
    book = Playbook(hard_memory(Policy.STANDARD), pods=[A, B], usage=MEMORY)
    book.at("0s", memory="2Gi of 4Gi").conditions()
    assert book.step.decisions[-1] == Wait(nanoseconds=10 * SECOND)
    book.at("10s", memory="500Mi of 4Gi").conditions("MemoryPressure").evicts("a")
    assert book.step.decisions[-1] == Wait(nanoseconds=1 * SECOND)


def test_silence_names_the_pod_that_is_waited_for() -> None:
    """Evidence, not a sentence."""
    book = Playbook(hard_memory(Policy.STANDARD), pods=[A, B], usage=MEMORY)
    book.at("0s", memory="500Mi of 4Gi").conditions("MemoryPressure").evicts("a")
    book.at("1s", memory="500Mi of 4Gi", gone=[]).does_nothing()
    [silent] = book.findings(Silent)
    assert (silent.why, silent.pod, silent.detail) == (Silence.WAITING_FOR_VICTIM, A, "default/a")
