"""Which pods count without an API server."""

from dataclasses import replace

from evictd.core.gc.container_gc import PodLifecycles
from evictd.core.model.config import Policy
from evictd.core.model.pod import Pod
from evictd.observe.pods.active_pods import ActivePods, RuntimePods, StandalonePods
from evictd.observe.pods.node_pods import NodePods
from tests.observe.runtime_double import view

POD = Pod(name="web", namespace="ns", uid="u")
FOUND = NodePods(active=(POD,), lifecycles=PodLifecycles(by_uid={}, all_sources_ready=True), of_api_server=True)
SILENT = RuntimePods(found=None, view=None, last=view())


def test_standalone_the_runtimes_pods_count() -> None:
    source = StandalonePods()
    seen = source.active(replace(SILENT, found=FOUND), Policy.STANDARD)
    assert seen == ActivePods(pods=(POD,), api_pods_standalone=True)
    assert source.own_pods == frozenset()


def test_a_runtime_that_is_silent_does_not_end_a_refusal() -> None:
    """Evictd would begin to evict beside a kubelet."""
    source = StandalonePods()
    assert source.active(SILENT, Policy.STANDARD) == ActivePods(pods=())
    source.active(replace(SILENT, found=FOUND), Policy.STANDARD)
    assert source.active(SILENT, Policy.STANDARD) == ActivePods(pods=(), api_pods_standalone=True)
    source.active(replace(SILENT, found=replace(FOUND, of_api_server=False)), Policy.STANDARD)
    assert source.active(SILENT, Policy.STANDARD) == ActivePods(pods=())
