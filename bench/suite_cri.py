"""Measures the runtime's calls through the CRI client, and what a termination adds to them.

Ten pods of one container on a real containerd in the dedicated layout. `cri/<call>` is one call; `terminate/ours` is a whole
termination through `act.stop.stopper`, `terminate/runtime` only the same calls in sequence.
"""

import time
from collections.abc import Callable

from bench.harness import Result, measure, summarize
from evictd.act.stop.stopper import PodStopper
from evictd.clients.cri.client import CriClient
from evictd_testnode.binaries import default_cache, find_binaries
from evictd_testnode.disks import DiskRecipe
from evictd_testnode.node import DisposableNode, NodeRecipe
from evictd_testnode.pods import PodRecipe, RunningPod
from evictd_testnode.sweep import sweep
from evictd_testnode.tool import wait_for

PODS = 10
TERMINATIONS = 10


def run() -> list[Result]:
    """Measure; needs root."""
    sweep()
    recipe = NodeRecipe(
        binaries=find_binaries(default_cache()), node_disk=DiskRecipe(), image_disk=DiskRecipe(size_bytes=128 << 20)
    )
    with DisposableNode(recipe) as node:
        pods = [node.run_pod(PodRecipe(name=f"pod-{number}")) for number in range(PODS)]
        results = _calls(node.client, pods[0])
        node.remove_all_pods()
        results += _terminations(node)
    return results


def _calls(client: CriClient, pod: RunningPod) -> list[Result]:
    calls: dict[str, Callable[[], object]] = {
        "Version": client.version,
        "ListPodSandbox": client.list_sandboxes,
        "ListContainers": client.list_containers,
        "ContainerStatus": lambda: client.container_status(pod.container_id),
        "ContainerStatus verbose": lambda: client.container_status(pod.container_id, verbose=True),
        "PodSandboxStatus verbose": lambda: client.sandbox_status(pod.sandbox_id, verbose=True),
        "ListContainerStats": client.list_container_stats,
        "ListImages": client.list_images,
        "ImageFsInfo": client.image_fs_info,
    }
    return [measure(f"cri/{name}", call) for name, call in calls.items()]


def _terminations(node: DisposableNode) -> list[Result]:
    ours, bare = [], []
    with PodStopper(node.client, clock=lambda: time.clock_gettime_ns(time.CLOCK_BOOTTIME)) as terminator:
        for number in range(TERMINATIONS):  # by turns, so that both meet the same machine
            ours.append(_timed(_ours, node, f"ours-{number}", terminator))
            bare.append(_timed(_bare, node, f"bare-{number}", None))
    return [summarize("terminate/ours", ours), summarize("terminate/runtime", bare)]


def _timed(
    end: Callable[[DisposableNode, RunningPod, PodStopper | None], None],
    node: DisposableNode,
    name: str,
    terminator: PodStopper | None,
) -> float:
    pod = node.run_pod(PodRecipe(name=name))
    started = time.perf_counter_ns()
    end(node, pod, terminator)
    elapsed = (time.perf_counter_ns() - started) / 1e6
    node.remove_pod(pod)
    return elapsed


def _ours(_: DisposableNode, pod: RunningPod, terminator: PodStopper | None) -> None:
    assert terminator is not None
    terminator.begin(pod.uid, containers=[pod.container_id], sandboxes=[pod.sandbox_id], grace_seconds=10)
    assert wait_for(lambda: not terminator.in_flight(), step_seconds=0.001)


def _bare(node: DisposableNode, pod: RunningPod, _: PodStopper | None) -> None:
    node.client.stop_container(pod.container_id, 10)
    node.client.stop_sandbox(pod.sandbox_id)
    node.client.list_sandboxes()
    node.client.list_containers()
