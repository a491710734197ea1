"""Provides Hypothesis strategies for the core's values: small nodes with all kinds of pods, thresholds and statistics."""

from dataclasses import replace

from hypothesis import strategies as st

from evictd.core.model.config import EvictionConfig, ImageReclaim, Policy
from evictd.core.model.observation import Filesystems, Observation, RemovedPod
from evictd.core.model.pod import Pod, PodSource
from evictd.core.model.resources import Container, Volume, VolumeKind
from evictd.core.model.signal import SIGNALS, Signal
from evictd.core.model.stats import (
    ContainerStats,
    DiskUsage,
    FsStats,
    IOStats,
    MemoryStats,
    NodeStats,
    PodStats,
    PressureStall,
    PSIStats,
    RlimitStats,
    SwapStats,
    VolumeStats,
)
from evictd.core.model.threshold import Threshold, ThresholdValue
from evictd.core.units.duration import SECOND
from evictd.core.units.percentage import float32
from evictd.core.units.quantity import NANO, Format, Quantity, parse_quantity

CAPACITY = 10_000

# Made once: a strategy that is made in each draw takes longer to make than to draw from.
amounts = st.integers(0, CAPACITY)
maybe_amounts = st.none() | amounts
one_in_ten = st.integers(0, 9).map(lambda n: n == 0)
one_in_twenty = st.integers(0, 19).map(lambda n: n == 0)
# In the form that is read back from their text, as a file or the API server gives them.
quantities = st.builds(lambda n, form: parse_quantity(str(Quantity(n * NANO, form))), amounts, st.sampled_from(Format))
maybe_quantities = st.none() | quantities
values = st.one_of(
    st.builds(lambda n: ThresholdValue(quantity=parse_quantity(str(n))), st.integers(1, CAPACITY)),
    st.builds(lambda p: ThresholdValue(fraction=float32(p / 100)), st.integers(1, 99)),
)

USER_SIGNALS = [signal for signal in Signal if not signal.value.startswith(("containerfs", "node."))]
shares = st.integers(0, CAPACITY).map(lambda share: share / 100)
pressures = st.builds(lambda share: PressureStall(share, share, 0.0, 0), shares)
psi = st.builds(PSIStats, st.none() | pressures, st.none() | pressures)
maybe_psi = st.none() | psi
usages = st.none() | st.builds(DiskUsage, maybe_amounts, maybe_amounts)
memories = st.none() | st.builds(MemoryStats, working_set_bytes=maybe_amounts, psi=maybe_psi, swap_bytes=maybe_amounts)
inputs_and_outputs = st.none() | st.builds(IOStats, psi=psi)
maybe_process_counts = st.none() | st.integers(0, 50)

identities = st.lists(st.tuples(st.sampled_from(USER_SIGNALS), st.booleans()), unique=True, max_size=6)
soft_seconds = st.integers(1, 60)
maybe_values = st.none() | values
flags = st.booleans()

resources = st.dictionaries(st.sampled_from(["memory", "ephemeral-storage", "cpu"]), quantities, max_size=3)
container_counts = st.integers(1, 2)
volume_kinds = st.sampled_from(VolumeKind)
namespaces = st.sampled_from(["default", "team-a"])
priorities = st.sampled_from([-10, 0, 0, 100, 2_000_000_000])
sources = st.sampled_from([PodSource.API, PodSource.API, PodSource.API, PodSource.STATIC])
grace_periods = st.none() | st.integers(0, 120)


@st.composite
def thresholds(draw: st.DrawFn) -> tuple[Threshold, ...]:
    """At most one hard and one soft threshold for each signal, as a configuration has them."""
    return tuple(
        Threshold(
            signal=signal,
            value=draw(values),
            grace_period=0 if hard else draw(soft_seconds) * SECOND,
            min_reclaim=draw(maybe_values),
            hard_after_grace=SIGNALS[signal].own and draw(flags),
        )
        for signal, hard in draw(identities)
    )


configs = st.builds(
    EvictionConfig,
    thresholds=thresholds(),
    max_pod_grace_period_seconds=st.integers(-5, 60),
    pressure_transition_period=st.integers(0, 120).map(lambda s: s * SECOND),
    local_storage_capacity_isolation=st.booleans(),
    policy=st.sampled_from(Policy),
    reclaim_containers=st.booleans(),
    allow_api_pods_standalone=st.booleans(),
    reclaim_images=st.sampled_from(ImageReclaim),
)


@st.composite
def pods(draw: st.DrawFn, uid: str) -> Pod:
    """A pod with up to two containers and two volumes."""
    containers = tuple(
        Container(name=f"c{n}", requests=draw(resources), limits=draw(resources)) for n in range(draw(container_counts))
    )
    volumes = (
        Volume(name="v0", kind=VolumeKind.EMPTY_DIR, size_limit=draw(maybe_quantities)),
        Volume(name="v1", kind=draw(volume_kinds)),
    )
    return Pod(
        name=f"pod-{uid}",
        namespace=draw(namespaces),
        uid=uid,
        priority=draw(priorities),
        source=draw(sources),
        termination_grace_period_seconds=draw(grace_periods),
        containers=containers,
        volumes=volumes,
    )


@st.composite
def pod_stats(draw: st.DrawFn, pod: Pod) -> PodStats:
    """Usage of that pod; any part may be missing."""
    return PodStats(
        name=pod.name,
        namespace=pod.namespace,
        uid=pod.uid,
        containers=tuple(
            ContainerStats(container.name, draw(maybe_amounts), draw(usages), draw(usages))
            for container in pod.containers
        ),
        volumes=tuple(VolumeStats(volume.name, draw(maybe_amounts), draw(amounts)) for volume in pod.volumes),
        memory=draw(memories),
        io=draw(inputs_and_outputs),
        ephemeral_storage=draw(usages),
        process_count=draw(maybe_process_counts),
    )


@st.composite
def node_stats(draw: st.DrawFn, time: int) -> NodeStats:
    """The node's statistics at one time; any part may be missing."""

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

    def present() -> bool:
        return not draw(one_in_ten)

    return NodeStats(
        memory=memory() if present() else None,
        pods_memory=replace(memory(), psi=draw(maybe_psi)) if present() else None,
        pods_io=IOStats(time=time, psi=draw(psi)) if present() else None,
        fs=fs() if present() else None,
        image_fs=fs() if present() else None,
        container_fs=fs() if present() else None,
        rlimit=RlimitStats(time=time, max_pid=CAPACITY, current=draw(amounts)) if present() else None,
        # The kubelet writes 0 and 0 for a node without swap, which is `None` here.
        swap=SwapStats(time=time, available_bytes=draw(amounts), usage_bytes=1 + draw(amounts)) if present() else None,
    )


pod_counts, reading_counts, pauses = st.integers(0, 5), st.integers(1, 6), st.integers(0, 60)
seconds_ago = st.integers(0, 20).map(lambda seconds: seconds * SECOND)


@st.composite
def removed_pods(draw: st.DrawFn, time: int) -> RemovedPod:
    """A pod that is listed no more: it runs, has volumes, or is gone."""
    gone = draw(st.one_of(st.none(), seconds_ago))
    return RemovedPod(
        first_seen=max(time - draw(seconds_ago), 0),
        runs=gone is None and draw(st.booleans()),
        has_volumes=gone is None and draw(st.booleans()),
        gone_at=None if gone is None else max(time - gone, 0),
    )


filesystems = st.builds(Filesystems, dedicated_image_fs=st.booleans(), split_container_fs=st.booleans())


@st.composite
def observations(draw: st.DrawFn, time: int, layout: Filesystems, active: tuple[Pod, ...]) -> Observation:
    """One reading of the node with these pods; some readings fail completely."""
    return Observation(
        node=None if draw(one_in_twenty) else draw(node_stats(time)),
        pods=active,
        pod_stats={pod.uid: draw(pod_stats(pod)) for pod in active if not draw(one_in_ten)},
        filesystems=layout,
        removed_pods=draw(st.dictionaries(st.sampled_from("xyz"), removed_pods(time), max_size=2)),
    )


@st.composite
def stories(draw: st.DrawFn) -> tuple[EvictionConfig, list[tuple[int, Observation]]]:
    """A configuration and a sequence of readings at increasing times."""
    config = draw(configs)
    layout = draw(filesystems)
    everyone = tuple(draw(pods(uid)) for uid in "abcde"[: draw(pod_counts)])
    at, readings = 0, []
    for _ in range(draw(reading_counts)):
        at += draw(pauses) * SECOND
        active = tuple(pod for pod in everyone if not draw(one_in_ten))
        readings.append((at, draw(observations(at + 1, layout, active))))
    return config, readings
