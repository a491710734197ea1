"""When a device is collected again, and what a collection could have freed besides."""

from dataclasses import replace
from typing import Any

import pytest

from evictd.core.eviction.accounts.collecting import (
    COLLECT_AGAIN,
    COLLECTION_TIMEOUT,
    UNMEASURED_TIMEOUT,
    may_collect_again,
    still_frees,
)
from evictd.core.model.decision import EvictPod, ReclaimNode
from evictd.core.model.finding import NoActionReason, ReclaimWouldHelp
from evictd.core.model.observation import Reclaim, ReclaimOutcome
from evictd.core.model.pod import PodSource
from evictd.core.model.signal import Filesystem, Signal
from evictd.core.model.state import Collection
from evictd.core.model.stats import DiskUsage
from evictd.core.units.duration import SECOND
from tests.playbook import Playbook, config, pod, usage

BOTH = ("containers", "images")
DONE = (ReclaimOutcome(action=Reclaim.CONTAINERS), ReclaimOutcome(action=Reclaim.IMAGES))


def test_what_was_tried_for_inodes_may_be_tried_for_bytes_and_both_again_later() -> None:
    """A static pod that takes the inodes is short of them for hours; a pod went at once when bytes crossed as well."""
    inodes = Signal.NODEFS_INODES_FREE
    tried = Collection(begun=0, until=SECOND, ended_at=SECOND, tried=frozenset({inodes}))
    assert may_collect_again(tried, Signal.NODEFS_AVAILABLE, 2 * SECOND, removing=False)
    assert not may_collect_again(tried, inodes, 2 * SECOND, removing=False)
    assert may_collect_again(tried, inodes, COLLECT_AGAIN, removing=False)


ENDED = Collection(begun=0, until=60, available_before=100, ended_at=5, freed=10, removed=1)


def owes(
    collection: Collection, available: int | None, now: int, *, inodes: bool = False, presses: bool = False
) -> bool:
    signal = Signal.NODEFS_INODES_FREE if inodes else Signal.NODEFS_AVAILABLE
    return still_frees(collection, signal, available, presses=presses, now=now)


def test_freed_bytes_are_waited_for_within_a_bound() -> None:
    """Until they show."""
    assert owes(ENDED, 109, 6)
    assert owes(ENDED, None, 6)
    assert not owes(ENDED, 110, 6)
    assert not owes(ENDED, 100, 5 + COLLECTION_TIMEOUT)
    assert not owes(replace(ENDED, freed=0, removed=0), 100, 6)
    assert not owes(replace(ENDED, ended_at=None), 100, 6)


def test_inodes_of_what_was_removed_are_waited_for_within_a_bound() -> None:
    """How many they are is not known: not until they show, and not where inodes run out meanwhile."""
    last = 5 + UNMEASURED_TIMEOUT
    assert owes(ENDED, 200, last - 1, inodes=True)
    assert not owes(ENDED, 200, last, inodes=True)
    assert not owes(ENDED, 200, last - 1, inodes=True, presses=True)
    assert not owes(replace(ENDED, removed=0), 100, 6, inodes=True)
    assert not still_frees(ENDED, Signal.MEMORY_AVAILABLE, 100, presses=False, now=6)


def test_bytes_of_a_container_that_was_not_measured_are_waited_for_as_inodes_are() -> None:
    """A layer of 800 MiB, of a container that had just ended: it was removed, and a pod was evicted 50 ms later."""
    unmeasured, last = replace(ENDED, freed=0), 5 + UNMEASURED_TIMEOUT
    assert owes(unmeasured, 100, last - 1)
    assert not owes(unmeasured, 100, last)
    assert not owes(unmeasured, 100, last - 1, presses=True)


def test_a_pod_stays_whose_disk_a_removed_container_relieves() -> None:
    """Containerd deletes the files of a removed container after its answer, and a pod was evicted in between."""
    done = (ReclaimOutcome(action=Reclaim.CONTAINERS, removed=1), ReclaimOutcome(action=Reclaim.IMAGES))
    hog = pod("hog")
    book = Playbook(config(hard={"nodefs.inodesFree": "9k"}), pods=[hog], usage=[usage(hog, inodes=1500)])
    book.at("0s", nodefs_inodes="8800 of 90000").conditions("DiskPressure").reclaims("containers", "images")
    book.at("100ms", nodefs_inodes="8900 of 90000", reclaimed=done).does_nothing()
    book.at("200ms", nodefs_inodes="10000 of 90000", reclaimed=done).does_nothing()


def test_where_rotated_logs_stay_a_finding_says_how_much_they_would_have_freed() -> None:
    hog = pod("hog")
    kept = ReclaimOutcome(action=Reclaim.ROTATED_LOGS, device=Filesystem.NODEFS, unused_bytes=300 << 20)
    done = (ReclaimOutcome(action=Reclaim.CONTAINERS, device=Filesystem.NODEFS), kept)
    book = Playbook(config(hard={"nodefs.available": "1Gi"}), pods=[hog], usage=[usage(hog, rootfs="5Gi")])
    book.at("0s", nodefs="500Mi of 9Gi").conditions("DiskPressure").reclaims("containers", "images")
    assert next(d for d in book.step.decisions if isinstance(d, ReclaimNode)).measured == (Reclaim.ROTATED_LOGS,)
    book.at("1s", nodefs="500Mi of 9Gi", reclaimed=done).evicts("hog")
    (found,) = book.findings(ReclaimWouldHelp)
    assert (found.action, found.size, found.missing) == (Reclaim.ROTATED_LOGS, 300 << 20, 524 << 20)


def test_rotated_logs_that_are_collected_are_no_finding() -> None:
    hog = pod("hog")
    settings = config(hard={"nodefs.available": "1Gi"}, reclaim_rotated_logs=True)
    freed = ReclaimOutcome(action=Reclaim.ROTATED_LOGS, device=Filesystem.NODEFS, freed_bytes=600 << 20, removed=3)
    book = Playbook(settings, pods=[hog], usage=[usage(hog, rootfs="5Gi")])
    book.at("0s", nodefs="500Mi of 9Gi").conditions("DiskPressure").reclaims("containers", "images", "rotatedLogs")
    book.at("1s", nodefs="500Mi of 9Gi", reclaimed=[freed]).does_nothing()  # their bytes may show later
    book.at("2s", nodefs="1100Mi of 9Gi", reclaimed=[freed]).does_nothing()
    assert book.findings(ReclaimWouldHelp) == []


def test_a_device_is_collected_for_bytes_although_it_was_collected_for_inodes() -> None:
    """A static pod used up the inodes; when bytes run short as well, a pod went although no collection was tried for them."""
    hog = pod("hog")
    settings = config(hard={"nodefs.available": "1Gi", "nodefs.inodesFree": "100"})
    book = Playbook(settings, pods=[hog], usage=[usage(hog, rootfs="5Gi")])
    book.at("0s", nodefs="5Gi of 9Gi", nodefs_inodes="0 of 1000").conditions("DiskPressure").reclaims(*BOTH)
    book.at("60s", nodefs="5Gi of 9Gi", nodefs_inodes="0 of 1000", reclaimed=DONE).does_nothing()
    book.at("120s", nodefs="500Mi of 9Gi", nodefs_inodes="0 of 1000", reclaimed=DONE).reclaims(*BOTH)
    book.at("121s", nodefs="500Mi of 9Gi", nodefs_inodes="0 of 1000", reclaimed=DONE).evicts("hog")


def test_a_device_that_stays_short_is_collected_again_after_ten_minutes() -> None:
    static = pod("static", source=PodSource.STATIC)
    book = Playbook(config(hard={"nodefs.available": "1Gi"}), pods=[static], usage=[usage(static, rootfs="8Gi")])
    book.at("0s", nodefs="0 of 9Gi").conditions("DiskPressure").reclaims(*BOTH)
    book.at("599s", nodefs="0 of 9Gi", reclaimed=DONE).does_nothing()
    book.at("600s", nodefs="0 of 9Gi", reclaimed=DONE).reclaims(*BOTH)


def test_a_pod_over_its_own_limit_that_its_owner_creates_again_waits_longer_and_longer() -> None:
    """A ReplicaSet's pod was evicted 24 times in 65 s."""
    book = Playbook(config(hard={"memory.available": "1Gi"}))
    evicted = []
    for second in range(30):
        over = pod(f"web-{second}", owner="ReplicaSet/web", storage_limit="1Gi")
        book.pods, book.usage = (over,), {over.uid: replace(usage(over), ephemeral_storage=DiskUsage(2 << 30, 1))}
        book.at(f"{second}s", memory="3Gi of 4Gi")
        evicted += [second for each in book.left if isinstance(each, EvictPod)]
        book.left.clear()
    assert len(evicted) <= 4, "at once, at once again as its first return, then after 10 s"


MIB = 1 << 20
A, B = pod("a"), pod("b")
SETTINGS = config(hard={"nodefs.available": "100Mi"})


def disk(left_mib: int, rate_mib: int = 200) -> dict[str, Any]:
    return {"nodefs": f"{left_mib}Mi of 9Gi", "nodefs_rate": rate_mib * MIB}


def a_minute_of_calm(book: Playbook) -> None:
    book.at("0s", **disk(900, 0)).conditions().does_nothing()
    for seconds in range(10, 70, 10):
        book.at(f"{seconds}s", **disk(900, 0)).does_nothing()


@pytest.mark.parametrize("held", ["12", "2Mi"])
def test_pods_that_hold_less_than_is_missing_wait_for_the_collectors(held: str) -> None:
    """A file of the host filled the disk at once, and a pod with 12 bytes went although the collection sufficed."""
    book = Playbook(SETTINGS, pods=[A], usage=[usage(A, rootfs=held)])
    a_minute_of_calm(book)
    book.at("70s", **disk(90)).conditions("DiskPressure").reclaims("containers", "images")
    book.at("70.1s", **disk(90)).does_nothing().stays_silent(NoActionReason.WAITING_FOR_RELEASE).finish()


def test_where_what_fills_the_disk_belongs_to_no_pod_the_collectors_are_waited_for() -> None:
    """Such as an image that is pulled; the pods hold enough."""
    book = Playbook(SETTINGS, pods=[A, B], usage=[usage(A, rootfs="2Gi"), usage(B, rootfs="1Gi")])
    a_minute_of_calm(book)
    book.at("70s", **disk(90)).conditions("DiskPressure").reclaims("containers", "images")
    book.at("70.1s", **disk(90)).does_nothing().stays_silent(NoActionReason.WAITING_FOR_RELEASE).finish()


def test_the_pod_that_fills_the_disk_goes_at_once() -> None:
    book = Playbook(SETTINGS, pods=[A, B], usage=[usage(A, rootfs="2Gi"), usage(B, rootfs="1Gi")])
    a_minute_of_calm(book)
    book.usage = {"a": usage(A, rootfs="2800Mi"), "b": usage(B, rootfs="1Gi")}
    book.at("70s", **disk(90)).conditions("DiskPressure").reclaims("containers", "images")
    book.at("70.1s", **disk(90)).evicts("a", grace=0).finish()


def test_so_does_one_that_was_just_measured_for_the_first_time() -> None:
    """Its growth is not known."""
    book = Playbook(SETTINGS, pods=[A], usage=[usage(A, rootfs="2800Mi")])
    book.at("70s", **disk(90)).conditions("DiskPressure").reclaims("containers", "images")
    book.at("70.1s", **disk(80)).evicts("a", grace=0).finish()
