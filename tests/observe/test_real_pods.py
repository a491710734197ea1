"""Real pods on a real containerd with an image filesystem: every number equals the kernel's or `du`'s."""

import json
import subprocess
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from evictd.core.gc.container_gc import ContainerState
from evictd.core.model.observation import Filesystems, Observation
from evictd.core.model.stats import DiskUsage
from evictd.observe.disk_usage.cache import DiskUsageCache
from evictd.observe.disk_usage.pod_meter import PodDiskMeter
from evictd.observe.disk_usage.walk_age import WalkAge
from evictd.observe.pods.manifests import ManifestReader
from evictd.observe.pods.node_pods import node_pods
from evictd.observe.reading.node_stats import NodeStatsReader, ObserveOptions
from evictd.observe.reading.roots import Roots
from evictd.observe.runtime.runtime_view import RuntimeReader
from evictd_testnode.node import DisposableNode
from evictd_testnode.pods import WAIT_FOR_TERM, ContainerRecipe, PodRecipe, VolumeRecipe

pytestmark = [pytest.mark.root, pytest.mark.containerd]

MIB = 1 << 20
BUSY = f"""
dd if=/dev/zero of=/data/file bs=1M count=3; dd if=/dev/zero of=/layer bs=1M count=2; echo told
x=$(dd if=/dev/zero bs=1M count=12 | tr '\\0' a); {WAIT_FOR_TERM}
"""


def clock() -> int:
    return time.clock_gettime_ns(time.CLOCK_BOOTTIME)


def du(path: Path) -> DiskUsage:
    told = [
        subprocess.run(["du", "-sx", option, str(path)], check=True, capture_output=True, text=True).stdout.split()[0]
        for option in ("--block-size=1", "--inodes")
    ]
    return DiskUsage(int(told[0]), int(told[1]))


def until(true: Callable[[], bool], seconds: float = 60) -> None:
    end, patience = clock() + int(seconds * 1e9), threading.Event()
    while not true():
        assert clock() < end, "waited in vain"
        patience.wait(0.05)


def test_a_pods_usage_equals_that_of_the_kernel_and_du(node: DisposableNode) -> None:
    quick = ContainerRecipe(name="quick", script="dd if=/dev/zero of=/left bs=1M count=4")
    busy = ContainerRecipe(name="busy", script=BUSY, requests={"memory": "1Mi"})
    pod = node.run_pod(PodRecipe(name="web", containers=(busy, quick), volumes=(VolumeRecipe(name="data"),)))
    roots = Roots(kubelet_dir=node.kubelet_folder, pod_logs_dir=node.log_folder)
    cache = DiskUsageCache(PodDiskMeter(roots, clock).begin, clock=clock, at_once=True)
    runtime = RuntimeReader(node.client)
    options = ObserveOptions(pods_cgroup=f"{node.cgroup}/kubepods")
    manifests = ManifestReader(node.manifests, lambda text: [json.loads(text)])

    with NodeStatsReader(roots, options, clock=clock, disk_usage=cache) as observer:

        def observe() -> Observation:
            view = runtime.read(clock())
            return observer.observe(node_pods(view, manifests.read()).active, view, walk_age=WalkAge(longest=0))

        def settled() -> bool:
            found = observe()
            stats = found.pod_stats.get(pod.uid)
            states = {row.name: row.state for row in node.client.list_containers()}
            layers = {row.name: row.rootfs.used_bytes or 0 for row in stats.containers if row.rootfs} if stats else {}
            return (
                states["quick"] is ContainerState.EXITED
                and layers.get("quick", 0) >= 4 * MIB
                and layers.get("busy", 0) >= 2 * MIB
                and stats is not None
                and stats.memory is not None
                and (stats.memory.working_set_bytes or 0) > 12 * MIB
                and [row.used_bytes for row in stats.volumes] == [du(pod.volumes["data"]).used_bytes]
            )

        until(settled)
        found = observe()

    stats = found.pod_stats[pod.uid]
    assert found.problems == ()
    assert found.filesystems == Filesystems(dedicated_image_fs=True, split_container_fs=False)
    assert [(row.name, row.used_bytes, row.inodes_used) for row in stats.volumes] == [
        ("data", *du(pod.volumes["data"]))
    ]
    logs = {row.name: row.logs for row in stats.containers}
    assert logs["busy"] is not None
    assert logs["busy"].inodes_used == 1
    parts = [part for row in stats.containers for part in (row.rootfs, row.logs) if part is not None]
    assert stats.ephemeral_storage is not None
    assert stats.ephemeral_storage.used_bytes == sum(part.used_bytes or 0 for part in parts) + (
        stats.volumes[0].used_bytes or 0
    )
    memory = Path(f"/sys/fs/cgroup/memory{pod.cgroup_parent}")
    if memory.is_dir():
        usage = int((memory / "memory.usage_in_bytes").read_text())
        assert stats.memory is not None
        assert abs((stats.memory.usage_bytes or 0) - usage) < 4 * MIB
    assert stats.process_count is not None
    assert stats.process_count >= 2
    assert {row.name for row in stats.containers if (row.working_set_bytes or 0) > 0} == {"busy"}
    assert found.node is not None
    assert found.node.image_fs is not None
    assert found.node.fs is not None
    assert found.node.image_fs.capacity_bytes != found.node.fs.capacity_bytes or found.node.image_fs != found.node.fs
