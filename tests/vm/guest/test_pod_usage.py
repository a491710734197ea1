"""One whole observation of real pods: memory and tasks from their slices, layers from the runtime, logs and volumes by `du`."""

import subprocess
import time
from pathlib import Path

import pytest

from evictd.core.model.observation import Observation, signal_observations
from evictd.core.model.resources import QOSClass
from evictd.core.model.signal import STALLS, Signal
from evictd.core.model.stats import PodStats
from evictd.observe.disk_usage.cache import DiskUsageCache
from evictd.observe.disk_usage.pod_meter import PodDiskMeter
from evictd.observe.pods.manifests import ManifestReader
from evictd.observe.pods.node_pods import node_pods
from evictd.observe.reading.node_stats import NodeStatsReader, ObserveOptions
from evictd.observe.reading.roots import Roots
from evictd.observe.runtime.runtime_view import RuntimeReader
from tests.vm.guest import shell
from tests.vm.guest.figures import figure
from tests.vm.guest.node import MANIFESTS, Node, pod_cgroup
from tests.vm.guest.waiting import wait_for
from tests.vm.guest.workload import Workload

pytestmark = pytest.mark.vm

MIB = 1 << 20
ROOTS = Roots()


@pytest.fixture(scope="module")
def observation(machine: Node, workload: Workload) -> Observation:
    clock = time.monotonic_ns
    runtime = RuntimeReader(machine.client)
    cache = DiskUsageCache(PodDiskMeter(ROOTS, clock).begin, clock=clock)
    cache.start()
    try:
        with NodeStatsReader(ROOTS, ObserveOptions(), clock=clock, disk_usage=cache) as observer:

            def complete() -> Observation | None:
                view = runtime.read(clock())
                found = observer.observe(node_pods(view, ManifestReader(MANIFESTS).read()).active, view)
                measured = [stats for stats in found.pod_stats.values() if stats.disk_time is not None]
                return found if len(measured) == len(workload) else None

            return wait_for(complete, 120, "every pod's disk to have been measured")
    finally:
        cache.stop()


@pytest.fixture(params=list(QOSClass))
def stats(request: pytest.FixtureRequest, observation: Observation, workload: Workload) -> PodStats:
    return observation.pod_stats[workload[request.param].uid]


def du(path: Path) -> int:
    argv = ["du", "--summarize", "--one-file-system", "--block-size=1", str(path)]
    return int(subprocess.run(argv, check=True, capture_output=True, text=True).stdout.split()[0])


def test_nothing_was_left_unread(observation: Observation) -> None:
    assert observation.problems == ()
    assert observation.node is not None
    missing = set(Signal) - STALLS.keys() - signal_observations(observation.node).keys()
    # The pods' cgroup has no limit, and the machine no swap.
    assert missing == {Signal.ALLOCATABLE_MEMORY_AVAILABLE, Signal.SWAP_AVAILABLE}


def test_memory_and_tasks_are_those_of_the_slice(stats: PodStats, workload: Workload) -> None:
    cgroup = pod_cgroup(next(pod for pod in workload.values() if pod.uid == stats.uid))
    assert stats.memory is not None
    assert stats.memory.working_set_bytes is not None
    assert abs(stats.memory.working_set_bytes - shell.working_set(cgroup)) < MIB
    assert stats.process_count == int((cgroup / "pids.current").read_text())


def test_a_container_uses_less_than_its_pod(stats: PodStats) -> None:
    (container,) = stats.containers
    assert stats.memory is not None
    assert container.working_set_bytes is not None
    assert stats.memory.working_set_bytes is not None
    assert 8 * MIB <= container.working_set_bytes <= stats.memory.working_set_bytes


def test_the_writable_layer_is_what_was_written(stats: PodStats) -> None:
    layer = stats.containers[0].rootfs
    assert layer is not None
    assert layer.used_bytes is not None
    assert 2 * MIB <= layer.used_bytes < 3 * MIB


def test_logs_and_volumes_equal_du(stats: PodStats, workload: Workload) -> None:
    pod = next(pod for pod in workload.values() if pod.uid == stats.uid)
    log, (volume,) = stats.containers[0].logs, stats.volumes
    assert log is not None
    assert log.used_bytes == du(pod.log_directory / "main" / "0.log")
    assert volume.used_bytes == du(pod.volumes["data"]) >= 3 * MIB


def test_the_ephemeral_storage_is_their_sum(stats: PodStats) -> None:
    layer, log, (volume,) = stats.containers[0].rootfs, stats.containers[0].logs, stats.volumes
    assert layer is not None
    assert log is not None
    assert stats.ephemeral_storage is not None
    parts = [layer.used_bytes, log.used_bytes, volume.used_bytes]
    assert stats.ephemeral_storage.used_bytes == sum(part or 0 for part in parts)
    figure(f"{stats.name}: layer, log, volume {parts}, ephemeral storage {stats.ephemeral_storage.used_bytes:,}")
