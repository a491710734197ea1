"""evictd on a cluster's node: real containers, HTTPS to the API server's double, with and without a kubelet."""

from pathlib import Path

import pytest

from evictd_testnode.node import DisposableNode
from evictd_testnode.pods import VolumeRecipe
from tests.conftest import NodeFactory
from tests.e2e.cluster_story import READING, ClusterStory, a_cluster
from tests.e2e.story import STUBBORN, takes_memory, times, writes
from tests.e2e.test_cluster_outage import go, waits_for
from tests.kube.verbs import Budget

pytestmark = [pytest.mark.root, pytest.mark.containerd]

DATA = (VolumeRecipe(name="data"),)
MIB = 1 << 20
HARD = {"evictionHard": {"nodefs.available": "40Mi"}}
TAINT = "evictd.io/disk-pressure:NoSchedule"


def test_beside_a_kubelet_condition_and_taint_come_before_the_kill(small: DisposableNode, tmp_path: Path) -> None:
    """Own types; the event with its annotations; marked, then deleted by its uid; all taken back when it is over."""
    with a_cluster(small, tmp_path) as api, ClusterStory(small, api, HARD) as story:
        story.until_reported()
        story.pod("innocent", requests={"ephemeral-storage": "5Mi"})
        story.pod("writer", writes("/data", story.leaves(28), pause=0.02), volumes=DATA)
        story.until_evicted("writer")
        story.until(lambda: not api.pod("writer"), "the pod's object is gone")
        story.until_calm("DiskPressure")
        story.until(lambda: not api.taints(), "the taint is gone")
        story.verify(evicted=["writer"], innocent=["innocent"], starved="ephemeral-storage")
        victim = story.uid("writer")

        reported = next(w for w in api.writes("patch nodes/status") if w.sets("EvictdDiskPressure"))
        tainted = api.writes("patch nodes")[0]
        assert tainted.own_taints == ["evictd.io/disk-pressure"]

        marked = api.writes("patch pods/status", "writer")[0]
        deleted = api.writes("delete pods", "writer")[0]
        assert marked.sets("DisruptionTarget")
        assert deleted.line.body["preconditions"] == {"uid": victim}
        assert deleted.line.body["gracePeriodSeconds"] >= 1
        assert marked.line.at < deleted.line.at
        story.verify_order("writer", reported, tainted, marked)

        story.until(lambda: bool(api.events("Evicted")), "the event arrives")
        (event,) = api.events("Evicted")
        assert event["regarding"]["uid"] == victim
        assert event["metadata"]["annotations"]["starved_resource"] == "ephemeral-storage"
        assert api.said_of("EvictdDiskPressure") == ["False", "True", "False"]
        assert times(story.journal())["relief"] >= 2  # by the daemon's own clock
        assert not [w for w in api.writes() if w.name == "innocent"]


def test_without_a_kubelet_the_status_holds_the_result_of_a_stopped_pod(make_node: NodeFactory, tmp_path: Path) -> None:
    """PriorityMemoryEvictionOrdering with `Status`: the built-in types; Failed and Evicted once nothing runs any more."""
    node = make_node(memory_bytes=320 << 20)
    guaranteed = {"cpu": "100m", "memory": "40Mi"}
    with (
        a_cluster(node, tmp_path, kubelet=False) as api,
        ClusterStory(
            node,
            api,
            {"evictionHard": {"memory.available": "120Mi"}},
            {"podTermination": "Status"},
            arguments=["--node-cgroup", node.cgroup],
        ) as story,
    ):
        story.until_reported()
        story.pod("guaranteed", takes_memory(20), requests=guaranteed, limits=guaranteed)
        story.pod("important", takes_memory(120, pause=0.1), priority=999_999_999)
        story.pod("hog", takes_memory(260, pause=0.05, how=STUBBORN))
        story.until_evicted("hog")
        story.until(lambda: api.pod("hog")["status"]["phase"] == "Failed", "the status is written")
        story.until_calm("MemoryPressure")
        story.verify(evicted=["hog"], innocent=["guaranteed", "important"], starved="memory")

        reported = next(w for w in api.writes("patch nodes/status") if w.sets("MemoryPressure"))
        story.verify_order("hog", reported)
        assert not [kind for kind in api.reported() if kind.startswith("Evictd")]
        assert api.taints() == set()
        written = api.writes("patch pods/status", "hog")[0]
        assert story.uid("hog") not in written.alive
        assert written.sets("DisruptionTarget")
        status = api.pod("hog")["status"]
        assert (status["phase"], status["reason"]) == ("Failed", "Evicted")
        assert "low on resource: memory" in status["message"]
        assert api.writes("delete pods") == []


def test_a_budget_makes_a_soft_threshold_take_another_pod(small: DisposableNode, tmp_path: Path) -> None:
    """429: the next candidate is asked for and goes; only after `evictionTimeout` is the protected pod deleted all the same."""
    soft = {
        "evictionHard": {"nodefs.available": "4Mi"},
        "evictionSoft": {"nodefs.available": "45Mi"},
        "evictionSoftGracePeriod": {"nodefs.available": "500ms"},
        "evictionMaxPodGracePeriod": 2,
    }
    with a_cluster(small, tmp_path) as api, ClusterStory(small, api, soft, {"evictionTimeout": "8s"}) as story:
        api.verbs.budgets.append(Budget(name="keep", labels={"app": "kept"}, disruptions_allowed=0))
        story.until_reported()
        story.pod("innocent", requests={"ephemeral-storage": "5Mi"})
        rest = story.leaves(52)  # of what is free before the other pod writes: with both, 36 MiB are left
        story.pod("other", writes("/data", 16, pause=0.01), volumes=DATA)
        story.pod("kept", writes("/data", rest, pause=0.01), volumes=DATA, labels={"app": "kept"})
        story.until(lambda: not api.pod("other"), "the next candidate goes")
        story.until_calm("DiskPressure")
        assert story.running() == {"innocent", "kept"}
        asked = [(w.name, w.line.status) for w in api.writes("create pods/eviction")]
        assert asked == [("kept", 429), ("other", 201)]

        story.ballast(35)
        story.until(lambda: not api.pod("kept"), "the budget's time is over")
        story.until_calm("DiskPressure")
        assert story.running() == {"innocent"}
        refused = api.writes("create pods/eviction", "kept")
        (deleted,) = api.writes("delete pods", "kept")
        assert {w.line.status for w in refused} == {429}
        assert deleted.line.at - refused[0].line.at >= 4  # half of it: a busy server hears of the first request late
        assert story.uid("kept") in deleted.alive


def test_a_hard_threshold_does_not_wait_for_a_budget_for_ever(small: DisposableNode, tmp_path: Path) -> None:
    """`EvictionAPI`: asked again and again for ten seconds, then deleted and stopped."""
    with a_cluster(small, tmp_path) as api, ClusterStory(small, api, HARD, {"podTermination": "EvictionAPI"}) as story:
        api.verbs.budgets.append(Budget(name="keep", labels={"app": "kept"}, disruptions_allowed=0))
        story.until_reported()
        story.pod("kept", writes("/data", story.leaves(30), pause=0.01), volumes=DATA, labels={"app": "kept"})
        story.until(lambda: not api.pod("kept"), "the budget's time is over")
        story.until_calm("DiskPressure")
        refused = api.writes("create pods/eviction", "kept")
        (deleted,) = api.writes("delete pods", "kept")
        assert {w.line.status for w in refused} == {429}
        assert len(refused) >= 2
        assert deleted.line.at - refused[0].line.at >= 5  # half of it: a busy server hears of the first request late


def test_a_pod_of_the_same_name_is_not_the_victim(small: DisposableNode, tmp_path: Path) -> None:
    """Recreated while the victim's deletion was held up: it lives, and its object is as it was."""
    with a_cluster(small, tmp_path) as api, ClusterStory(small, api, HARD) as story:
        story.until_reported()
        api.fault(verb="patch", resource="pods/status", status=503)
        story.pod("web-0", writes("/data", story.leaves(28), pause=0.01), volumes=DATA)
        story.until_evicted("web-0")
        api.runtime.stop(story.uid("web-0"))
        api.store.remove(("pods", "default", "web-0"))
        story.pod("web-0")
        before = api.pod("web-0")
        api.faults.clear()
        story.until(lambda: 422 in {w.line.status for w in api.writes(name="web-0")}, "its uid is refused")
        story.until_calm("DiskPressure")
        assert story.runs("web-0")
        assert api.pod("web-0") == before
        assert len(story.evictions()) == 1
        assert {w.line.status for w in api.writes(name="web-0")} <= {422, 503}


def test_the_api_server_is_away_when_the_disk_fills(small: DisposableNode, tmp_path: Path) -> None:
    """The pod is stopped through the runtime; when the server is back it hears of the node, the pod and the event."""
    with a_cluster(small, tmp_path) as api, ClusterStory(small, api, HARD) as story:
        story.until_reported()
        story.pod("innocent", requests={"ephemeral-storage": "5Mi"})
        # It waits: by the time that a busy machine has shown the pod in the API, a writer may have filled the disk.
        story.pod("writer", waits_for("/data/go", writes("/data", story.leaves(28), pause=0.05)), volumes=DATA)
        api.down()
        heard = len(api.writes())
        go(story, "writer")
        story.until_evicted("writer")
        assert len(api.writes()) == heard
        api.up()
        story.until(lambda: not api.pod("writer"), "the pod's object is deleted")
        story.until(lambda: bool(api.events("Evicted")), "the event arrives")
        story.until_calm("DiskPressure")
        assert story.evicted() == ["writer"]
        assert story.running() == {"innocent"}
        # Two queues: conditions and taints, and the pods; neither waits for the other.
        late = api.writes()[heard:]
        order = [w.what for w in late if w.what != "patch nodes/status" or w.sets("EvictdDiskPressure")]
        assert [what for what in order if "nodes" in what][:2] == ["patch nodes/status", "patch nodes"]
        assert [what for what in order if "pods" in what] == ["patch pods/status", "delete pods"]


def test_a_clean_stop_under_pressure_hands_over(small: DisposableNode, tmp_path: Path) -> None:
    """Without a pod to evict: condition and taint stay, valid for three minutes more, for the next evictd."""
    with a_cluster(small, tmp_path) as api, ClusterStory(small, api, HARD) as story:
        story.until_reported()
        story.ballast(30)
        story.until_condition("DiskPressure")
        story.until(lambda: api.taints() == {TAINT}, "the node is tainted")
        assert "valid until" in api.reported()["EvictdDiskPressure"]["message"]
        story.stop()
        left = api.reported()["EvictdDiskPressure"]
        assert left["status"] == "True"
        assert "valid until" in left["message"]
        assert api.taints() == {TAINT}


def test_a_dry_run_only_reads(small: DisposableNode, tmp_path: Path) -> None:
    """It logs the pod that would be evicted, and writes nothing to the API server."""
    with a_cluster(small, tmp_path) as api, ClusterStory(small, api, HARD, dryRun=True) as story:
        story.pod("innocent", requests={"ephemeral-storage": "5Mi"})
        story.pod("writer", writes("/data", story.leaves(28), pause=0.01), volumes=DATA)
        story.until(lambda: "would evict default/writer" in story.log(), "it is said who would go")
        assert story.running() == {"innocent", "writer"}
    assert {line.attributes.verb for line in api.requests()} <= READING
    assert api.taints() == set()
    assert not [kind for kind in api.reported() if kind.startswith("Evictd")]
