"""Memory and PID pressure, with a limited cgroup as the node (kubelet `eviction_test.go`)."""

import pytest

from evictd_testnode.cgroups import group
from evictd_testnode.pods import VolumeRecipe
from tests.conftest import NodeFactory
from tests.e2e.fake_pids import proc_of_cgroup
from tests.e2e.story import Story, sleepers, takes_memory
from tests.real_cgroups import branch

pytestmark = [pytest.mark.root, pytest.mark.containerd]

NODE_MEMORY = 320 << 20
GUARANTEED = {"cpu": "100m", "memory": "40Mi"}


def test_memory_runs_out_and_priority_decides_who_goes_first(make_node: NodeFactory) -> None:
    """PriorityMemoryEvictionOrdering: the hog, then the hog of high priority, never the guaranteed pod."""
    node = make_node(memory_bytes=NODE_MEMORY)
    with Story(
        node, {"evictionHard": {"memory.available": "120Mi"}}, arguments=["--node-cgroup", node.cgroup]
    ) as story:
        story.pod("guaranteed", takes_memory(20), requests=GUARANTEED, limits=GUARANTEED)
        story.pod("important", takes_memory(220, pause=0.5), priority=999_999_999)
        story.pod("hog", takes_memory(260, pause=0.05))
        story.until_condition("MemoryPressure")
        story.until_evicted("hog", "important")
        story.until_calm("MemoryPressure")
        story.verify(evicted=["hog", "important"], innocent=["guaranteed"], starved="memory")


def test_allocatable_memory_has_a_threshold_of_its_own(make_node: NodeFactory) -> None:
    """MemoryAllocatableEviction: the cgroup of all pods is limited, the node itself has plenty."""
    node = make_node()
    pods = group("memory", f"{node.cgroup}/kubepods")
    pods.mkdir(parents=True, exist_ok=True)
    (pods / "memory.limit_in_bytes").write_text(str(200 << 20))
    with Story(node, {"evictionHard": {"memory.available": "100Mi"}}) as story:
        story.pod("innocent", requests={"memory": "20Mi"}, limits={"memory": "20Mi"})
        story.pod("hog", takes_memory(190, pause=0.1))
        story.until_condition("MemoryPressure")
        story.until_evicted("hog")
        story.until_calm("MemoryPressure")
        story.verify(evicted=["hog"], innocent=["innocent"], starved="memory")
        threshold = story.evictions()[0]["because"]["threshold"]
        assert threshold["signal"] == "allocatableMemory.available"


def test_the_kernel_s_notification_wakes_the_loop(make_node: NodeFactory) -> None:
    """The interval is a minute, and the hog is gone long before."""
    node = make_node(memory_bytes=NODE_MEMORY)
    config = {"evictionHard": {"memory.available": "120Mi"}, "kernelMemcgNotification": True}
    with Story(node, config, {"housekeepingInterval": "60s"}, arguments=["--node-cgroup", node.cgroup]) as story:
        story.pod("innocent", requests={"memory": "20Mi"})
        story.pod("hog", takes_memory(260, pause=0.05))
        story.until_evicted("hog")
        assert story.running() == {"innocent"}


def test_process_ids_run_out_and_priority_decides_who_goes_first(make_node: NodeFactory) -> None:
    """PriorityPidEvictionOrdering: those of low priority go first, however few processes the others have."""
    node = make_node(pids=400)
    with (
        proc_of_cgroup(node.folder / "proc", group("pids", node.cgroup)) as proc,
        Story(node, {"evictionHard": {"pid.available": "150"}}, arguments=["--proc", str(proc)]) as story,
    ):
        story.pod("innocent", priority=999_999_999)
        story.pod("important", sleepers(300, pause=0.05), priority=999_999_999)
        story.pod("bomb", sleepers(100))
        story.until_condition("PIDPressure")
        story.until_evicted("bomb", "important")
        story.until_calm("PIDPressure")
        story.verify(evicted=["bomb", "important"], innocent=["innocent"], starved="pids")


def test_a_daemon_that_is_given_no_thread_evicts_all_the_same(make_node: NodeFactory) -> None:
    """No new thread from before the pods are started until they are evicted: list, measure, stop with those that exist."""
    node = make_node(pids=400)
    with (
        branch() as own,
        proc_of_cgroup(node.folder / "proc", group("pids", node.cgroup)) as proc,
        Story(node, {"evictionHard": {"pid.available": "150"}}, arguments=["--proc", str(proc)]) as story,
    ):
        story.give_no_more_pids(group("pids", own))
        story.pod("innocent")
        story.pod("bomb", sleepers(300))
        story.until_condition("PIDPressure")
        story.until_evicted("bomb")
        story.until_calm("PIDPressure")
        story.verify(evicted=["bomb"], innocent=["innocent"], starved="pids")
        refusals = dict(line.split() for line in (group("pids", own) / "pids.events").read_text().splitlines())
        assert int(refusals["max"]) > 0, "evictd was never refused a thread"


def test_without_the_runtime_s_answer_the_hog_is_chosen_and_goes_when_it_is_back(make_node: NodeFactory) -> None:
    """The runtime ends after evictd has listed the pods once and before memory runs short; by name the innocent one is first."""
    node = make_node(memory_bytes=NODE_MEMORY, private=False)
    config = {"evictionHard": {"memory.available": "120Mi"}}
    with Story(node, config, arguments=["--node-cgroup", node.cgroup]) as story:
        story.pod("aaa-innocent")
        waits = "while [ ! -e /data/go ]; do sleep 0.1; done; "
        story.pod("hog", waits + takes_memory(260, pause=0.05), volumes=(VolumeRecipe(name="data"),))
        story.stop()
        story.start()  # ready after a cycle that lists both
        node.containerd.kill()
        hog = node.kubelet_folder / "pods" / story.pods["hog"].uid
        (hog / "volumes/kubernetes.io~empty-dir/data/go").touch()
        story.until(lambda: story.evicted() == ["hog"], "the hog is chosen while the runtime does not answer")
        node.containerd.start()
        story.until_evicted("hog")
        story.until_calm("MemoryPressure")
        story.verify(evicted=["hog"], innocent=["aaa-innocent"], starved="memory")
