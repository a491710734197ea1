"""Generates nodes of any size for the benches: every pod with stats, two containers and two volumes."""

from evictd.core.model.config import EvictionConfig, Policy
from evictd.core.model.observation import Filesystems, Observation
from evictd.core.model.pod import Pod
from evictd.core.model.resources import Container, Volume, VolumeKind
from evictd.core.model.signal import Signal
from evictd.core.model.stats import (
    ContainerStats,
    DiskUsage,
    FsStats,
    MemoryStats,
    NodeStats,
    PodStats,
    RlimitStats,
    VolumeStats,
)
from evictd.core.model.threshold import Threshold, ThresholdValue
from evictd.core.units.quantity import parse_quantity

GIB = 2**30
MIB = 2**20


def config(policy: Policy = Policy.STANDARD) -> EvictionConfig:
    """The kubelet's default hard thresholds in absolute numbers."""
    limits = {
        Signal.MEMORY_AVAILABLE: "1Gi",
        Signal.NODEFS_AVAILABLE: "10Gi",
        Signal.NODEFS_INODES_FREE: "500k",
        Signal.IMAGEFS_AVAILABLE: "15Gi",
        Signal.IMAGEFS_INODES_FREE: "500k",
    }
    thresholds = tuple(
        Threshold(signal=signal, value=ThresholdValue(quantity=parse_quantity(text))) for signal, text in limits.items()
    )
    return EvictionConfig(thresholds=thresholds, policy=policy)


def observation(
    pods: int, *, memory_available: int = 64 * GIB, disk_available: int = 64 * GIB, time: int = 1
) -> Observation:
    """A node with this number of pods."""
    fs = FsStats(
        time=time,
        available_bytes=disk_available,
        capacity_bytes=100 * GIB,
        inodes_free=3_000_000,
        inodes=6_000_000,
    )
    node = NodeStats(
        memory=MemoryStats(time=time, available_bytes=memory_available, working_set_bytes=64 * GIB),
        fs=fs,
        image_fs=fs,
        container_fs=fs,
        rlimit=RlimitStats(time=time, max_pid=4_194_304, current=40_000),
    )
    active = tuple(pod(index) for index in range(pods))
    return Observation(
        node=node,
        pods=active,
        pod_stats={pod.uid: stats(index, pod) for index, pod in enumerate(active)},
        filesystems=Filesystems(),
    )


def pod(index: int) -> Pod:
    """A pod whose priority and requests follow from its number."""
    requests = {"memory": parse_quantity(f"{100 + index % 200}Mi"), "ephemeral-storage": parse_quantity("1Gi")}
    limits = {"ephemeral-storage": parse_quantity("8Gi")}
    return Pod(
        name=f"pod-{index:05}",
        namespace=f"team-{index % 7}",
        uid=f"{index:08x}-0000-4000-8000-000000000000",
        priority=(index % 5) * 100,
        containers=(
            Container(name="app", requests=requests, limits=limits),
            Container(name="log", requests={"memory": parse_quantity("50Mi")}, limits=limits),
        ),
        volumes=(
            Volume(name="data", kind=VolumeKind.EMPTY_DIR, size_limit=parse_quantity("20Gi")),
            Volume(name="settings", kind=VolumeKind.CONFIG_MAP),
        ),
    )


def stats(index: int, pod: Pod) -> PodStats:
    """The pod's usage, varied by its number."""
    used = (index * 37 % 400) * MIB
    return PodStats(
        name=pod.name,
        namespace=pod.namespace,
        uid=pod.uid,
        containers=(
            ContainerStats("app", used, DiskUsage(used, 500 + index), DiskUsage(5 * MIB, 3)),
            ContainerStats("log", 20 * MIB, DiskUsage(MIB, 20), DiskUsage(MIB, 2)),
        ),
        volumes=(VolumeStats("data", used * 2, 100 + index % 50), VolumeStats("settings", 4096, 5)),
        memory=MemoryStats(time=1, working_set_bytes=used + 20 * MIB, usage_bytes=used + 30 * MIB),
        ephemeral_storage=DiskUsage(3 * used + 7 * MIB, 600 + index),
        process_count=3 + index % 20,
    )
