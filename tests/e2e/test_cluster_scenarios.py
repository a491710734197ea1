"""The scenarios of the kubelet's node suite in a cluster.

Beside a kubelet, with evictd's own types and taints, if nothing else is said.
"""

from pathlib import Path

import pytest

from evictd_testnode.cgroups import group
from evictd_testnode.images import BUSYBOX, PAUSE, ImageRecipe
from evictd_testnode.node import DisposableNode
from evictd_testnode.pods import VolumeRecipe
from tests.conftest import NodeFactory
from tests.e2e.cluster_story import ClusterStory, a_cluster
from tests.e2e.fake_pids import proc_of_cgroup
from tests.e2e.story import DISK, STUBBORN, sleepers, takes_memory, times, touches, writes

pytestmark = [pytest.mark.root, pytest.mark.containerd]

DATA = (VolumeRecipe(name="data"),)
FAST = 0.01
QUICK = {"evictionPressureTransitionPeriod": "1s"}


def test_inodes_run_out(small: DisposableNode, tmp_path: Path) -> None:
    """InodeEviction."""
    with (
        a_cluster(small, tmp_path) as api,
        ClusterStory(small, api, {**QUICK, "evictionHard": {"nodefs.inodesFree": "9k"}}) as story,
    ):
        story.until_reported()
        story.pod("innocent")
        story.pod("toucher", touches("/data/i", 100_000), volumes=DATA)
        story.until_evicted("toucher")
        story.until_settled("toucher")
        story.verify(evicted=["toucher"], innocent=["innocent"], starved="inodes")
        story.verify_face("DiskPressure", "toucher")


def test_process_ids_run_out_and_the_pod_with_most_of_them_goes(make_node: NodeFactory, tmp_path: Path) -> None:
    """PriorityPidEvictionOrdering."""
    node = make_node(pids=400)
    config = {
        "evictionPressureTransitionPeriod": "4s",
        "evictionHard": {"pid.available": "150"},
    }  # two crossings, one time
    with (
        proc_of_cgroup(node.folder / "proc", group("pids", node.cgroup)) as proc,
        a_cluster(node, tmp_path) as api,
        ClusterStory(node, api, config, arguments=["--proc", str(proc)]) as story,
    ):
        story.until_reported()
        story.pod("innocent", priority=999_999_999)
        story.pod("important", sleepers(300, pause=0.02), priority=999_999_999)
        story.pod("bomb", sleepers(60))
        # By law Need the 60 processes of the pod of lower priority are not lost in vain.
        story.until_evicted("important")
        story.until_settled("important")
        story.verify(evicted=["important"], innocent=["innocent"], starved="pids")
        story.verify_face("PIDPressure", "important")


def test_allocatable_memory_runs_out(make_node: NodeFactory, tmp_path: Path) -> None:
    """MemoryAllocatableEviction; a guaranteed pod stays."""
    node = make_node()
    pods = group("memory", f"{node.cgroup}/kubepods")
    pods.mkdir(parents=True, exist_ok=True)
    (pods / "memory.limit_in_bytes").write_text(str(240 << 20))
    guaranteed = {"cpu": "100m", "memory": "40Mi"}
    with (
        a_cluster(node, tmp_path) as api,
        ClusterStory(node, api, {**QUICK, "evictionHard": {"memory.available": "100Mi"}}) as story,
    ):
        story.until_reported()
        story.pod("guaranteed", takes_memory(20), requests=guaranteed, limits=guaranteed)
        story.pod("hog", takes_memory(200, pause=0.03))
        story.until_evicted("hog")
        story.until_settled("hog")
        story.verify(evicted=["hog"], innocent=["guaranteed"], starved="memory")
        story.verify_face("MemoryPressure", "hog")
        (event,) = api.events("Evicted")
        assert event["metadata"]["annotations"]["offending_containers"] == "main"


def test_minimum_reclaim_takes_two_and_the_condition_stays_between(small: DisposableNode, tmp_path: Path) -> None:
    """The first to go would be enough for the threshold: the node is under pressure all the same until the second went."""
    config = {
        **QUICK,
        "evictionHard": {"nodefs.available": "40Mi"},
        "evictionMinimumReclaim": {"nodefs.available": "35Mi"},
    }
    with a_cluster(small, tmp_path) as api, ClusterStory(small, api, config) as story:
        story.until_reported()
        story.pod("innocent", requests={"ephemeral-storage": "5Mi"})
        story.pod("second", writes("/data", 18, pause=FAST), volumes=DATA)
        story.pod("first", writes("/data", story.leaves(28), pause=FAST), volumes=DATA)
        story.until_evicted("first", "second")
        story.until_settled("first", "second")
        story.verify(evicted=["first", "second"], innocent=["innocent"], starved="ephemeral-storage")
        story.verify_face("DiskPressure", "first", "second")


@pytest.mark.parametrize(("own", "most", "asked"), [(30, 2, 2), (3, 30, 3)], ids=["capped", "its own is shorter"])
def test_a_soft_threshold_waits_for_its_grace_and_asks_for_an_eviction(
    small: DisposableNode, tmp_path: Path, own: int, most: int, asked: int
) -> None:
    """LocalStorageSoftEviction, and the one that does not overwrite terminationGracePeriodSeconds."""
    soft = {
        **QUICK,
        "evictionHard": {"memory.available": "1Mi"},
        "evictionSoft": {"nodefs.available": "45Mi"},
        "evictionSoftGracePeriod": {"nodefs.available": "2s"},
        "evictionMaxPodGracePeriod": most,
    }
    with a_cluster(small, tmp_path) as api, ClusterStory(small, api, soft) as story:
        story.until_reported()
        story.pod("innocent")
        story.pod("writer", writes("/data", story.leaves(38), pause=FAST), volumes=DATA, grace=own)
        story.until_evicted("writer")
        story.until_settled("writer")
        story.verify(evicted=["writer"], innocent=["innocent"], starved="ephemeral-storage")
        story.verify_face("DiskPressure", "writer")
        (eviction,) = api.writes(name="writer")
        assert eviction.what == "create pods/eviction"
        options = eviction.line.body["deleteOptions"]
        assert options == {"gracePeriodSeconds": asked, "preconditions": {"uid": story.uid("writer")}}
        assert times(story.journal())["action"] >= 1.5  # of 2: the crossing was read at most one cycle before


def test_a_hard_threshold_cuts_short_the_grace_that_the_eviction_granted(small: DisposableNode, tmp_path: Path) -> None:
    """Soft then hard: evicted with 60 s by the API, then deleted with one second, and stopped without waiting for the kubelet."""
    config = {
        **QUICK,
        "evictionHard": {"nodefs.available": "25Mi"},
        "evictionSoft": {"nodefs.available": "55Mi"},
        "evictionSoftGracePeriod": {"nodefs.available": "500ms"},
        "evictionMaxPodGracePeriod": 60,
    }
    with a_cluster(small, tmp_path) as api, ClusterStory(small, api, config) as story:
        story.until_reported()
        story.pod("innocent")
        script = writes("/data", story.leaves(48), pause=FAST, how=STUBBORN)
        victim = story.pod("stubborn", script, volumes=DATA, grace=60).uid
        api.runtime.left_alone.add(victim)
        story.until(lambda: "deletionTimestamp" in api.pod("stubborn").get("metadata", {}), "the eviction is granted")
        assert api.pod("stubborn")["metadata"]["deletionGracePeriodSeconds"] == 60
        assert story.runs("stubborn")
        story.ballast(20)
        story.until_evicted("stubborn")
        (small.kubelet_folder / "ballast").unlink()
        story.until_settled("stubborn")
        story.verify(evicted=["stubborn"], innocent=["innocent"], starved="ephemeral-storage")
        story.verify_face("DiskPressure", "stubborn")
        granted, cut = api.writes(name="stubborn")
        assert (granted.what, cut.what) == ("create pods/eviction", "delete pods")
        assert cut.line.body["gracePeriodSeconds"] == 1
        assert cut.line.body["preconditions"] == {"uid": victim}


def test_limits_of_local_storage_are_enforced_without_a_node_condition(small: DisposableNode, tmp_path: Path) -> None:
    """LocalStorageCapacityIsolationEviction: emptyDir, writable layer and whole pod; no condition, no taint."""
    limit = {"ephemeral-storage": "10Mi"}
    sized = (VolumeRecipe(name="data", size_limit="10Mi"),)
    with (
        a_cluster(small, tmp_path) as api,
        ClusterStory(small, api, {**QUICK, "evictionHard": {"nodefs.available": "1Mi"}}) as story,
    ):
        story.until_reported()
        story.pod("volume-over", writes("/data", 11, pause=FAST), volumes=sized)
        story.pod("layer-over", writes("", 11, pause=FAST), limits=limit)
        story.pod("pod-over", writes("/data", 11, pause=FAST), volumes=DATA, limits=limit)
        story.pod("volume-within", writes("/data", 8, pause=FAST), volumes=sized)
        story.pod("layer-within", writes("", 8, pause=FAST), limits=limit)
        over = {"volume-over", "layer-over", "pod-over"}
        story.until(lambda: not any(api.pod(name) for name in over), "all that are over their limit go")
        story.until_settled(*over)
        assert sorted(story.evicted()) == sorted(over)
        assert story.running() == {"volume-within", "layer-within"}
        for name in over:
            (deleted,) = api.writes(name=name)
            assert (deleted.what, deleted.line.status) == ("delete pods", 200)
            assert deleted.line.body["preconditions"] == {"uid": story.uid(name)}
        assert {w.name for w in api.writes() if w.what != "create events"} == {"n1", *over}
        notes = {event["regarding"]["name"]: event["note"] for event in api.events("Evicted")}
        assert notes.keys() == over
        assert "data" in notes["volume-over"]
        assert api.writes("patch nodes") == []
        assert not [w for w in api.writes("patch nodes/status") if w.sets("EvictdDiskPressure")]


def test_unused_images_are_enough_and_no_pod_is_touched(make_node: NodeFactory, tmp_path: Path) -> None:
    """ImageGCNoEviction: condition and taint come and go; the pods' objects are as they were."""
    unused = ImageRecipe(reference="localhost/unused:1", files=2500)
    node = make_node(node_disk=DISK, images=[unused])
    config = {**QUICK, "evictionHard": {"nodefs.inodesFree": "7k"}, "imageMinimumGCAge": "100ms"}
    with a_cluster(node, tmp_path) as api, ClusterStory(node, api, config, reclaim={}) as story:
        story.until_reported()
        story.pod("innocent")
        story.pod("toucher", touches("/files", story.free_inodes() - 6500))
        before = {name: api.pod(name) for name in ("innocent", "toucher")}
        story.until_condition("DiskPressure")
        story.until(lambda: story.images() == {BUSYBOX, PAUSE}, "the unused images are gone")
        story.until_settled()
        assert {name: api.pod(name) for name in before} == before
        story.verify(evicted=[], innocent=["innocent", "toucher"])
        story.verify_face("DiskPressure")


def test_dead_containers_are_enough_and_no_pod_is_touched(small: DisposableNode, tmp_path: Path) -> None:
    """ImageGCTerminatedPodsContainersCleanup: the container of a pod that has succeeded goes, its object does not."""
    with (
        a_cluster(small, tmp_path) as api,
        ClusterStory(small, api, {**QUICK, "evictionHard": {"nodefs.inodesFree": "9k"}}) as story,
    ):
        story.until_reported()
        story.pod("done", touches("/files", 1500, then="exit 0"))
        story.until(lambda: not story.runs("done"), "the first pod has done its work")
        small.client.stop_sandbox(story.pods["done"].sandbox_id)
        api.store.update(("pods", "default", "done"), lambda pod: pod["status"].update(phase="Succeeded"))
        story.pod("toucher", touches("/data/i", story.free_inodes() - 8500), volumes=DATA)
        before = {name: api.pod(name) for name in ("done", "toucher")}
        story.until_condition("DiskPressure")
        story.until_settled()
        gone = set(story.pods["done"].containers.values())
        assert not gone & {row.id for row in small.client.list_containers()}
        assert {name: api.pod(name) for name in before} == before
        story.verify(evicted=[], innocent=["toucher"])
        story.verify_face("DiskPressure")


def test_a_mirror_pod_stays_and_is_named_as_the_culprit(small: DisposableNode, tmp_path: Path) -> None:
    """SystemNodeCriticalPod: the API knows the static pod by its mirror, of another uid; the server is asked nothing."""
    with (
        a_cluster(small, tmp_path) as api,
        ClusterStory(small, api, {**QUICK, "evictionHard": {"nodefs.available": "60Mi"}}) as story,
    ):
        story.until_reported()
        story.pod("innocent", writes("/data", 1, pause=FAST), volumes=DATA)
        script = writes("/data", story.leaves(65), pause=FAST)
        story.pod("hog", script, volumes=DATA, source="file", priority=2_000_001_000)
        story.until_left(65)
        story.ballast(45)  # at once: with less than a MiB to make up for, the innocent one would do
        story.until_condition("DiskPressure")
        story.until(lambda: "ProtectedCulprit" in story.log(), "the culprit is named")
        story.until(lambda: bool(api.taints()), "the node is tainted")
        # One line for each threshold that is due: nodefs and containerfs are one disk here.
        words = [line for line in story.log().splitlines() if "ProtectedCulprit" in line]
        assert all("default/hog" in line for line in words)
        assert api.pod("hog")["metadata"]["uid"] != story.uid("hog")
        assert story.running() == {"innocent", "hog"}
        assert story.evicted() == []
        assert not [w for w in api.writes() if w.line.attributes.resource == "pods"]


def test_a_pod_that_claims_to_be_static_is_evicted_all_the_same(small: DisposableNode, tmp_path: Path) -> None:
    """docs/faults.md, 10: with these annotations of its author the hog was protected, and the innocent neighbour went."""
    with (
        a_cluster(small, tmp_path) as api,
        ClusterStory(small, api, {**QUICK, "evictionHard": {"nodefs.available": "60Mi"}}) as story,
    ):
        story.until_reported()
        story.pod("innocent", writes("/data", 1, pause=FAST), volumes=DATA)
        story.pod("hog", writes("/data", story.leaves(65), pause=FAST), volumes=DATA)
        forged = {"kubernetes.io/config.source": "file", "kubernetes.io/config.mirror": story.uid("innocent")}
        api.store.update(
            ("pods", "default", "hog"), lambda made: made["metadata"].setdefault("annotations", {}).update(forged)
        )
        story.until_left(65)
        story.ballast(45)
        story.until(lambda: story.evicted() != [], "a pod is evicted")
        assert story.evicted() == ["hog"]
        assert "innocent" in story.running()
