"""How long it takes to know the pods of a node: 50 real pods on a real containerd.

`discovery/50/first` is the first look, which asks once for every sandbox; `discovery/50` every later one, calls
to the runtime and manifests included; `discovery/50/calls` only the runtime's two listings, and `discovery/50/statistics` the
one call that a look with statistics adds. The bound to keep is 60 ms for a look.
"""

from bench.harness import Result, measure
from evictd.core.pod import Pod
from evictd.demo.binaries import default_cache, find_binaries
from evictd.demo.disks import DiskRecipe
from evictd.demo.node import DisposableNode, NodeRecipe
from evictd.demo.pods import ContainerRecipe, PodRecipe
from evictd.demo.sweep import sweep
from evictd.observe.manifests import ManifestReader
from evictd.observe.pods import active_pods, described_by
from evictd.observe.runtime_view import RuntimeReader

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
            found = active_pods(by.read(0, with_stats=False, described=described_by(described)), described)
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
