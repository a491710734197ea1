"""Measures collections and the runtime's share of their time: 100 dead containers, 20 images.

`gc/containers/100` and `gc/images/20` are whole collections on a real containerd; `.../calls` is the time spent inside the
calls to the runtime during the same collections. The rest is evictd's own time; the bound is 10 %.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from bench.harness import Result, summarize
from evictd.act.gc.containers import ContainerCollector
from evictd.act.gc.images import ImageCollector
from evictd.act.logs import PodLogs
from evictd.clients.cri.channel import Channel
from evictd.core.gc.container_gc import PodLifecycle, PodLifecycles
from evictd.core.model.config import ContainerGCPolicy, ImageGCPolicy
from evictd.core.model.observation import ReclaimOutcome
from evictd_testnode.binaries import default_cache, find_binaries
from evictd_testnode.disks import DiskRecipe
from evictd_testnode.images import ImageRecipe
from evictd_testnode.node import DisposableNode, NodeRecipe
from evictd_testnode.pods import ContainerRecipe, PodRecipe
from evictd_testnode.sweep import sweep
from evictd_testnode.tool import wait_for

PODS, ATTEMPTS, IMAGES, RUNS = 10, 10, 20, 3
DISK = DiskRecipe(size_bytes=256 << 20, inodes=100_000)
DONE = ContainerRecipe(script="true")


class Timed:
    """Samples of whole collections and of the runtime's share in them, in milliseconds."""

    def __init__(self) -> None:
        self.whole: list[float] = []
        self.calls: list[float] = []

    def measure(self, collect: Callable[[], ReclaimOutcome], removals: int) -> None:
        with _time_in_calls() as calls:
            start = time.perf_counter_ns()
            outcome = collect()
            self.whole.append((time.perf_counter_ns() - start) / 1e6)
        self.calls.append(sum(calls) / 1e6)
        if outcome.removed != removals or outcome.error:
            raise AssertionError(f"{outcome} instead of {removals} removals")

    def results(self, name: str) -> list[Result]:
        """Summarize both as figures."""
        return [summarize(name, self.whole), summarize(f"{name}/calls", self.calls)]


@contextmanager
def _time_in_calls() -> Iterator[list[int]]:
    """Collect the nanoseconds that each call to the runtime takes."""
    original, taken = Channel.call, []

    def timed(self: Channel, *arguments: Any, **named: Any) -> Any:
        start = time.perf_counter_ns()
        try:
            return original(self, *arguments, **named)
        finally:
            taken.append(time.perf_counter_ns() - start)

    Channel.call = timed  # type: ignore[method-assign]
    try:
        yield taken
    finally:
        Channel.call = original  # type: ignore[method-assign]


def run() -> list[Result]:
    """Run the suite; needs root."""
    sweep()
    with DisposableNode(NodeRecipe(binaries=find_binaries(default_cache()), node_disk=DISK)) as node:
        containers, images = Timed(), Timed()
        for _ in range(RUNS):
            _collect_containers(node, containers)
            _collect_images(node, images)
        return [*containers.results(f"gc/containers/{PODS * ATTEMPTS}"), *images.results(f"gc/images/{IMAGES}")]


def _collect_containers(node: DisposableNode, timed: Timed) -> None:
    lifecycles = {}
    for number in range(PODS):
        pod = node.run_pod(PodRecipe(name=f"pod-{number}", containers=(DONE,)))
        for attempt in range(1, ATTEMPTS):
            node.run_container(pod, DONE, attempt=attempt)
        lifecycles[pod.uid] = PodLifecycle.TERMINATED
    states = ("CONTAINER_EXITED",)
    if not wait_for(lambda: all(row.state.value in states for row in node.client.list_containers())):
        raise AssertionError("the containers do not end")
    collector = ContainerCollector(node.client, ContainerGCPolicy(), PodLogs(node.log_folder))
    pods = PodLifecycles(by_uid=lifecycles)
    timed.measure(lambda: collector.collect(pods, evict_terminated=True, wall=time.time_ns()), removals=PODS * ATTEMPTS)
    node.remove_all_pods()


def _collect_images(node: DisposableNode, timed: Timed) -> None:
    names = [f"localhost/image-{number}:1" for number in range(IMAGES)]
    node.import_images([ImageRecipe(reference=name, padding_bytes=1 << 20) for name in names])
    if not wait_for(lambda: len(node.client.list_images()) == IMAGES + 2):
        raise AssertionError("the images do not come")
    policy = ImageGCPolicy(min_age=0, keep=("localhost/busybox",))
    collector = ImageCollector(node.client, policy, image_fs=lambda: None, running_since=0)
    timed.measure(lambda: collector.delete_unused(1), removals=IMAGES)
