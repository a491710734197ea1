"""Measures the discovery of a node's pods: 50 real pods on a real containerd.

`discovery/50/first` is the first reading, which requests the status of every sandbox; `discovery/50` a later one, with calls to
the runtime and manifests; `discovery/50/calls` only the runtime's two listings, and `discovery/50/statistics` the
one call that a reading with statistics adds. The bound is 60 ms for a reading.
"""

from bench.harness import Result, measure
from evictd.core.model.pod import Pod
from evictd.observe.pods.manifests import ManifestReader
from evictd.observe.pods.node_pods import described_by, node_pods
from evictd.observe.runtime.runtime_view import RuntimeReader
from evictd_testnode.binaries import default_cache, find_binaries
from evictd_testnode.disks import DiskRecipe
from evictd_testnode.node import DisposableNode, NodeRecipe
from evictd_testnode.pods import ContainerRecipe, PodRecipe
from evictd_testnode.sweep import sweep

PODS = 50
DISK = DiskRecipe(size_bytes=256 << 20, inodes=100_000)
CONTAINER = ContainerRecipe(requests={"memory": "8Mi"}, limits={"memory": "64Mi"})


def run() -> list[Result]:
    """Run the suite; needs root."""
    sweep()
    with DisposableNode(NodeRecipe(binaries=find_binaries(default_cache()), node_disk=DISK)) as node:
        for number in range(PODS):
            node.run_pod(PodRecipe(name=f"pod-{number}", containers=(CONTAINER,), priority=number))
        reader, manifests = RuntimeReader(node.client), ManifestReader(node.manifests)

        def look(by: RuntimeReader, files: ManifestReader) -> tuple[Pod, ...]:
            described = files.read()
            found = node_pods(by.read(0, with_stats=False, described=described_by(described)), described).active
            if len(found) != PODS or not all(pod.spec_known for pod in found):
                raise AssertionError(f"{len(found)} pods found of {PODS}")
            return found

        def calls() -> None:
            sandboxes, containers = node.client.begin_list_sandboxes(), node.client.begin_list_containers()
            sandboxes.result()
            containers.result()

        return [
            measure(
                f"discovery/{PODS}/first",
                lambda: look(RuntimeReader(node.client), ManifestReader(node.manifests)),
                runs=10,
                warm_up=1,
            ),
            measure(f"discovery/{PODS}", lambda: look(reader, manifests)),
            measure(f"discovery/{PODS}/calls", calls),
            measure(f"discovery/{PODS}/statistics", node.client.list_container_stats, runs=10, warm_up=1),
        ]
