"""Disk and inode pressure on a real containerd and a small filesystem (kubelet `eviction_test.go`)."""

from dataclasses import replace

import pytest

from evictd.act.stop.freezer import PodFreezer
from evictd.core.model.config import Policy
from evictd.core.units.quantity import parse_quantity
from evictd_testnode.cgroups import group
from evictd_testnode.disks import DiskRecipe
from evictd_testnode.images import BUSYBOX, PAUSE, ImageRecipe
from evictd_testnode.pods import ContainerRecipe, PodRecipe, VolumeRecipe
from tests.conftest import NodeFactory
from tests.e2e.story import DISK, OBEDIENT, REST, STUBBORN, Story, touches, writes
from tests.recorded_errors import RecordedErrors

pytestmark = [pytest.mark.root, pytest.mark.containerd]

DATA = (VolumeRecipe(name="data"),)


def test_inodes_run_out_and_the_pod_that_took_them_goes(make_node: NodeFactory) -> None:
    """InodeEviction."""
    node = make_node(node_disk=DISK)
    with Story(node, {"evictionHard": {"nodefs.inodesFree": "4k"}}) as story:
        story.pod("innocent")
        story.pod("toucher", touches("/data/i", 100_000), volumes=DATA)
        story.until_condition("DiskPressure")
        story.until_evicted("toucher")
        story.until_calm("DiskPressure")
        story.verify(evicted=["toucher"], innocent=["innocent"], starved="inodes")


def test_removing_unused_images_is_enough_and_no_pod_is_evicted(make_node: NodeFactory) -> None:
    """ImageGCNoEviction."""
    unused = ImageRecipe(reference="localhost/unused:1", files=4000)
    node = make_node(node_disk=DISK, images=[unused])
    config = {"evictionHard": {"nodefs.inodesFree": "3k"}, "imageMinimumGCAge": "100ms"}
    with Story(node, config) as story:
        story.pod("innocent")
        story.pod("toucher", touches("/files", 5000))
        story.until_condition("DiskPressure")
        story.until(lambda: story.images() == {BUSYBOX, PAUSE}, "the unused images are gone")
        story.until_calm("DiskPressure")
        story.verify(evicted=[], innocent=["innocent", "toucher"])
        assert story.free_inodes() > 3000


def test_removing_dead_containers_is_enough_and_no_pod_is_evicted(make_node: NodeFactory) -> None:
    """ImageGCTerminatedPodsContainersCleanup."""
    node = make_node(node_disk=DISK)
    with Story(node, {"evictionHard": {"nodefs.inodesFree": "4k"}}, {"reclaim": {"images": "Off"}}) as story:
        story.pod("done", touches("/files", 4000, then="exit 0"))
        story.until(lambda: not story.runs("done"), "the first pod has done its work")
        node.client.stop_sandbox(story.pods["done"].sandbox_id)
        story.pod("toucher", touches("/data/i", 4500), volumes=DATA)
        story.until_condition("DiskPressure")
        story.until_calm("DiskPressure")
        story.verify(evicted=[], innocent=["toucher"])
        gone = set(story.pods["done"].containers.values())
        assert not gone & {row.id for row in node.client.list_containers()}


def test_disk_runs_out_and_the_pod_that_filled_it_goes(make_node: NodeFactory) -> None:
    """LocalStorageEviction."""
    node = make_node(node_disk=DISK)
    with Story(node, {"evictionHard": {"nodefs.available": "40Mi"}}) as story:
        story.pod("innocent", requests={"ephemeral-storage": "5Mi"})
        story.pod("writer", writes("/data", 200), volumes=DATA)
        story.until_condition("DiskPressure")
        story.until_evicted("writer")
        story.until_calm("DiskPressure")
        story.verify(evicted=["writer"], innocent=["innocent"], starved="ephemeral-storage")
        assert story.evictions()[0]["gracePeriodSeconds"] in {0, 1}, "the second, if the disk lasts for it"


@pytest.mark.skipif(
    not group("freezer", "/").joinpath("cgroup.procs").exists(), reason="needs the freezer of cgroup v1"
)
@pytest.mark.parametrize("policy", list(Policy))
def test_a_pod_that_a_killed_evictd_has_left_frozen_is_thawed(make_node: NodeFactory, policy: Policy) -> None:
    """Also if the policy was changed since; only Standard freezes."""
    node, evictd = make_node(node_disk=DISK), {"decisionPolicy": policy.value}
    with Story(node, {"evictionHard": {"nodefs.available": "40Mi"}}, evictd) as story:
        pod = story.pod("frozen")
        story.kill()
        folder = group("freezer", pod.cgroup_parent)
        freezer = PodFreezer(lambda _: (folder,), RecordedErrors())
        freezer.freeze(pod.uid)
        try:
            state = folder / pod.container_id / "freezer.state"
            story.until(lambda: state.read_text() == "FROZEN\n", "the pod is frozen")
            story.start()
            story.until(lambda: state.read_text() == "THAWED\n", "the pod is thawed")
        finally:
            freezer.thaw(pod.uid)  # nothing ends a frozen process


def test_the_volumes_of_pods_without_a_manifest_count(make_node: NodeFactory) -> None:
    """Known from the runtime alone, the writer counted with its small layer, and the bystander with the larger one went."""
    node = make_node(node_disk=DISK)
    with Story(node, {"evictionHard": {"nodefs.available": "40Mi"}}) as story:
        before = story.free_bytes() >> 20
        story.pod("bystander", writes("", 12), manifest=False)
        story.until_left(before - 12)
        story.pod("writer", writes("/data", 200), volumes=DATA, manifest=False)
        story.until_evicted("writer")
        story.until_calm("DiskPressure")
        story.verify(evicted=["writer"], innocent=["bystander"], starved="ephemeral-storage")


def hides(path: str, mib: int) -> str:
    """Write so many MiB, one at a time, into one file that is removed while it is open."""
    return (
        f"{OBEDIENT}exec 3>{path}/f; rm {path}/f; i=0; while [ $i -lt {mib} ]; do "
        f"dd if=/dev/zero bs=1M count=1 2>/dev/null >&3; i=$((i+1)); sleep 0.05; done; {REST}"
    )


@pytest.mark.parametrize("where", ["/data", ""])
def test_a_hog_that_hides_in_a_deleted_file_goes_and_not_its_small_neighbour(
    make_node: NodeFactory, where: str
) -> None:
    """No walk and no runtime sees the bytes of a removed file that is open, in a volume or in the layer."""
    node = make_node(node_disk=DISK)
    with Story(node, {"evictionHard": {"nodefs.available": "20Mi"}}) as story:
        before = story.free_bytes() >> 20
        story.pod("neighbour", writes("/data", 5), volumes=DATA)
        story.until_left(before - 5)
        story.pod("hog", hides(where, 200), volumes=DATA)
        story.until_evicted("hog")
        story.until_calm("DiskPressure")
        story.verify(evicted=["hog"], innocent=["neighbour"], starved="ephemeral-storage")


FOLDERS = 45_000
"""More than a walk keeps of one directory at a time (`levels`); `test_walk` counts beside 131,500."""


def hides_beside_folders(path: str, folders: int, mib: int) -> str:
    """Make so many empty folders with the longest names, five hundred at a time, and then files of 1 MiB."""
    return (
        f"{OBEDIENT}cd {path}; p=$(printf %0248d 0); i=100; while [ $i -lt {100 + folders // 500} ]; do "
        f'mkdir $p$i-$(seq -s " $p$i-" 100 599); i=$((i+1)); done; ' + writes(path, mib)
    )


def test_a_hog_that_hides_beside_empty_folders_goes_and_not_its_small_neighbour(make_node: NodeFactory) -> None:
    """The names of many were more than a walk remembered; it then counted nothing of the volume."""
    node = make_node(node_disk=replace(DISK, inodes=FOLDERS + 10_000))
    with Story(node, {"evictionHard": {"nodefs.available": "20Mi"}}) as story:
        before = story.free_bytes() >> 20
        story.pod("neighbour", writes("/data", 5), volumes=DATA)
        story.until_left(before - 5)
        story.pod("hog", hides_beside_folders("/data", FOLDERS, 200), volumes=DATA)
        story.until_evicted("hog")
        story.until_calm("DiskPressure")
        story.verify(evicted=["hog"], innocent=["neighbour"], starved="ephemeral-storage")


def test_a_disk_filled_to_the_last_byte_is_given_back(make_node: NodeFactory) -> None:
    """The runtime itself cannot write, and reports dead containers as running (not in the kubelet's suite)."""
    node = make_node(node_disk=DiskRecipe(size_bytes=48 << 20))
    with Story(node, {"evictionHard": {"nodefs.available": "2Mi"}}, {"housekeepingInterval": "2s"}) as story:
        story.pod("innocent")
        story.pod("flood", f"{OBEDIENT}dd if=/dev/zero of=/data/f bs=1M 2>/dev/null; {REST}", volumes=DATA)
        story.until_condition("DiskPressure")
        story.until_evicted("flood")
        story.until_calm("DiskPressure")
        story.verify(evicted=["flood"], innocent=["innocent"], starved="ephemeral-storage")


def test_priority_decides_among_those_who_fill_the_disk(make_node: NodeFactory) -> None:
    """PriorityLocalStorageEvictionOrdering."""
    node = make_node(node_disk=DISK)
    with Story(node, {"evictionHard": {"nodefs.available": "45Mi"}}) as story:
        story.pod("modest", writes("/data", 4), volumes=DATA, requests={"ephemeral-storage": "8Mi"})
        story.pod("important", writes("/data", 70, pause=0.25), volumes=DATA, priority=999_999_999)
        story.pod("writer", writes("/data", 200, pause=0.1), volumes=DATA)
        story.until_evicted("writer", "important")
        story.until_calm("DiskPressure")
        story.verify(evicted=["writer", "important"], innocent=["modest"], starved="ephemeral-storage")


def test_a_soft_threshold_waits_for_its_grace_and_caps_the_pod_s(make_node: NodeFactory) -> None:
    """LocalStorageSoftEviction: acts after 3 s, and gives the stubborn pod no more than 2 of its 30 s."""
    node = make_node(node_disk=DISK)
    soft = {
        "evictionHard": {"memory.available": "1Mi"},
        "evictionSoft": {"nodefs.available": "45Mi"},
        "evictionSoftGracePeriod": {"nodefs.available": "3s"},
        "evictionMaxPodGracePeriod": 2,
    }
    with Story(node, soft) as story:
        story.pod("innocent")
        story.pod("writer", writes("/data", 50, how=STUBBORN), volumes=DATA, grace=30)
        story.until_condition("DiskPressure")
        story.until_evicted("writer")
        story.until_calm("DiskPressure")
        story.verify(evicted=["writer"], innocent=["innocent"], starved="ephemeral-storage")
        (eviction,) = story.evictions()
        assert eviction["gracePeriodSeconds"] == 2
        met = story.decisions("ReportConditions")[1]
        assert met["conditions"] == ["DiskPressure"]
        assert eviction["now"] - met["now"] >= 3 * 10**9


def test_a_pod_s_own_shorter_grace_is_not_overwritten(make_node: NodeFactory) -> None:
    """LocalStorageSoftEvictionNotOverwriteTerminationGracePeriodSeconds, with a writer into its own layer."""
    node = make_node(node_disk=DISK)
    soft = {
        "evictionHard": {"memory.available": "1Mi"},
        "evictionSoft": {"nodefs.available": "45Mi"},
        "evictionSoftGracePeriod": {"nodefs.available": "1s"},
        "evictionMaxPodGracePeriod": 30,
    }
    with Story(node, soft) as story:
        story.pod("innocent")
        story.pod("writer", writes("", 50, how=STUBBORN), grace=2)
        story.until_evicted("writer")
        assert story.evictions()[0]["gracePeriodSeconds"] == 2
        story.remove("writer")
        story.until_calm("DiskPressure")
        story.verify(evicted=["writer"], innocent=["innocent"], starved="ephemeral-storage")


def test_each_limit_of_local_storage_is_enforced(make_node: NodeFactory) -> None:
    """LocalStorageCapacityIsolationEviction: no node condition, no pressure; what is in memory does not count."""
    node = make_node(node_disk=DISK)
    limit = {"ephemeral-storage": "10Mi"}
    sized = (VolumeRecipe(name="data", size_limit="10Mi"),)
    with Story(node, {"evictionHard": {"memory.available": "1Mi"}}) as story:
        story.pod("volume-over", writes("/data", 11), volumes=sized)
        story.pod("layer-over", writes("", 11), limits=limit)
        story.pod("volume-over-pod", writes("/data", 11), volumes=DATA, limits=limit)
        in_memory = (VolumeRecipe(name="data", medium="Memory", size_limit="100Mi"),)
        story.pod("memory-over", writes("/data", 11), volumes=in_memory, limits=limit)
        story.pod("volume-within", writes("/data", 8), volumes=sized)
        story.pod("layer-within", writes("", 8), limits=limit)
        over = {"volume-over", "layer-over", "volume-over-pod"}
        story.until(lambda: set(story.evicted()) == over, "all that are over their limit go")
        story.until(lambda: not story.running() & over, "nothing of them runs")
        story.until_calm("DiskPressure")
        assert sorted(story.evicted()) == sorted(over)
        assert story.running() == {"memory-over", "volume-within", "layer-within"}
        assert {e["pod"]["name"]: e["because"]["signal"] for e in story.evictions()} == {
            "volume-over": "emptydirfs.limit",
            "layer-over": "ephemeralpodfs.limit",
            "volume-over-pod": "ephemeralpodfs.limit",
        }
        assert all(decision["conditions"] == [] for decision in story.decisions("ReportConditions"))


def test_a_static_hog_stays_and_is_named_as_the_culprit(make_node: NodeFactory) -> None:
    """SystemNodeCriticalPod; policy Standard sees that all other pods together hold too little."""
    node = make_node(node_disk=DISK)
    with Story(node, {"evictionHard": {"nodefs.available": "60Mi"}}) as story:
        story.pod("innocent", writes("/data", 1), volumes=DATA)
        story.pod("hog", writes("/data", story.leaves(65)), volumes=DATA, source="file", priority=2_000_001_000)
        story.until_left(65)
        story.ballast(45)  # at once: with less than a MiB to make up for, the innocent one would do
        story.until_condition("DiskPressure")
        story.until(lambda: "ProtectedCulprit" in story.log(), "the culprit is named")
        assert story.running() == {"innocent", "hog"}
        words = [line for line in story.log().splitlines() if "ProtectedCulprit" in line]  # the finding and its event
        assert all("default/hog" in line for line in words)
        assert "DiskPressure" in story.conditions()
        assert story.evicted() == []


def test_minimum_reclaim_is_taken_in_one_go(make_node: NodeFactory) -> None:
    """Two fill the disk; the first to go would be enough for the threshold, not for the minimum reclaim."""
    node = make_node(node_disk=DISK)
    config = {"evictionHard": {"nodefs.available": "40Mi"}, "evictionMinimumReclaim": {"nodefs.available": "40Mi"}}
    with Story(node, config) as story:
        story.pod("innocent", requests={"ephemeral-storage": "5Mi"})
        story.pod("second", writes("/data", 18, pause=0.02), volumes=DATA)
        story.pod("first", writes("/data", 40), volumes=DATA)
        story.until_evicted("first", "second")
        story.until_calm("DiskPressure")
        story.verify(evicted=["first", "second"], innocent=["innocent"], starved="ephemeral-storage")
        assert story.free_bytes() > parse_quantity("80Mi").value()


def test_a_condition_stays_for_the_transition_period(make_node: NodeFactory) -> None:
    """The pressure is over with the file; the condition ten seconds later, and not before."""
    node = make_node(node_disk=DISK)
    config = {"evictionHard": {"nodefs.available": "60Mi"}, "evictionPressureTransitionPeriod": "10s"}
    with Story(node, config, {"reclaim": {"images": "Off", "containers": False}, "dryRun": False}) as story:
        ballast = story.ballast(50)
        story.until_condition("DiskPressure")
        ballast.unlink()
        story.until(lambda: "threshold no longer met" in story.log(), "the threshold is no longer met")
        assert "DiskPressure" in story.conditions()
        story.until_calm("DiskPressure")
        on, off = story.decisions("ReportConditions")[-2:]
        assert (on["conditions"], off["conditions"]) == (["DiskPressure"], [])
        assert off["now"] - on["now"] >= 10 * 10**9


def test_a_dry_run_changes_nothing_and_logs_what_it_would_do(make_node: NodeFactory) -> None:
    """The story of the full disk as a dry run."""
    unused = ImageRecipe(reference="localhost/unused:1", padding_bytes=5 << 20)
    node = make_node(node_disk=DISK, images=[unused])
    with Story(node, {"evictionHard": {"nodefs.available": "40Mi"}}, {"dryRun": True}) as story:
        story.pod("innocent")
        story.pod("writer", writes("/data", 60), volumes=DATA)
        story.until(lambda: "would evict default/writer" in story.log(), "it is said who would go")
        story.until(lambda: story.free_bytes() < (26 << 20), "the disk fills on")
        assert story.running() == {"innocent", "writer"}
        assert "localhost/unused:1" in story.images()
        assert story.conditions() == set()
        assert not (story.state / "state.json").exists()
        assert story.log().count("would evict") == 1
        assert story.log().count("would delete unused containers and images") == 1


def test_containers_of_many_pods_die_with_them(make_node: NodeFactory) -> None:
    """A pod of two containers, one of them stubborn: both are stopped, and nothing of it is left half alive."""
    node = make_node(node_disk=DISK)
    with Story(node, {"evictionHard": {"nodefs.available": "40Mi"}}) as story:
        story.pod("innocent")
        containers = (
            ContainerRecipe(name="writer", script=writes("/data", 200)),
            ContainerRecipe(name="stubborn", script=f"{STUBBORN}{REST}"),
        )
        story.pods["pair"] = node.run_pod(
            PodRecipe(name="pair", containers=containers, volumes=DATA, grace_period_seconds=1)
        )
        story.until_evicted("pair")
        story.until_calm("DiskPressure")
        story.verify(evicted=["pair"], innocent=["innocent"], starved="ephemeral-storage")


def test_layers_that_containerd_read_before_the_crossing_choose_no_victim(make_node: NodeFactory) -> None:
    """With containerd's default of ten seconds the pod that filled the disk still looks empty when the threshold is met."""
    node = make_node(node_disk=DISK, stats_collect_period_seconds=10)
    config = {"evictionHard": {"nodefs.available": "30Mi"}}
    with Story(node, config, {"reclaim": {"images": "Off"}}) as story:
        story.pod("innocent", writes("/", 8, pause=0))
        identity = story.pods["innocent"].container_id

        def known() -> bool:
            layers = [row.writable_layer for row in node.client.list_container_stats() if row.id == identity]
            return any(layer is not None and (layer.used_bytes or 0) >= 8 << 20 for layer in layers)

        story.until(known, "containerd knows the innocent pod's layer")
        story.pod("hog", writes("/", 60, pause=0))
        story.until_condition("DiskPressure")
        story.until_evicted("hog")
        story.until_calm("DiskPressure")
        story.verify(evicted=["hog"], innocent=["innocent"], starved="ephemeral-storage")
