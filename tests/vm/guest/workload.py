"""Starts one pod of each QoS class with a volume, for tests that only read."""

from collections.abc import Mapping

from evictd.core.model.resources import QOSClass
from evictd_testnode.pods import ContainerRecipe, PodRecipe, RunningPod, VolumeRecipe
from tests.vm.guest.node import Node

Workload = Mapping[QOSClass, RunningPod]

# It uses everything that is measured: anonymous memory, the writable layer, a volume, a log.
BUSY = """
x=$(dd if=/dev/zero bs=1M count=8 | tr '\\0' a)
dd if=/dev/zero of=/layer bs=1M count=2
dd if=/dev/zero of=/data/file bs=1M count=3
echo started; touch /data/done
trap 'exit 0' TERM; sleep 100000 & wait
"""

_CONTAINERS = {
    QOSClass.GUARANTEED: ContainerRecipe(script=BUSY, limits={"cpu": "1", "memory": "64Mi"}),
    QOSClass.BURSTABLE: ContainerRecipe(script=BUSY, requests={"memory": "32Mi"}, limits={"memory": "128Mi"}),
    QOSClass.BEST_EFFORT: ContainerRecipe(script=BUSY),
}


def start(node: Node) -> Workload:
    """Start the three."""
    return {
        qos: node.run_pod(
            PodRecipe(name=qos.value.lower(), containers=(container,), volumes=(VolumeRecipe(name="data"),))
        )
        for qos, container in _CONTAINERS.items()
    }
