"""What comes next under policy Standard: what it puts right, and the stories that broke it (docs/laws.md)."""

from dataclasses import replace
from typing import Any

import pytest

from evictd.core.eviction.synchronize import synchronize
from evictd.core.model.config import EvictionConfig, Policy
from evictd.core.model.decision import ReclaimNode, Wait
from evictd.core.model.finding import (
    NoAction,
    NoActionReason,
    PodSkipped,
    ProtectedPodSkipped,
    SignalUnobserved,
    SkipReason,
    ThresholdFinding,
)
from evictd.core.model.observation import (
    EvictionAnswer,
    EvictionAnswerKind,
    Filesystems,
    Observation,
    Reclaim,
    ReclaimOutcome,
)
from evictd.core.model.pod import PodSource
from evictd.core.model.signal import Filesystem
from evictd.core.model.state import PhaseName, State
from evictd.core.units.duration import SECOND
from tests.playbook import DEDICATED, NO_COLLECTING, SPLIT, Playbook, as_kubelet, config, empty_dir, node, pod, usage

A = pod("a", memory="100Mi", grace=30)
B = pod("b", memory="1Gi", grace=30)
MEMORY = [usage(A, memory="700Mi"), usage(B, memory="900Mi")]
BOTH = pytest.mark.parametrize("policy", Policy)
DONE = (ReclaimOutcome(action=Reclaim.CONTAINERS), ReclaimOutcome(action=Reclaim.IMAGES))


def hard_memory(policy: Policy) -> EvictionConfig:
    """1Gi, hard."""
    return config(hard={"memory.available": "1Gi"}, policy=policy)


def test_an_unknown_layout_holds_up_only_the_disks() -> None:
    """Memory and PIDs need no layout: a node whose runtime has not answered yet reports them (docs/faults.md, 15)."""
    unknown = Filesystems(dedicated_image_fs=None)
    settings = config(hard={"memory.available": "1Gi", "nodefs.available": "1Gi"})
    book = Playbook(settings, pods=[A, B], usage=MEMORY, filesystems=unknown)
    book.at("0s", memory="500Mi of 4Gi", nodefs="0 of 9Gi").conditions("MemoryPressure").evicts("a")
    book.stays_silent(NoActionReason.LAYOUT_UNKNOWN)
    assert {f.threshold.signal.value for f in book.findings(ThresholdFinding)} == {"memory.available"}
    assert "nodefs.available" in {f.signal.value for f in book.findings(SignalUnobserved)}
    book.filesystems = Filesystems()
    book.at("10s", memory="2Gi of 4Gi", nodefs="0 of 9Gi").conditions("MemoryPressure", "DiskPressure")
    book.reclaims("containers", "images")


def test_standard_collects_dead_containers_on_nodefs_pressure_although_images_lie_apart() -> None:
    """docs/parity.md, row 1: documented, but the kubelet's list is empty."""
    settings = config(hard={"nodefs.available": "1Gi"})
    uses = [usage(A, logs="3Gi")]
    standard = Playbook(settings, pods=[A], usage=uses, filesystems=DEDICATED)
    standard.at("0s", nodefs="500Mi of 9Gi").conditions("DiskPressure").reclaims("containers")
    kubelet = Playbook(as_kubelet(settings), pods=[A], usage=uses, filesystems=DEDICATED)
    kubelet.at("0s", nodefs="500Mi of 9Gi").conditions("DiskPressure").evicts("a")


def test_standard_waits_for_bytes_that_are_due_before_another_pod_goes() -> None:
    """kubernetes/kubernetes#127864: the victim is gone, its bytes show two seconds later, nobody else had to go."""
    settings = config(hard={"nodefs.available": "1Gi"}, **NO_COLLECTING)
    book = Playbook(settings, pods=[A, B], usage=[usage(A, rootfs="3Gi"), usage(B, rootfs="1Gi")])
    book.at("0s", nodefs="500Mi of 9Gi").conditions("DiskPressure").evicts("a")
    book.at("1s", nodefs="500Mi of 9Gi").does_nothing().stays_silent(NoActionReason.WAITING_FOR_RELEASE)
    book.at("2s", nodefs="600Mi of 9Gi").does_nothing().stays_silent(NoActionReason.WAITING_FOR_RELEASE)
    book.at("3s", nodefs="3500Mi of 9Gi").does_nothing()
    book.in_phase(PhaseName.WATCHING)


def test_standard_stops_waiting_for_bytes_after_a_bound() -> None:
    """Bytes that never come keep nobody alive for ever."""
    settings = config(hard={"nodefs.available": "1Gi"}, **NO_COLLECTING)
    book = Playbook(settings, pods=[A, B], usage=[usage(A, rootfs="3Gi"), usage(B, rootfs="1Gi")])
    book.at("0s", nodefs="500Mi of 9Gi").conditions("DiskPressure").evicts("a")
    book.at("1s", nodefs="500Mi of 9Gi").does_nothing()
    book.at("11s", nodefs="500Mi of 9Gi").evicts("b")


def test_what_a_victim_left_behind_is_collected_before_the_next_pod_goes() -> None:
    """A dead container keeps its writable layer: collectors run again, and only then is a second pod considered."""
    settings = config(hard={"nodefs.available": "1Gi"})
    book = Playbook(settings, pods=[A, B], usage=[usage(A, rootfs="3Gi"), usage(B, rootfs="1Gi")])
    book.at("0s", nodefs="500Mi of 9Gi").conditions("DiskPressure").reclaims("containers", "images")
    book.at("1s", reclaimed=DONE, nodefs="500Mi of 9Gi").evicts("a")
    book.at("2s", nodefs="500Mi of 9Gi").reclaims("containers", "images")
    book.at("3s", reclaimed=DONE, nodefs="500Mi of 9Gi").does_nothing().stays_silent(NoActionReason.WAITING_FOR_RELEASE)
    book.at("4s", nodefs="3500Mi of 9Gi").does_nothing()


def test_a_hard_threshold_of_any_resource_shortens_the_grace_of_a_soft_victim() -> None:
    """The soft memory threshold stands first; the disk and the PIDs do not wait for its hour (docs/faults.md, 18)."""
    settings = config(
        soft={"memory.available": ("2Gi", "10s")},
        hard={"nodefs.available": "1Gi", "pid.available": "100"},
        max_pod_grace_period_seconds=3600,
    )
    patient = pod("patient", grace=3600)
    calm: dict[str, Any] = {"memory": "1500Mi of 4Gi", "nodefs": "5Gi of 9Gi", "pids": "900 of 1000"}
    for short in ({"nodefs": "500Mi of 9Gi"}, {"pids": "5 of 1000"}):
        book = Playbook(settings, pods=[patient, B], usage=[usage(patient, memory="1Gi"), MEMORY[1]])
        book.at("0s", **calm).conditions("MemoryPressure").does_nothing()
        book.at("10s", **calm).evicts("patient", grace=3600)
        book.at("20s", gone=[], **{**calm, **short})
        book.conditions("MemoryPressure", "DiskPressure" if "nodefs" in short else "PIDPressure")
        book.evicts("patient", grace=1, shortens=True).finish()


def test_a_victim_in_flight_that_is_protected_since_is_shortened_all_the_same() -> None:
    """Its owner's back-off protects it from being chosen, not from a grace period that ends sooner (docs/faults.md, 17)."""
    settings = config(
        hard={"memory.available": "500Mi"}, soft={"memory.available": ("2Gi", "10s")}, max_pod_grace_period_seconds=3600
    )
    patient = pod("patient", grace=3600)
    book = Playbook(settings, pods=[patient, B], usage=[usage(patient, memory="1Gi"), MEMORY[1]])
    book.at("0s", memory="1500Mi of 4Gi").conditions("MemoryPressure").does_nothing()
    book.at("10s", memory="1500Mi of 4Gi").evicts("patient", grace=3600)
    book.config = replace(settings, protected_pods=frozenset({"patient"}))
    book.at("20s", memory="100Mi of 4Gi", gone=[]).evicts("patient", grace=1, shortens=True).finish()


def test_a_victim_in_flight_that_turns_out_to_be_critical_keeps_its_grace() -> None:
    """What only the runtime told of had no priority; the API has one since. The step is made, and names the victim."""
    settings = config(
        hard={"memory.available": "500Mi"}, soft={"memory.available": ("2Gi", "10s")}, max_pod_grace_period_seconds=3600
    )
    patient = pod("patient", grace=3600)
    book = Playbook(settings, pods=[patient, B], usage=[usage(patient, memory="1Gi"), MEMORY[1]])
    book.at("0s", memory="1500Mi of 4Gi").conditions("MemoryPressure").does_nothing()
    book.at("10s", memory="1500Mi of 4Gi").evicts("patient", grace=3600)
    book.pods = (replace(patient, priority=2_000_000_000), B)
    book.at("20s", memory="100Mi of 4Gi", gone=[]).does_nothing().stays_silent(NoActionReason.WAITING_FOR_VICTIM)


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
    book.stays_silent(NoActionReason.WAITING_FOR_RELEASE)
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
    [silent] = book.findings(NoAction)
    assert (silent.why, silent.pod, silent.detail) == (NoActionReason.WAITING_FOR_VICTIM, A, "default/a")


# --- the old faults of docs/laws.md -----------------------------------------------------------------------------------

HOUR: dict[str, Any] = {"max_pod_grace_period_seconds": 3600}
PATIENT, C = pod("patient", grace=3600), pod("c")
STATIC = pod("static", source=PodSource.STATIC)


def test_an_overdue_soft_victim_is_shortened_before_another_pod_is_chosen() -> None:
    """Fault 3: its kubelet hangs; the hard threshold gives it a second, and waits for that."""
    settings = config(hard={"memory.available": "500Mi"}, soft={"memory.available": ("2Gi", "10s")}, **HOUR)
    book = Playbook(settings, pods=[PATIENT, B], usage=[usage(PATIENT, memory="1Gi"), MEMORY[1]])
    book.at("0s", memory="1500Mi of 4Gi").conditions("MemoryPressure").does_nothing()
    book.at("10s", memory="1500Mi of 4Gi").evicts("patient", grace=3600)
    overdue = "5441s"  # one and a half times its grace, and the clean-up
    book.at(overdue, memory="100Mi of 4Gi", gone=[]).evicts("patient", grace=1, shortens=True)
    book.stays_silent(NoActionReason.WAITING_FOR_VICTIM)
    book.at("5442s", memory="100Mi of 4Gi", gone=[]).does_nothing()
    book.at("5482s", memory="100Mi of 4Gi", gone=[]).evicts("b", grace=1)


def test_a_dry_run_made_live_reports_conditions_and_waits_for_no_collectors() -> None:
    """Faults 4 and 23: conditions are reported again, and collectors that were never started are started."""
    book = Playbook(config(hard={"nodefs.available": "1Gi"}), pods=[A], usage=[usage(A, rootfs="3Gi")])
    book.at("0s", nodefs="500Mi of 9Gi", dry_run=True).conditions("DiskPressure").reclaims("containers", "images")
    book.at("1s", nodefs="500Mi of 9Gi").conditions("DiskPressure").reclaims("containers", "images")
    book.at("2s", nodefs="500Mi of 9Gi", reclaimed=DONE).evicts("a")


def test_a_dry_run_decides_collection_and_eviction_and_no_pod_is_in_flight() -> None:
    """What it would evict stays, and would be evicted in the next cycle as well."""
    book = Playbook(config(hard={"nodefs.available": "1Gi"}), pods=[A], usage=[usage(A, rootfs="3Gi")])
    book.at("0s", nodefs="500Mi of 9Gi", dry_run=True, reclaimed=()).conditions("DiskPressure")
    book.reclaims("containers", "images")
    for second in ("1s", "2s"):
        book.at(second, nodefs="500Mi of 9Gi", dry_run=True, reclaimed=(), gone=[]).evicts("a")


def test_collectors_that_a_restart_ended_are_begun_again_within_their_deadline() -> None:
    """The collection keeps its own deadline, so a daemon that restarts every few seconds evicts in the end."""
    book = Playbook(config(hard={"nodefs.available": "1Gi"}), pods=[A], usage=[usage(A, rootfs="3Gi")])
    short = "500Mi of 9Gi"
    book.at("0s", nodefs=short).conditions("DiskPressure").reclaims("containers", "images")
    book.at("1s", nodefs=short, collecting=[Filesystem.NODEFS]).does_nothing()
    book.at("30s", nodefs=short, collecting=[]).reclaims("containers", "images")
    book.at("31s", nodefs=short, collecting=[Filesystem.NODEFS]).does_nothing()
    book.at("60s", nodefs=short, collecting=[]).evicts("a")


def test_a_hung_collection_keeps_its_deadline_whatever_else_is_evicted() -> None:
    """Fault 21: memory dips every fifty seconds; the disk is relieved after a minute all the same."""
    settings = config(hard={"memory.available": "1Gi", "nodefs.available": "1Gi"})
    uses = [usage(A, memory="2Gi", logs="0"), usage(B, memory="1Mi", logs="8Gi")]
    book = Playbook(settings, pods=[A, B], usage=uses)
    book.at("0s", memory="2Gi of 4Gi", nodefs="0 of 9Gi").conditions("DiskPressure").reclaims("containers", "images")
    book.at("50s", memory="1 of 4Gi", nodefs="0 of 9Gi").conditions("MemoryPressure", "DiskPressure").evicts("a")
    book.at("51s", memory="2Gi of 4Gi", nodefs="0 of 9Gi").does_nothing()
    book.at("60s", memory="2Gi of 4Gi", nodefs="0 of 9Gi").evicts("b")


def test_a_victim_for_memory_does_not_hold_up_the_disk_where_it_uses_nothing_of_it() -> None:
    """Fault 19: what is owed belongs to a device; one that owes none of it is not waited for."""
    settings = config(
        hard={"nodefs.available": "1Gi"}, soft={"memory.available": ("2Gi", "1s")}, **HOUR, **NO_COLLECTING
    )
    uses = [usage(PATIENT, memory="3Gi", logs="0"), usage(C, memory="1Mi", logs="5Gi")]
    book = Playbook(settings, pods=[PATIENT, C], usage=uses)
    book.at("0s", memory="1Gi of 8Gi", nodefs="5Gi of 9Gi").conditions("MemoryPressure")
    book.at("1s", memory="1Gi of 8Gi", nodefs="5Gi of 9Gi").evicts("patient", grace=3600)
    book.at("2s", memory="1Gi of 8Gi", nodefs="0 of 9Gi", gone=[]).conditions("MemoryPressure", "DiskPressure").evicts(
        "c"
    )


def test_what_a_victim_for_memory_owes_to_the_disk_is_waited_for() -> None:
    """Fault 19: it uses enough of the disk that is short; no second pod goes."""
    settings = config(hard={"nodefs.available": "1Gi", "memory.available": "1Gi"}, **NO_COLLECTING)
    uses = [usage(A, memory="3Gi", logs="5Gi"), usage(C, memory="1Mi", logs="2Gi")]
    book = Playbook(settings, pods=[A, C], usage=uses)
    short: dict[str, Any] = {"memory": "1 of 8Gi", "nodefs": "0 of 9Gi"}
    book.at("0s", **short).conditions("MemoryPressure", "DiskPressure").evicts("a")
    book.at("1s", gone=[], **short).does_nothing()
    book.at("2s", memory="4Gi of 8Gi", nodefs="0 of 9Gi").does_nothing().stays_silent(
        NoActionReason.WAITING_FOR_RELEASE
    )
    book.at("3s", memory="4Gi of 8Gi", nodefs="5Gi of 9Gi").does_nothing()


def test_the_memory_of_a_volume_comes_back_after_the_last_process() -> None:
    """A kubelet unmounts a volume in memory seconds later; a pod within its request was evicted meanwhile."""
    hog = pod("hog", volumes=[empty_dir("cache", medium="Memory")])
    book = Playbook(
        config(hard={"memory.available": "1Gi"}),
        pods=[hog, B],
        usage=[usage(hog, memory="3Gi"), usage(B, memory="900Mi")],
    )
    book.at("0s", memory="500Mi of 8Gi").conditions("MemoryPressure").evicts("hog")
    book.at("2s", memory="600Mi of 8Gi").does_nothing().stays_silent(NoActionReason.WAITING_FOR_RELEASE)
    book.at("9s", memory="600Mi of 8Gi").does_nothing()
    book.at("13s", memory="600Mi of 8Gi").evicts("b")


def test_the_memory_of_a_volume_is_not_waited_for_where_the_rest_is_used_up_before() -> None:
    """Another pod takes the rest meanwhile, and the OOM killer would not wait for the kubelet either."""
    hog = pod("hog", volumes=[empty_dir("cache", medium="Memory")])
    uses = [usage(hog, memory="3Gi"), usage(A, memory="900Mi")]
    book = Playbook(config(hard={"memory.available": "1Gi"}), pods=[hog, A], usage=uses)
    book.at("0s", memory="500Mi of 8Gi").conditions("MemoryPressure").evicts("hog")
    book.at("2s", memory="600Mi of 8Gi", fill_rate=100 * 2**20).does_nothing()
    book.at("3s", memory="300Mi of 8Gi", fill_rate=500 * 2**20).evicts("a", grace=0)


def test_a_victim_that_does_not_die_does_not_cost_the_others() -> None:
    """Fault 20: together they could not reach the target, so it is the culprit, and none of them goes."""
    hog, small = pod("hog"), [pod(name) for name in "bcd"]
    uses = [usage(hog, memory="6Gi"), *(usage(each, memory="10Mi") for each in small)]
    book = Playbook(config(hard={"memory.available": "1Gi"}), pods=[hog, *small], usage=uses)
    book.at("0s", memory="500Mi of 8Gi").conditions("MemoryPressure").evicts("hog")
    for second in ("40s", "50s", "90s"):
        book.at(second, memory="500Mi of 8Gi", gone=[]).does_nothing().stays_silent(NoActionReason.PROTECTED_CULPRIT)
        assert [f.pod.name for f in book.findings(NoAction)] == ["hog"]


def test_a_crossing_of_imagefs_during_a_collection_for_nodefs_has_its_own() -> None:
    """Fault 22: and its outcome does not end the other."""
    settings = config(hard={"nodefs.available": "1Gi", "imagefs.available": "1Gi"})
    book = Playbook(settings, pods=[A], usage=[usage(A, rootfs="5Gi", logs="5Gi")], filesystems=DEDICATED)
    book.at("0s", nodefs="0 of 9Gi", imagefs="5Gi of 9Gi").conditions("DiskPressure").reclaims("containers")
    book.at("1s", nodefs="0 of 9Gi", imagefs="0 of 9Gi").reclaims("containers", "images")
    ended = [replace(each, device=Filesystem.IMAGEFS) for each in DONE]
    book.at("2s", nodefs="0 of 9Gi", imagefs="0 of 9Gi", reclaimed=ended).evicts("a")
    assert book.eviction().because.signal_label == "imagefs.available"


def test_a_frozen_number_is_not_new_after_a_cycle_without_one() -> None:
    """Fault 24: the number of 10 s is read again after a gap; it decides nothing (kubernetes/kubernetes#51516)."""
    book = Playbook(hard_memory(Policy.STANDARD), pods=[A, B], usage=MEMORY)
    book.at("10s", memory="500Mi of 4Gi").conditions("MemoryPressure").evicts("a")
    book.at("20s", failed=False).does_nothing()
    again = Playbook(book.config, pods=[B], usage=MEMORY, state=replace(book.state, in_flight=()))
    again.at("10s", memory="500Mi of 4Gi").does_nothing()
    assert [finding.stale for finding in again.findings(ThresholdFinding)] == [True]


def test_bytes_of_a_victim_whose_disk_usage_is_not_known_are_waited_for() -> None:
    """Fault 24: unknown is not nothing; the wait is bounded."""
    settings = config(hard={"nodefs.available": "1Gi", "memory.available": "1Gi"}, **NO_COLLECTING)
    uses = [usage(A, memory="3Gi"), usage(C, memory="1Mi", logs="2Gi")]
    book = Playbook(settings, pods=[A, C], usage=uses)
    book.at("0s", memory="1 of 8Gi", nodefs="0 of 9Gi").conditions("MemoryPressure", "DiskPressure").evicts("a")
    book.at("1s", memory="4Gi of 8Gi", nodefs="0 of 9Gi").does_nothing()
    book.at("10s", memory="4Gi of 8Gi", nodefs="0 of 9Gi").does_nothing().stays_silent(
        NoActionReason.WAITING_FOR_RELEASE
    )
    book.at("11s", memory="4Gi of 8Gi", nodefs="0 of 9Gi").evicts("c")


def test_an_overdue_victim_seen_gone_when_the_collection_ends_counts() -> None:
    """Fault 26: what it left is collected, and its bytes are waited for, before a second pod goes."""
    book = Playbook(
        config(hard={"nodefs.available": "1Gi"}), pods=[A, B], usage=[usage(A, rootfs="5Gi"), usage(B, rootfs="3Gi")]
    )
    book.at("0s", nodefs="0 of 9Gi").conditions("DiskPressure").reclaims("containers", "images")
    book.at("1s", nodefs="0 of 9Gi", reclaimed=DONE).evicts("a")
    stuck = replace(book.state, collections={})
    book.state = stuck
    book.at("41s", nodefs="0 of 9Gi", gone=[]).reclaims("containers", "images")
    book.at("42s", nodefs="0 of 9Gi", reclaimed=DONE).reclaims("containers", "images")
    book.at("43s", nodefs="0 of 9Gi", reclaimed=DONE).does_nothing().stays_silent(NoActionReason.WAITING_FOR_RELEASE)
    book.at("44s", nodefs="5Gi of 9Gi").does_nothing()


def test_what_a_victim_left_that_ended_during_a_collection_is_collected_after_it() -> None:
    """The collectors had listed the containers before: its layer stayed on a full disk for ten minutes."""
    book = Playbook(
        config(hard={"nodefs.available": "1Gi"}), pods=[A, B], usage=[usage(A, rootfs="5Gi"), usage(B, rootfs="3Gi")]
    )
    book.at("0s", nodefs="0 of 9Gi").conditions("DiskPressure").reclaims("containers", "images")
    book.at("1s", nodefs="0 of 9Gi", reclaimed=DONE).evicts("a")
    book.state = replace(book.state, collections={})
    book.at("41s", nodefs="0 of 9Gi", gone=[]).reclaims("containers", "images")
    book.at("42s", nodefs="0 of 9Gi").does_nothing().stays_silent(NoActionReason.WAITING_FOR_RELEASE)
    book.at("43s", nodefs="0 of 9Gi", reclaimed=DONE).reclaims("containers", "images")
    book.at("44s", nodefs="0 of 9Gi", reclaimed=DONE).does_nothing().stays_silent(NoActionReason.WAITING_FOR_RELEASE)
    book.at("45s", nodefs="5Gi of 9Gi").does_nothing()


def test_a_reload_that_takes_the_minimum_reclaim_away_costs_no_pod() -> None:
    """Fault 27."""
    settings = config(hard={"memory.available": "1Gi"}, min_reclaim={"memory.available": "500Mi"})
    book = Playbook(settings, pods=[A, B], usage=MEMORY)
    book.at("0s", memory="500Mi of 4Gi").conditions("MemoryPressure").evicts("a")
    book.config = hard_memory(Policy.STANDARD)
    book.at("10s", memory="1200Mi of 4Gi").does_nothing()


def test_a_reload_to_no_thresholds_lets_the_conditions_go() -> None:
    """Fault 27: after the transition period, also where local storage is not isolated."""
    book = Playbook(hard_memory(Policy.STANDARD), pods=[A, B], usage=MEMORY)
    book.at("0s", memory="500Mi of 4Gi").conditions("MemoryPressure").evicts("a")
    book.config = config(local_storage_capacity_isolation=False)
    book.at("299s", memory="500Mi of 4Gi").does_nothing()
    book.at("300s", memory="500Mi of 4Gi").conditions()


@pytest.mark.parametrize(("value", "left"), [("2Gi", 60), ("1800Mi", 60), ("1600Mi", 120)])
def test_a_reload_of_a_soft_value_that_is_met_keeps_its_time(value: str, left: int) -> None:
    """Fault 27: a higher value was met all the time; a lower one only from now on is known to be."""
    soft = config(soft={"memory.available": ("1800Mi", "2m")})
    book = Playbook(soft, pods=[A, B], usage=MEMORY)
    book.at("0s", memory="1500Mi of 4Gi").conditions("MemoryPressure").does_nothing()
    book.config = config(soft={"memory.available": (value, "2m")})
    book.at("60s", memory="1500Mi of 4Gi").does_nothing()
    [finding] = book.findings(ThresholdFinding)
    assert finding.grace_left == left * SECOND


def test_a_signal_that_is_unread_keeps_its_timer_and_its_condition() -> None:
    """Fault 28: unread once a minute with a grace of a minute; and unread for longer than the transition period."""
    settings = config(soft={"memory.available": ("2Gi", "1m")}, transition="30s")
    book = Playbook(settings, pods=[A, B], usage=MEMORY)
    book.at("0s", memory="1500Mi of 4Gi").conditions("MemoryPressure").does_nothing()
    book.at("40s").does_nothing()
    book.at("59s").does_nothing()
    book.at("60s", memory="1500Mi of 4Gi").evicts("a")


def test_a_pod_measured_to_use_nothing_is_never_a_victim() -> None:
    """Fault 29: no eviction of it would free anything; of the disk it is asked once only."""
    book = Playbook(config(hard={"nodefs.available": "1Gi"}), pods=[A], usage=[usage(A, rootfs="0", logs="0")])
    book.at("0s", nodefs="0 of 9Gi").conditions("DiskPressure").reclaims("containers", "images")
    for second in ("1s", "11s", "90s"):
        book.at(second, nodefs="0 of 9Gi", reclaimed=DONE).does_nothing().stays_silent(NoActionReason.NOTHING_HELPS)


def test_a_minimum_reclaim_that_the_evictable_pods_cannot_reach_costs_none_of_them() -> None:
    """One goes while the threshold itself can be left; what then lacks to the minimum is a protected pod's."""
    settings = config(hard={"memory.available": "1Gi"}, min_reclaim={"memory.available": "2Gi"})
    static = pod("static", source=PodSource.STATIC)
    uses = [usage(A, memory="700Mi"), usage(B, memory="100Mi"), usage(static, memory="2Gi")]
    book = Playbook(settings, pods=[A, B, static], usage=uses)
    book.at("0s", memory="500Mi of 4Gi").conditions("MemoryPressure").evicts("a")
    book.at("1s", memory="1200Mi of 4Gi").does_nothing().stays_silent(NoActionReason.PROTECTED_CULPRIT)


def test_nothing_is_done_for_a_disk_that_cannot_be_written() -> None:
    """Neither collecting nor evicting frees any of it (docs/faults.md, 30)."""
    settings = config(hard={"nodefs.available": "1Gi"})
    numbers = node(nodefs="500Mi of 9Gi")
    assert numbers.fs is not None
    for read_only, decided in ((True, []), (False, [ReclaimNode])):
        seen = Observation(node=replace(numbers, fs=replace(numbers.fs, read_only=read_only)), pods=(A,))
        step = synchronize(State(), seen, settings, 0)
        assert [type(each) for each in step.decisions if isinstance(each, ReclaimNode)] == decided
        found = [each.why for each in step.findings if isinstance(each, NoAction)]
        assert found == [NoActionReason.FILESYSTEM_READ_ONLY] * read_only


def test_a_protected_culprit_is_not_collected_for_again_and_again() -> None:
    """Fault 29: one collection, as long as the disk is short."""
    uses = [usage(STATIC, rootfs="8Gi"), usage(A, rootfs="1Mi")]
    book = Playbook(config(hard={"nodefs.available": "1Gi"}), pods=[STATIC, A], usage=uses)
    book.at("0s", nodefs="0 of 9Gi").conditions("DiskPressure").reclaims("containers", "images")
    for second in ("1s", "3s", "5s", "90s"):
        book.at(second, nodefs="0 of 9Gi", reclaimed=DONE).does_nothing().stays_silent(NoActionReason.PROTECTED_CULPRIT)


def test_a_refusal_by_a_budget_costs_no_new_collection() -> None:
    """Fault 29: the pod stays, so it leaves nothing to collect; the next one goes."""
    settings = config(soft={"nodefs.available": ("1Gi", "1s")})
    book = Playbook(settings, pods=[A, C], usage=[usage(A, rootfs="5Gi"), usage(C, rootfs="3Gi")])
    book.at("0s", nodefs="0 of 9Gi").conditions("DiskPressure").does_nothing()
    book.at("1s", nodefs="0 of 9Gi").reclaims("containers", "images")
    book.at("2s", nodefs="0 of 9Gi", reclaimed=DONE).evicts("a")
    book.gone = frozenset()
    refusal = EvictionAnswer(uid="a", kind=EvictionAnswerKind.REFUSED, at=3 * SECOND)
    book.at("4s", nodefs="0 of 9Gi", reclaimed=DONE, answers=[refusal]).evicts("c")


def test_imagefs_in_the_split_layout_evicts_no_pod() -> None:
    """Images belong to no pod: every pod uses nothing of it."""
    settings = config(hard={"imagefs.available": "1Gi"})
    book = Playbook(settings, pods=[A, C], usage=[usage(A, rootfs="5Gi"), usage(C, rootfs="3Gi")], filesystems=SPLIT)
    book.at("0s", imagefs="0 of 9Gi").conditions("DiskPressure").reclaims("images")
    book.at("1s", imagefs="0 of 9Gi", reclaimed=DONE[1:]).does_nothing().stays_silent(NoActionReason.NOTHING_HELPS)


def test_a_pod_that_is_not_measured_is_neither_evicted_nor_a_shield() -> None:
    """It ranks first by its priority; the measured pod goes, and a finding names the other."""
    unread, within = pod("unread", priority=-10), pod("within", memory="4Gi")
    book = Playbook(hard_memory(Policy.STANDARD), pods=[unread, within], usage=[usage(within, memory="2Gi")])
    book.at("0s", memory="500Mi of 4Gi").conditions("MemoryPressure").evicts("within")
    assert [(f.pod.name, f.reason) for f in book.findings(PodSkipped)] == [("unread", SkipReason.NOT_MEASURED)]


def test_evictd_s_own_pod_is_never_evicted() -> None:
    """It is protected by the observation, not by the configuration."""
    book = Playbook(hard_memory(Policy.STANDARD), pods=[A, B], usage=MEMORY)
    book.at("0s", memory="500Mi of 4Gi", own=["a"]).conditions("MemoryPressure").evicts("b")
    assert [finding.pod.name for finding in book.findings(ProtectedPodSkipped)] == ["a"]


def test_a_pod_over_its_own_limit_does_not_keep_pressure_from_being_relieved() -> None:
    """It owes what it was measured to use; where that does not suffice another pod goes in the same cycle."""
    full = pod("dir", volumes=[empty_dir("v", size_limit="1Gi")])
    uses = [usage(full, memory="1Mi", volumes={"v": "2Gi"}), *MEMORY]
    book = Playbook(hard_memory(Policy.STANDARD), pods=[full, A, B], usage=uses)
    book.at("0s", memory="500Mi of 4Gi").conditions("MemoryPressure").evicts("dir").evicts("a")
