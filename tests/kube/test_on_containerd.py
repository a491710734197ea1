"""The cluster's face with real containers: containerd stops them, the API server double hears of it."""

import time

import pytest

from evictd.act.cluster import RuntimeStopper, build
from evictd.act.terminate import Terminator
from evictd.clients.cri.values import ContainerState
from evictd.codec.pod import decode_pod
from evictd.config.settings import ClusterSettings, PodTermination
from evictd.core.decision import Because, EvictionReason, EvictPod, PodCondition
from evictd.core.signal import NodeCondition
from evictd.demo.node import DisposableNode
from evictd.demo.pods import IGNORE_TERM, ContainerRecipe, PodRecipe, RunningPod
from tests.kube.api_server import ApiServer
from tests.kube.objects import pod
from tests.kube.waiting import eventually

pytestmark = [pytest.mark.root, pytest.mark.containerd]


def clock() -> int:
    return time.clock_gettime_ns(time.CLOCK_BOOTTIME)


@pytest.mark.parametrize("way", [PodTermination.DELETE, PodTermination.STATUS])
def test_a_stubborn_pod_goes_and_its_neighbour_stays(
    api: ApiServer, each_node: DisposableNode, way: PodTermination
) -> None:
    """Condition first, then the kill; the object is deleted, or says Failed and Evicted; the other pod runs on."""
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

    with Terminator(each_node.client, clock=clock) as terminator:
        stopper = RuntimeStopper(terminator, lambda uid: (running[uid].containers.values(), [running[uid].sandbox_id]))
        cluster = build(
            ClusterSettings(kubeconfig=str(api.kubeconfig()), pod_termination=way),
            node_name="n1",
            stopper=stopper,
            clock=clock,
            wall=time.time_ns,
            random=lambda: 0.5,
            environ={},
        )
        cluster.start()
        try:
            victim = next(each for each in eventually(lambda: cluster.active_pods() or ()) if each.name == "hog")
            assert victim == decode_pod(api.store.get(("pods", "default", "hog")) or {})
            target = PodCondition(type="DisruptionTarget", status="True", reason="TerminationByKubelet", message="low")
            because = Because(reason=EvictionReason.PRESSURE)
            cluster.reporter.report([NodeCondition.MEMORY_PRESSURE], clock())
            cluster.evictor.begin(
                EvictPod(pod=victim, grace_period_seconds=1, message="low", because=because, condition=target), clock()
            )
            eventually(lambda: victim.uid in cluster.evictor.cleaned_up(clock()), seconds=60)
            assert not alive("hog")
            assert alive("innocent")
            ended = "delete pods" if way is PodTermination.DELETE else "patch pods/status"
            eventually(lambda: api.requests(ended))
        finally:
            cluster.close()
    made = [line.what for line in api.requests(watches=False)]
    assert made.index("patch nodes/status") < made.index("patch pods/status")
    assert not [line for line in api.requests() if line.attributes.name == "innocent"]
    if way is PodTermination.STATUS:
        found = api.store.get(("pods", "default", "hog")) or {}
        assert (found["status"]["phase"], found["status"]["reason"]) == ("Failed", "Evicted")
