"""Removing dead containers, sandboxes and logs on a real containerd of every available version."""

import os
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from evictd.act.gc.containers import ContainerCollector, remove_dead_containers
from evictd.act.logs import SETTLED, PodLogs
from evictd.core.gc.container_gc import PodLifecycle, PodLifecycles
from evictd.core.model.config import ContainerGCPolicy
from evictd.core.model.observation import ReclaimOutcome
from evictd.core.units.duration import HOUR
from evictd_testnode.disks import DiskKind, DiskRecipe
from evictd_testnode.node import DisposableNode
from evictd_testnode.pods import ContainerRecipe, PodRecipe, RunningPod
from evictd_testnode.tool import wait_for

pytestmark = [pytest.mark.root, pytest.mark.containerd]

DONE = ContainerRecipe(script="true")
WAITS = ContainerRecipe(name="waits")


def collect(
    node: DisposableNode,
    lifecycles: dict[str, PodLifecycle],
    *,
    pressure: bool = False,
    policy: ContainerGCPolicy | None = None,
    ready: bool = True,
    collector: ContainerCollector | None = None,
) -> ReclaimOutcome:
    collector = collector or ContainerCollector(node.client, policy or ContainerGCPolicy(), PodLogs(node.log_folder))
    pods = PodLifecycles(by_uid=lifecycles, all_sources_ready=ready)
    return collector.collect(pods, evict_terminated=pressure, wall=time.time_ns())


def ids(node: DisposableNode) -> set[str]:
    return {row.id for row in node.client.list_containers()}


def run_dead(node: DisposableNode, recipe: PodRecipe, attempts: int = 1) -> tuple[RunningPod, list[str]]:
    """Run a pod whose first container died several times; returns the dead containers' ids, oldest first."""
    pod = node.run_pod(recipe)
    later = (node.run_container(pod, recipe.containers[0], attempt=attempt) for attempt in range(1, attempts))
    dead = [pod.container_id, *later]
    for each in dead:
        assert wait_for(lambda each=each: node.client.container_status(each).finished_at > 0)  # type: ignore[misc]
    return pod, dead


def stop(node: DisposableNode, pod: RunningPod) -> None:
    for each in pod.containers.values():
        node.client.stop_container(each, 0)
    node.client.stop_sandbox(pod.sandbox_id)


def settle(folder: Path) -> None:
    """Set a log directory's modification time back by more than a minute."""
    at = time.time_ns() - 2 * SETTLED
    os.utime(folder, ns=(at, at))


@pytest.mark.parametrize("pressure", [False, True])
def test_a_live_pod_keeps_its_newest_dead_container_and_that_ones_logs(
    each_node: DisposableNode, *, pressure: bool
) -> None:
    pod, dead = run_dead(each_node, PodRecipe(name="web", containers=(DONE, WAITS)), attempts=3)
    rotated = pod.log_directory / "main/0.log.20240101-000000.gz"
    rotated.write_text("old")
    outcome = collect(each_node, {pod.uid: PodLifecycle.ACTIVE}, pressure=pressure)
    assert (outcome.removed, outcome.error) == (2, "")
    assert ids(each_node) == {dead[-1], pod.containers["waits"]}
    assert sorted(path.name for path in (pod.log_directory / "main").iterdir()) == ["2.log"]


def test_a_terminated_pods_containers_are_removed_only_under_pressure(each_node: DisposableNode) -> None:
    pod = each_node.run_pod(PodRecipe(name="web"))
    stop(each_node, pod)
    lifecycles = {pod.uid: PodLifecycle.TERMINATED}
    assert collect(each_node, lifecycles).removed == 0
    assert ids(each_node) == {pod.container_id}
    outcome = collect(each_node, lifecycles, pressure=True)
    assert (outcome.removed, outcome.error) == (1, "")
    assert (each_node.client.list_containers(), each_node.client.list_sandboxes()) == ((), ())
    assert pod.log_directory.is_dir()


def test_an_evicted_pods_dead_containers_are_removed_and_nothing_else(each_node: DisposableNode) -> None:
    pod, _ = run_dead(each_node, PodRecipe(name="web", containers=(DONE, WAITS)))
    other, dead = run_dead(each_node, PodRecipe(name="other", containers=(DONE,)))
    remove_dead_containers(each_node.client, pod.uid)
    assert ids(each_node) == {pod.containers["waits"], *dead}
    assert (pod.log_directory / "main/0.log").is_file()
    assert {row.uid for row in each_node.client.list_sandboxes()} == {pod.uid, other.uid}


def test_a_removed_pods_log_directory_is_removed_once_it_has_settled(each_node: DisposableNode) -> None:
    pod, other = each_node.run_pod(PodRecipe(name="gone")), each_node.run_pod(PodRecipe(name="stays"))
    stop(each_node, pod)
    lifecycles = {pod.uid: PodLifecycle.REMOVED, other.uid: PodLifecycle.ACTIVE}
    collect(each_node, lifecycles)
    assert pod.log_directory.is_dir()
    for folder in (pod.log_directory, other.log_directory):
        settle(folder)
    collect(each_node, lifecycles)
    assert not pod.log_directory.exists()
    assert (other.log_directory / "main/0.log").is_file()
    assert ids(each_node) == {other.container_id}


def test_an_unknown_pod_keeps_everything_until_all_sources_were_read(each_node: DisposableNode) -> None:
    pod = each_node.run_pod(PodRecipe(name="web"))
    stop(each_node, pod)
    settle(pod.log_directory)
    assert collect(each_node, {}, ready=False, pressure=True).removed == 0
    assert pod.log_directory.is_dir()
    assert collect(each_node, {}).removed == 1
    assert not pod.log_directory.exists()


def test_a_pod_that_started_after_the_lifecycles_were_read_is_kept(each_node: DisposableNode) -> None:
    pod, _ = run_dead(each_node, PodRecipe(name="new", containers=(DONE, WAITS)))
    settle(pod.log_directory)
    before = ids(each_node)
    assert collect(each_node, {}, pressure=True) == collect(each_node, {})
    assert ids(each_node) == before
    assert pod.log_directory.is_dir()


def test_the_deprecated_limits_hold(each_node: DisposableNode) -> None:
    pod, dead = run_dead(each_node, PodRecipe(name="web", containers=(DONE, WAITS)), attempts=3)
    lifecycles = {pod.uid: PodLifecycle.ACTIVE}
    young = ContainerGCPolicy(min_age=HOUR, max_per_pod_container=0)
    assert collect(each_node, lifecycles, policy=young).removed == 0
    assert collect(each_node, lifecycles, policy=ContainerGCPolicy(max_per_pod_container=2)).removed == 1
    assert dead[0] not in ids(each_node)
    few = ContainerGCPolicy(max_per_pod_container=5, max_containers=1)
    assert collect(each_node, lifecycles, policy=few).removed == 1
    assert ids(each_node) == {dead[2], pod.containers["waits"]}


def test_the_writable_layer_is_freed_and_reported(each_node: DisposableNode) -> None:
    fills = ContainerRecipe(script="dd if=/dev/zero of=/fill bs=1M count=6")
    pod, dead = run_dead(each_node, PodRecipe(name="web", containers=(fills,)))
    node = each_node
    stop(node, pod)

    def measured() -> bool:
        layers = {row.id: row.writable_layer for row in node.client.list_container_stats()}
        layer = layers.get(dead[0])
        return layer is not None and (layer.used_bytes or 0) >= 6 << 20

    assert wait_for(measured)
    before = free_bytes(node)
    outcome = collect(node, {pod.uid: PodLifecycle.TERMINATED}, pressure=True)
    assert outcome.freed_bytes >= 6 << 20
    assert wait_for(lambda: free_bytes(node) - before >= 6 << 20)


@contextmanager
def filled(node: DisposableNode) -> Iterator[None]:
    """Fill the runtime's filesystem to the last block.

    Filled from outside: containerd cannot even note that a container has ended while its disk is full.
    """
    ballast = node.containerd.root / "ballast"
    ballast.mkdir()
    size, number = 64 << 20, 0
    try:
        while size >= 4096:
            number += 1
            try:
                with (ballast / str(number)).open("wb") as handle:
                    os.posix_fallocate(handle.fileno(), 0, size)
            except OSError:
                size //= 2
        yield
    finally:
        shutil.rmtree(ballast)


def test_a_full_filesystem_does_not_prevent_removal(each_node: DisposableNode) -> None:
    pod, _ = run_dead(each_node, PodRecipe(name="web", containers=(DONE,)))
    stop(each_node, pod)
    with filled(each_node):
        assert free_bytes(each_node) < 1 << 20
        outcome = collect(each_node, {pod.uid: PodLifecycle.TERMINATED}, pressure=True)
        assert (outcome.removed, outcome.error) == (1, "")
        assert each_node.client.list_sandboxes() == ()


def test_a_removal_that_a_full_xfs_refuses_is_reported_and_not_repeated(
    make_node: Callable[..., DisposableNode],
) -> None:
    node = make_node(image_disk=DiskRecipe(kind=DiskKind.XFS, size_bytes=320 << 20))
    fill = "dd if=/dev/zero of=/fill bs=64k; dd if=/dev/zero of=/rest bs=512; echo full; sleep 10000"
    # Dead before the disk is full: containerd cannot note an end afterwards.
    pod, _ = run_dead(node, PodRecipe(name="web", containers=(DONE,)))
    filler = node.run_pod(PodRecipe(name="filler", containers=(ContainerRecipe(name="filler", script=fill),)))
    assert wait_for(lambda: "full" in filler.log("filler"), seconds=60)
    lifecycles = {pod.uid: PodLifecycle.ACTIVE, filler.uid: PodLifecycle.ACTIVE}
    collector = ContainerCollector(node.client, ContainerGCPolicy(max_per_pod_container=0), PodLogs(node.log_folder))
    first = collect(node, lifecycles, collector=collector)
    assert first.removed == 1 or "no space left" in first.error
    # containerd 1.6 has lost the container by now and goes on listing it; what cannot be found has been removed.
    again = collect(node, lifecycles, collector=collector)
    assert (again.removed, again.error) == (0 if first.removed else 1, "")
    assert collect(node, lifecycles, collector=collector).removed == 0


def test_an_unavailable_runtime_is_one_error(make_node: Callable[..., DisposableNode]) -> None:
    node = make_node()
    node.containerd.kill()
    outcome = collect(node, {})
    assert outcome.removed == 0
    assert "UNAVAILABLE" in outcome.error


def free_bytes(node: DisposableNode) -> int:
    found = os.statvfs(node.containerd.root)
    return found.f_bavail * found.f_frsize
