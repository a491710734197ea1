"""Hypothesis values of the core: small nodes, but with everything that matters on them."""

from hypothesis import strategies as st

from evictd.core.config import EvictionConfig, ImageReclaim, Policy
from evictd.core.duration import SECOND
from evictd.core.observation import Filesystems, Observation
from evictd.core.pod import Pod, PodSource
from evictd.core.quantity import NANO, Format, Quantity
from evictd.core.resources import Container
from evictd.core.signal import Signal
from evictd.core.stats import (
    ContainerStats,
    DiskUsage,
    FsStats,
    MemoryStats,
    NodeStats,
    PodStats,
    RlimitStats,
    VolumeStats,
)
from evictd.core.threshold import Threshold, ThresholdValue, float32
from evictd.core.volume import Volume, VolumeKind

CAPACITY = 10_000

amounts = st.integers(0, CAPACITY)
quantities = st.builds(lambda n, form: Quantity(n * NANO, form), amounts, st.sampled_from(Format))
values = st.one_of(
    st.builds(lambda n: ThresholdValue(quantity=Quantity(n * NANO, Format.BINARY_SI)), st.integers(1, CAPACITY)),
    st.builds(lambda p: ThresholdValue(fraction=float32(p / 100)), st.integers(1, 99)),
)

USER_SIGNALS = [signal for signal in Signal if not signal.value.startswith("containerfs")]


@st.composite
def thresholds(draw: st.DrawFn) -> tuple[Threshold, ...]:
    """At most one hard and one soft threshold for each signal, as a configuration has them."""
    chosen = draw(st.lists(st.tuples(st.sampled_from(USER_SIGNALS), st.booleans()), unique=True, max_size=6))
    return tuple(
        Threshold(
            signal=signal,
            value=draw(values),
            grace_period=0 if hard else draw(st.integers(1, 60)) * SECOND,
            min_reclaim=draw(st.none() | values),
        )
        for signal, hard in chosen
    )


configs = st.builds(
    EvictionConfig,
    thresholds=thresholds(),
    max_pod_grace_period_seconds=st.integers(-5, 60),
    pressure_transition_period=st.integers(0, 120).map(lambda s: s * SECOND),
    local_storage_capacity_isolation=st.booleans(),
    policy=st.sampled_from(Policy),
    reclaim_containers=st.booleans(),
    reclaim_images=st.sampled_from(ImageReclaim),
)


@st.composite
def pods(draw: st.DrawFn, uid: str) -> Pod:
    """A pod with up to two containers and two volumes."""
    resources = st.dictionaries(st.sampled_from(["memory", "ephemeral-storage", "cpu"]), quantities, max_size=3)
    containers = tuple(
        Container(name=f"c{n}", requests=draw(resources), limits=draw(resources))
        for n in range(draw(st.integers(1, 2)))
    )
    volumes = (
        Volume(name="v0", kind=VolumeKind.EMPTY_DIR, size_limit=draw(st.none() | quantities)),
        Volume(name="v1", kind=draw(st.sampled_from(VolumeKind))),
    )
    return Pod(
        name=f"pod-{uid}",
        namespace=draw(st.sampled_from(["default", "team-a"])),
        uid=uid,
        priority=draw(st.sampled_from([-10, 0, 0, 100, 2_000_000_000])),
        source=draw(st.sampled_from([PodSource.API, PodSource.API, PodSource.API, PodSource.STATIC])),
        termination_grace_period_seconds=draw(st.none() | st.integers(0, 120)),
        containers=containers,
        volumes=volumes,
    )


@st.composite
def pod_stats(draw: st.DrawFn, pod: Pod) -> PodStats:
    """Usage of that pod; any part may be missing."""
    usage = st.none() | st.builds(DiskUsage, st.none() | amounts, st.none() | amounts)
    return PodStats(
        name=pod.name,
        namespace=pod.namespace,
        uid=pod.uid,
        containers=tuple(
            ContainerStats(container.name, draw(st.none() | amounts), draw(usage), draw(usage))
            for container in pod.containers
        ),
        volumes=tuple(VolumeStats(volume.name, draw(st.none() | amounts), draw(amounts)) for volume in pod.volumes),
        memory=draw(st.none() | st.builds(MemoryStats, working_set_bytes=st.none() | amounts)),
        ephemeral_storage=draw(usage),
        process_count=draw(st.none() | st.integers(0, 50)),
    )


@st.composite
def node_stats(draw: st.DrawFn, time: int) -> NodeStats:
    """The node's numbers at one time; any part may be missing."""

    def memory() -> MemoryStats:
        return MemoryStats(time=time, available_bytes=draw(amounts), working_set_bytes=draw(amounts))

    def fs() -> FsStats:
        return FsStats(
            time=time,
            available_bytes=draw(amounts),
            capacity_bytes=CAPACITY,
            inodes_free=draw(amounts),
            inodes=CAPACITY,
        )

    def sometimes(value: object) -> bool:
        return value is not None and draw(st.integers(0, 9)) > 0

    return NodeStats(
        memory=memory() if sometimes(1) else None,
        pods_memory=memory() if sometimes(1) else None,
        fs=fs() if sometimes(1) else None,
        image_fs=fs() if sometimes(1) else None,
        container_fs=fs() if sometimes(1) else None,
        rlimit=RlimitStats(time=time, max_pid=CAPACITY, current=draw(amounts)) if sometimes(1) else None,
    )


filesystems = st.builds(Filesystems, dedicated_image_fs=st.booleans(), split_container_fs=st.booleans())


@st.composite
def observations(draw: st.DrawFn, time: int, layout: Filesystems, active: tuple[Pod, ...]) -> Observation:
    """One reading of the node with these pods; now and then it fails as a whole."""
    return Observation(
        node=None if draw(st.integers(0, 19)) == 0 else draw(node_stats(time)),
        pods=active,
        pod_stats={pod.uid: draw(pod_stats(pod)) for pod in active if draw(st.integers(0, 9)) > 0},
        filesystems=layout,
    )


@st.composite
def stories(draw: st.DrawFn) -> tuple[EvictionConfig, list[tuple[int, Observation]]]:
    """A configuration and a node read again and again, at growing times."""
    config = draw(configs)
    layout = draw(filesystems)
    everyone = tuple(draw(pods(uid)) for uid in "abcde"[: draw(st.integers(0, 5))])
    at, readings = 0, []
    for _ in range(draw(st.integers(1, 6))):
        at += draw(st.integers(0, 60)) * SECOND
        active = tuple(pod for pod in everyone if draw(st.integers(0, 9)) > 0)
        readings.append((at, draw(observations(at + 1, layout, active))))
    return config, readings
