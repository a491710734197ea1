"""What only policy Kubelet does; tests/parity compares it with the kubelet's own code."""

from dataclasses import replace
from typing import Any

import pytest

from evictd.core.model.config import EvictionConfig, ImageReclaim, Policy
from evictd.core.model.finding import NoActionReason, ThresholdFinding
from evictd.core.model.observation import Filesystems, Reclaim, ReclaimOutcome
from evictd.core.model.signal import Filesystem
from evictd.core.model.state import PhaseName
from evictd.core.model.stats import FsStats
from evictd.core.units.duration import SECOND
from tests.playbook import DEDICATED, Playbook, as_kubelet, config, pod, usage

A = pod("a", memory="100Mi", grace=30)
B = pod("b", memory="1Gi", grace=30)
MEMORY = [usage(A, memory="700Mi"), usage(B, memory="900Mi")]
BOTH = pytest.mark.parametrize("policy", Policy)
DONE = (ReclaimOutcome(action=Reclaim.CONTAINERS), ReclaimOutcome(action=Reclaim.IMAGES))


def hard_memory(policy: Policy) -> EvictionConfig:
    """1Gi, hard."""
    return config(hard={"memory.available": "1Gi"}, policy=policy)


def test_the_kubelet_waits_for_the_layout_with_the_whole_cycle() -> None:
    """Imagefs cannot be found: nothing is done (docs/parity.md, row 37: tried again)."""
    unknown = Filesystems(dedicated_image_fs=None)
    book = Playbook(hard_memory(Policy.KUBELET), pods=[A, B], usage=MEMORY, filesystems=unknown)
    book.at("0s", memory="500Mi of 4Gi").does_nothing().stays_silent(NoActionReason.LAYOUT_UNKNOWN)
    book.filesystems = Filesystems()
    book.at("10s", memory="500Mi of 4Gi").conditions("MemoryPressure").evicts("a")


def test_kubelet_lets_an_unmet_soft_threshold_turn_a_good_collection_into_an_eviction() -> None:
    """docs/parity.md, row 17: the disk is fine again, memory is below a soft value still in its grace, and a pod goes."""
    settings = config(hard={"nodefs.available": "1Gi"}, soft={"memory.available": ("2Gi", "1h")})
    numbers: dict[str, Any] = {"memory": "1500Mi of 4Gi"}
    standard = Playbook(settings, pods=[A], usage=[usage(A, rootfs="3Gi", memory="1Mi")])
    standard.at("0s", nodefs="500Mi of 9Gi", **numbers).conditions("MemoryPressure", "DiskPressure")
    standard.reclaims("containers", "images")
    standard.at("1s", reclaimed=DONE, nodefs="2Gi of 9Gi", **numbers).does_nothing()
    standard.stays_silent(NoActionReason.RECLAIM_SUFFICED)
    kubelet = Playbook(as_kubelet(settings), pods=[A], usage=[usage(A, rootfs="3Gi", memory="1Mi")])
    kubelet.at("0s", nodefs="500Mi of 9Gi", **numbers).conditions("MemoryPressure", "DiskPressure")
    kubelet.reclaims("containers", "images")
    kubelet.at("1s", reclaimed=DONE, nodefs="2Gi of 9Gi", **numbers).evicts("a")


def test_a_reload_from_standard_waits_for_the_pod_that_leaves() -> None:
    """Its processes have given back all but a volume in memory, so that it ranks last now: no second pod goes for that."""
    book = Playbook(
        hard_memory(Policy.STANDARD), pods=[A, B], usage=[usage(A, memory="2Gi"), usage(B, memory="1100Mi")]
    )
    book.at("0s", memory="500Mi of 4Gi").conditions("MemoryPressure").evicts("a")
    book.config = hard_memory(Policy.KUBELET)
    book.usage["a"] = usage(A, memory="10Mi")
    book.at("1s", memory="500Mi of 4Gi", gone=[]).does_nothing().stays_silent(NoActionReason.WAITING_FOR_VICTIM)
    assert [victim.uid for victim in book.state.in_flight] == ["a"]
    book.at("2s", memory="500Mi of 4Gi").evicts("b")


def test_kubelet_takes_the_next_pod_as_soon_as_the_last_is_cleaned_up() -> None:
    """The same disk under the kubelet's code."""
    settings = config(hard={"nodefs.available": "1Gi"}, reclaim_containers=False, reclaim_images=ImageReclaim.OFF)
    book = Playbook(as_kubelet(settings), pods=[A, B], usage=[usage(A, rootfs="3Gi"), usage(B, rootfs="1Gi")])
    book.at("0s", nodefs="500Mi of 9Gi").conditions("DiskPressure").evicts("a")
    book.at("1s", nodefs="500Mi of 9Gi").evicts("b")


def test_the_kubelet_stands_still_while_its_victim_leaves() -> None:
    """The same under the kubelet's code: conditions are not even looked at."""
    settings = config(soft={"memory.available": ("2Gi", "0s")}, hard={}, max_pod_grace_period_seconds=60)
    patient = pod("patient", grace=60)
    book = Playbook(as_kubelet(settings), pods=[patient, B], usage=[usage(patient, memory="1Gi"), MEMORY[1]])
    book.at("0s", memory="1500Mi of 4Gi").conditions("MemoryPressure").evicts("patient", grace=1)
    before = book.state
    book.at("39s", memory="100Mi of 4Gi", gone=[]).does_nothing().stays_silent(NoActionReason.WAITING_FOR_VICTIM)
    assert book.state == replace(before, last_cycle_at=39 * SECOND)
    book.at("40s", memory="100Mi of 4Gi", gone=[]).evicts("patient")


def test_a_threshold_that_stays_met_is_found_in_every_cycle() -> None:
    """While collectors run and after them: else the log says "no longer met" in between."""
    book = Playbook(as_kubelet(config(hard={"nodefs.available": "1Gi"})), pods=[A], usage=[usage(A, rootfs="3Gi")])
    low = "500Mi of 9Gi"
    book.at("0s", nodefs=low).conditions("DiskPressure").reclaims("containers", "images")
    assert met(book) == ["nodefs.available"]
    book.at("1s", collecting=[Filesystem.NODEFS], nodefs=low).does_nothing()
    assert met(book) == ["nodefs.available"]
    book.at("2s", reclaimed=DONE, nodefs=low).evicts("a")
    assert met(book) == ["nodefs.available"]


def met(book: Playbook) -> list[str]:
    """The thresholds that the last step found met."""
    return [str(each.threshold.signal.value) for each in book.findings(ThresholdFinding) if each.met]


@pytest.mark.parametrize(("collecting", "waits"), [(None, True), ([Filesystem.NODEFS], True), ([], False)])
def test_collectors_are_waited_for_unless_nothing_knows_of_them(
    collecting: list[Filesystem] | None, waits: bool
) -> None:
    """Where it is not known what is at work they count as at work; after a restart there are none."""
    settings = as_kubelet(config(hard={"nodefs.available": "1Gi"}))
    book = Playbook(settings, pods=[A], usage=[usage(A, rootfs="3Gi")])
    book.at("0s", nodefs="500Mi of 9Gi").conditions("DiskPressure").reclaims("containers", "images")
    book.at("1s", nodefs="500Mi of 9Gi", collecting=collecting)
    if waits:
        book.does_nothing().in_phase(PhaseName.RECLAIMING)
    else:
        book.evicts("a")


@pytest.mark.parametrize(("left", "goes"), [(2**29, True), (2**31, False)])
def test_after_a_collection_thresholds_that_were_derived_count_as_well(left: int, goes: bool) -> None:
    """Images have a disk of their own and have shrunk; the writable layers beside them are still in the way, or not."""
    layers = FsStats(available_bytes=left, capacity_bytes=9 * 2**30)
    settings = as_kubelet(config(hard={"imagefs.available": "1Gi"}))
    book = Playbook(settings, pods=[A], usage=[usage(A, rootfs="3Gi")], filesystems=DEDICATED)
    book.at("0s", imagefs="500Mi of 9Gi").conditions("DiskPressure").reclaims("containers", "images")
    book.at("1s", imagefs="2Gi of 9Gi", container_fs=layers, reclaimed=DONE)
    if goes:
        book.evicts("a")
    else:
        book.does_nothing().stays_silent(NoActionReason.RECLAIM_SUFFICED)
