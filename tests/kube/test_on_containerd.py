"""A cluster eviction with real containers on containerd and the API server double."""

import time

import pytest

from evictd.act.cluster.request_queue import Clocks
from evictd.act.cluster.wiring import build
from evictd.act.stop.stopper import PodStopper
from evictd.codec.pods.pod import decode_pod
from evictd.config.settings import ClusterSettings
from evictd.core.gc.container_gc import ContainerState
from evictd.core.model.config import EvictionMethod
from evictd.core.model.decision import EvictionCause, EvictionReason, EvictPod, PodCondition
from evictd.core.model.signal import NodeCondition
from evictd.observe.runtime.runtime_view import RuntimeReader
from evictd_testnode.node import DisposableNode
from evictd_testnode.pods import IGNORE_TERM, ContainerRecipe, PodRecipe, RunningPod
from tests.kube.api_server import ApiServer
from tests.kube.objects import pod
from tests.kube.waiting import eventually

pytestmark = [pytest.mark.root, pytest.mark.containerd]


def clock() -> int:
    return time.clock_gettime_ns(time.CLOCK_BOOTTIME)


@pytest.mark.parametrize("way", [EvictionMethod.DELETE, EvictionMethod.STATUS])
def test_a_pod_that_ignores_sigterm_is_evicted_and_the_other_stays(
    api: ApiServer, each_node: DisposableNode, way: EvictionMethod
) -> None:
    """The condition comes before the kill; the object is deleted, or is Failed and Evicted; the other pod runs on."""
    running: dict[str, RunningPod] = {}
    for name in ("hog", "innocent"):
        recipe = PodRecipe(name=name, containers=(ContainerRecipe(script=IGNORE_TERM),))
        started = each_node.run_pod(recipe)
        running[started.uid] = started
        api.store.create("pods", pod(name, uid=started.uid))

    def alive(name: str) -> bool:
        sandbox = next(each.sandbox_id for each in running.values() if each.name == name)
        listed = each_node.client.list_containers()
        return any(c.sandbox_id == sandbox and c.state is ContainerState.RUNNING for c in listed)

    with PodStopper(each_node.client, clock=clock) as stopper:
        stopper.update(RuntimeReader(each_node.client).read(clock()))
        cluster = build(
            ClusterSettings(kubeconfig=str(api.kubeconfig()), pod_termination=way),
            node_name="n1",
            stopper=stopper,
            clocks=Clocks(now=clock, wall=time.time_ns, random=lambda: 0.5),
            environ={},
        )
        cluster.start()
        try:
            victim = next(each for each in eventually(lambda: cluster.pods.bound() or ()) if each.name == "hog")
            assert victim == decode_pod(api.store.get(("pods", "default", "hog")) or {})
            target = PodCondition(type="DisruptionTarget", status="True", reason="TerminationByKubelet", message="low")
            because = EvictionCause(reason=EvictionReason.PRESSURE)
            cluster.reporter.report([NodeCondition.MEMORY_PRESSURE], clock())
            cluster.evictor.begin(
                EvictPod(pod=victim, grace_period_seconds=1, message="low", because=because, condition=target), clock()
            )
            eventually(lambda: victim.uid in cluster.evictor.cleaned_up(), seconds=60)
            assert not alive("hog")
            assert alive("innocent")
            ended = "delete pods" if way is EvictionMethod.DELETE else "patch pods/status"
            eventually(lambda: api.requests(ended))
        finally:
            cluster.close()
    made = [line.what for line in api.requests(watches=False)]
    assert made.index("patch nodes/status") < made.index("patch pods/status")
    assert not [line for line in api.requests() if line.attributes.name == "innocent"]
    if way is EvictionMethod.STATUS:
        found = api.store.get(("pods", "default", "hog")) or {}
        assert (found["status"]["phase"], found["status"]["reason"]) == ("Failed", "Evicted")
