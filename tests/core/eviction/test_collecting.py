"""When a device is collected again, and what a collection could have freed besides."""

from dataclasses import replace

from evictd.core.model.decision import EvictPod, ReclaimNode, ReclaimWouldHelp
from evictd.core.model.observation import Reclaim, ReclaimOutcome
from evictd.core.model.pod import PodSource
from evictd.core.model.signal import Filesystem
from evictd.core.model.stats import DiskUsage
from tests.playbook import Playbook, config, pod, usage

BOTH = ("containers", "images")
DONE = (ReclaimOutcome(action=Reclaim.CONTAINERS), ReclaimOutcome(action=Reclaim.IMAGES))


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
