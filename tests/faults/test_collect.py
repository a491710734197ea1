"""Garbage collection on a real containerd through a client that refuses calls or changes responses."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace

import pytest

from evictd.act.gc.containers import ContainerCollector
from evictd.act.gc.images import ImageCollector
from evictd.act.logs import PodLogs
from evictd.clients.cri import values
from evictd.clients.cri.client import CriClient
from evictd.core.gc.container_gc import ContainerState, PodLifecycle, PodLifecycles
from evictd.core.model.config import ContainerGCPolicy, ImageGCPolicy, Policy
from evictd.core.model.observation import ReclaimOutcome
from evictd.errors import (
    RuntimeNotFoundError,
    RuntimeRefusedError,
    RuntimeUnavailableError,
    RuntimeUnimplementedError,
)
from evictd_testnode.images import ImageRecipe
from evictd_testnode.node import DisposableNode
from evictd_testnode.pods import PodRecipe, RunningPod

pytestmark = [pytest.mark.root, pytest.mark.containerd]

A, B = "localhost/a:1", "localhost/b:1"


class FaultyClient(CriClient):
    """A client of the real runtime with the failures of a test."""

    def __init__(self, endpoint: str) -> None:
        super().__init__(endpoint)
        self.refuses: dict[str, Exception] = {}
        self.unknown: set[str] = set()
        self.stopped: list[str] = []
        self.removals = 0
        self.mounts: frozenset[str] = frozenset()
        self.fault: Exception | None = None

    def remove_image(self, reference: str) -> None:
        self.removals += 1
        self._maybe_refuse(reference)
        super().remove_image(reference)

    def remove_container(self, container_id: str) -> None:
        self._maybe_refuse(container_id)
        super().remove_container(container_id)

    def stop_container(self, container_id: str, grace_seconds: int) -> None:
        self.stopped.append(container_id)
        super().stop_container(container_id, 0)

    def stop_sandbox(self, sandbox_id: str) -> None:
        self._maybe_refuse(sandbox_id)
        super().stop_sandbox(sandbox_id)

    def list_containers(self, uid: str = "") -> tuple[values.CriContainer, ...]:
        unknown = ContainerState.UNKNOWN
        rows = super().list_containers(uid)
        return tuple(replace(row, state=unknown) if row.id in self.unknown else row for row in rows)

    def mounted_images(self, container_id: str) -> frozenset[str]:
        if self.fault is not None:
            raise self.fault
        return self.mounts

    def _maybe_refuse(self, target: str) -> None:
        if target in self.refuses:
            raise self.refuses[target]


@pytest.fixture
def client(node: DisposableNode) -> Iterator[FaultyClient]:
    with FaultyClient(node.endpoint) as made:
        yield made


@pytest.fixture
def images(node: DisposableNode) -> Callable[[str], str]:
    """Import the images a and b; returns a function from name to id."""
    node.import_images([ImageRecipe(reference=name, padding_bytes=1 << 20) for name in (A, B)])
    return lambda name: getattr(node.client.image_status(name), "id", "")


def image_collector(client: CriClient, policy: Policy = Policy.STANDARD) -> ImageCollector:
    return ImageCollector(
        client, ImageGCPolicy(min_age=0), image_fs=lambda: None, running_since=0, decision_policy=policy
    )


def collect(node: DisposableNode, client: CriClient, pod: RunningPod) -> ReclaimOutcome:
    collector = ContainerCollector(client, ContainerGCPolicy(), PodLogs(node.log_folder))
    lifecycles = PodLifecycles(by_uid={pod.uid: PodLifecycle.REMOVED})
    return collector.collect(lifecycles, evict_terminated=True, wall=time.time_ns())


@contextmanager
def stopped_pod(node: DisposableNode, name: str) -> Iterator[RunningPod]:
    pod = node.run_pod(PodRecipe(name=name))
    node.client.stop_container(pod.container_id, 0)
    node.client.stop_sandbox(pod.sandbox_id)
    yield pod


def test_a_refused_image_stays_and_the_others_are_removed(client: FaultyClient, images: Callable[[str], str]) -> None:
    refused = images(A)
    client.refuses[refused] = RuntimeRefusedError("RemoveImage: UNKNOWN: not this one")
    outcome = image_collector(client).delete_unused(10)
    assert outcome.error == (
        f"wanted to free {2**63 - 1} bytes, but freed {outcome.freed_bytes} bytes space with errors in image deletion: "
        "RemoveImage: UNKNOWN: not this one"
    )
    assert (images(A), images(B)) == (refused, "")


def test_images_may_be_served_by_another_endpoint(node: DisposableNode, images: Callable[[str], str]) -> None:
    node.run_pod(PodRecipe(name="web"))

    class NoImages(CriClient):
        """Serves pods only."""

        def list_images(self) -> tuple[values.CriImage, ...]:
            raise RuntimeUnimplementedError("ListImages: UNIMPLEMENTED")

        def remove_image(self, reference: str) -> None:
            raise RuntimeUnimplementedError(f"RemoveImage {reference}: UNIMPLEMENTED")

    with NoImages(node.endpoint) as pods_only:
        collector = ImageCollector(
            pods_only, ImageGCPolicy(min_age=0), image_fs=lambda: None, running_since=0, image_client=node.client
        )
        assert collector.delete_unused(10).error == ""
    assert not images(A)


def test_an_unavailable_runtime_ends_the_collection(client: FaultyClient, images: Callable[[str], str]) -> None:
    for name in (A, B, "localhost/busybox:1"):
        client.refuses[images(name)] = RuntimeUnavailableError("RemoveImage: UNAVAILABLE: gone")
    outcome = image_collector(client).delete_unused(10)
    assert (outcome.removed, client.removals) == (0, 1)
    assert "UNAVAILABLE" in outcome.error


def test_an_image_that_is_mounted_as_a_volume_stays(
    node: DisposableNode, client: FaultyClient, images: Callable[[str], str]
) -> None:
    node.run_pod(PodRecipe(name="web"))
    client.mounts = frozenset({images(A)})
    image_collector(client).delete_unused(10)
    assert images(A)
    assert not images(B)


def test_a_container_removed_during_its_status_stops_only_policy_kubelet(
    node: DisposableNode, client: FaultyClient, images: Callable[[str], str]
) -> None:
    node.run_pod(PodRecipe(name="web"))
    client.fault = RuntimeNotFoundError("ContainerStatus: NOT_FOUND")
    kubelet = image_collector(client, Policy.KUBELET).delete_unused(10)
    assert kubelet.error.startswith("get container status: ")
    assert images(A)
    assert image_collector(client).delete_unused(10).error == ""
    assert not images(A)


def test_an_unknown_mount_of_a_container_stops_the_collection_of_images(
    node: DisposableNode, client: FaultyClient, images: Callable[[str], str]
) -> None:
    node.run_pod(PodRecipe(name="web"))
    client.fault = RuntimeRefusedError("ContainerStatus: UNKNOWN: broken")
    assert "broken" in image_collector(client).delete_unused(10).error
    assert images(A)


def test_a_refused_container_is_reported_and_the_others_are_removed(node: DisposableNode, client: FaultyClient) -> None:
    with stopped_pod(node, "stuck") as stuck, stopped_pod(node, "other") as other:
        client.refuses[stuck.container_id] = RuntimeRefusedError("RemoveContainer: UNKNOWN: stuck")
        collector = ContainerCollector(client, ContainerGCPolicy(), PodLogs(node.log_folder))
        lifecycles = PodLifecycles(by_uid=dict.fromkeys((stuck.uid, other.uid), PodLifecycle.REMOVED))
        outcome = collector.collect(lifecycles, evict_terminated=True, wall=time.time_ns())
    assert (outcome.removed, outcome.error) == (1, "RemoveContainer: UNKNOWN: stuck")
    assert [row.id for row in node.client.list_containers()] == [stuck.container_id]
    assert [row.id for row in node.client.list_sandboxes()] == [stuck.sandbox_id]


def test_a_sandbox_that_cannot_be_stopped_is_not_removed(node: DisposableNode, client: FaultyClient) -> None:
    with stopped_pod(node, "web") as pod:
        client.refuses[pod.sandbox_id] = RuntimeRefusedError("StopPodSandbox: UNKNOWN: stuck")
        outcome = collect(node, client, pod)
    assert (outcome.removed, outcome.error) == (1, "StopPodSandbox: UNKNOWN: stuck")
    assert [row.id for row in node.client.list_sandboxes()] == [pod.sandbox_id]


def test_a_container_in_an_unknown_state_is_stopped_before_removal(node: DisposableNode, client: FaultyClient) -> None:
    pod = node.run_pod(PodRecipe(name="web"))
    client.unknown = {pod.container_id}
    assert collect(node, client, pod).removed == 1
    assert client.stopped == [pod.container_id]


def test_a_container_whose_logs_cannot_be_removed_stays(node: DisposableNode, client: FaultyClient) -> None:
    with stopped_pod(node, "web") as pod:
        log = pod.log_directory / "main/0.log"
        log.unlink()
        log.mkdir()
        outcome = collect(node, client, pod)
    assert outcome.removed == 0
    assert "cannot be removed" in outcome.error
    assert [row.id for row in node.client.list_containers()] == [pod.container_id]
