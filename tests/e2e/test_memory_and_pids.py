"""Memory and process ids run short: a cgroup with limits of its own stands for the node (kubelet `eviction_test.go`)."""

import pytest

from evictd.demo.cgroups import group
from tests.conftest import NodeFactory
from tests.e2e.fake_pids import proc_of_cgroup
from tests.e2e.story import Story, sleepers, takes_memory

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
