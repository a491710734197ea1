"""A small node: values that the daemon's tests share."""

from collections.abc import Sequence

from evictd.core.eviction.synchronize import synchronize
from evictd.core.model.config import EvictionConfig
from evictd.core.model.observation import Filesystems, Observation
from evictd.core.model.pod import Pod, PodSource
from evictd.core.model.resources import MEMORY, Container
from evictd.core.model.signal import Signal
from evictd.core.model.state import State, Step
from evictd.core.model.stats import FsStats, MemoryStats, NodeStats, PodStats
from evictd.core.model.threshold import Threshold, ThresholdValue
from evictd.core.units.duration import MINUTE, SECOND
from evictd.core.units.quantity import of_bytes
from evictd.daemon.store.checkpoint import CheckpointSource
from evictd.daemon.telemetry.snapshot import Decided, Snapshot

GI = 1 << 30
NOW = 1_000 * SECOND
WALL = 1_700_000_000 * SECOND

HARD = Threshold(signal=Signal.MEMORY_AVAILABLE, value=ThresholdValue(quantity=of_bytes(GI)))
SOFT = Threshold(
    signal=Signal.MEMORY_AVAILABLE, value=ThresholdValue(quantity=of_bytes(2 * GI)), grace_period=90 * SECOND
)
DISK = Threshold(signal=Signal.NODEFS_AVAILABLE, value=ThresholdValue(fraction=0.5))
PIDS = Threshold(signal=Signal.PID_AVAILABLE, value=ThresholdValue(fraction=0.5))

CONFIG = EvictionConfig(thresholds=(SOFT, HARD, DISK, PIDS), pressure_transition_period=5 * MINUTE)

MEMORY_OF_NOTHING = CheckpointSource(images=dict, evicted=(), running_since=0)


def pod(name: str, *, request: int = 0, priority: int = 0, source: PodSource = PodSource.API) -> Pod:
    container = Container(name="main", requests={MEMORY: of_bytes(request)})
    return Pod(
        name=name, namespace="default", uid=f"uid-{name}", containers=(container,), priority=priority, source=source
    )


def uses(pod: Pod, memory: int, at: int = NOW) -> PodStats:
    return PodStats(
        name=pod.name, namespace=pod.namespace, uid=pod.uid, memory=MemoryStats(time=at, working_set_bytes=memory)
    )


HOG = pod("hog")
WEB = pod("web", request=GI)
STATIC = pod("etcd", source=PodSource.STATIC)


def observe(available: int, at: int = NOW, *, disk: int = 90, pods: Sequence[Pod] = (HOG, WEB, STATIC)) -> Observation:
    """A node of 8 GiB with so much left of memory, and so many percent of its disk; its PIDs cannot be read."""
    return Observation(
        node=NodeStats(
            name="node-1",
            memory=MemoryStats(time=at, available_bytes=available, working_set_bytes=8 * GI - available),
            fs=(fs := FsStats(time=at, available_bytes=disk * GI, capacity_bytes=100 * GI)),
            image_fs=fs,
            container_fs=fs,
        ),
        pods=tuple(pods),
        pod_stats={each.uid: uses(each, (6 - index) * GI, at) for index, each in enumerate(pods)},
        filesystems=Filesystems(),
    )


def step(available: int, state: State | None = None, at: int = NOW, *, disk: int = 90) -> Step:
    return synchronize(state or State(), observe(available, at, disk=disk), CONFIG, at)


def snapshot(available: int) -> Snapshot:
    done = step(available)
    return Snapshot(
        at=NOW,
        wall=WALL,
        config=CONFIG,
        state=done.state,
        observation=observe(available),
        findings=done.findings,
        recent=(Decided(wall=WALL, kind="EvictPod", text="evict default/hog"),),
        version="1.2.3",
    )
