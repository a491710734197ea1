"""Converts between the kubelet's stats summary (stats/summary v1alpha1) and the core's statistics.

Only the numbers that decisions use are decoded. Numbers are unsigned 64-bit on the wire, so a negative "available" is wrapped
around; it is unwrapped here, as the kubelet does (`makeSignalObservations`).
"""

from collections.abc import Mapping
from typing import Any

import msgspec

from evictd.codec.pods.pod_wire import WireInt, WireStruct
from evictd.codec.scalars import signed_64, unsigned_64
from evictd.codec.times import format_time, parse_stamp
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
from evictd.errors import InputError

PODS_CONTAINER = "pods"
"""The name of the system container that holds all pods."""


class WirePressure(WireStruct, frozen=True):
    """One line of a PSI file; `total` is in nanoseconds, the kernel's in microseconds."""

    total: WireInt = 0
    avg10: float = 0.0
    avg60: float = 0.0
    avg300: float = 0.0


class WirePSI(WireStruct, frozen=True):
    """`psi`."""

    full: WirePressure | None = None
    some: WirePressure | None = None


class WireIO(WireStruct, frozen=True):
    """`io`; the kubelet reports it since Kubernetes 1.34."""

    time: str | None = None
    psi: WirePSI | None = None


class WireMemory(WireStruct, frozen=True):
    """`memory`."""

    time: str | None = None
    available_bytes: int | None = None
    usage_bytes: int | None = None
    working_set_bytes: int | None = None
    psi: WirePSI | None = None
    clean_file_bytes: WireInt | None = None
    """This and what follows is evictd's own, not in the kubelet's summary; absent where it was not read."""
    mem_available_bytes: WireInt | None = None
    unallocatable_bytes: WireInt | None = None
    stalled: WireInt | None = None


class WireSwap(WireStruct, frozen=True):
    """`swap` of the node, or of a pod."""

    time: str | None = None
    available_bytes: WireInt | None = msgspec.field(name="swapAvailableBytes", default=None)
    usage_bytes: WireInt | None = msgspec.field(name="swapUsageBytes", default=None)


class WireFs(WireStruct, frozen=True):
    """A filesystem, or the usage of a part of one."""

    name: str = ""
    time: str | None = None
    available_bytes: int | None = None
    capacity_bytes: int | None = None
    used_bytes: int | None = None
    inodes_free: int | None = None
    inodes: int | None = None
    inodes_used: int | None = None
    read_only: bool = False
    """evictd's own field, not in the kubelet's summary; absent if false."""


class SummaryContainer(WireStruct, frozen=True):
    """A container, or a system container."""

    name: str = ""
    memory: WireMemory | None = None
    io: WireIO | None = None
    rootfs: WireFs | None = None
    logs: WireFs | None = None


class WireRlimit(WireStruct, frozen=True):
    """`rlimit`."""

    time: str | None = None
    max_pid: WireInt | None = msgspec.field(name="maxpid", default=None)
    current: WireInt | None = msgspec.field(name="curproc", default=None)


class WireRuntime(WireStruct, frozen=True):
    """`runtime`."""

    image_fs: WireFs | None = None
    container_fs: WireFs | None = None


class WireNode(WireStruct, frozen=True):
    """`node`."""

    node_name: str = ""
    system_containers: tuple[SummaryContainer, ...] | None = None
    memory: WireMemory | None = None
    io: WireIO | None = None
    fs: WireFs | None = None
    runtime: WireRuntime | None = None
    rlimit: WireRlimit | None = None
    swap: WireSwap | None = None


class WirePodRef(WireStruct, frozen=True):
    """`podRef`."""

    name: str = ""
    namespace: str = ""
    uid: str = ""


class WireProcesses(WireStruct, frozen=True):
    """`process_stats`, which is not camelCase."""

    process_count: WireInt | None = msgspec.field(name="process_count", default=None)


class WirePodStats(WireStruct, frozen=True):
    """One entry of `pods`."""

    pod_ref: WirePodRef = WirePodRef()
    containers: tuple[SummaryContainer, ...] | None = None
    memory: WireMemory | None = None
    io: WireIO | None = None
    swap: WireSwap | None = None
    volume: tuple[WireFs, ...] | None = None
    ephemeral_storage: WireFs | None = msgspec.field(name="ephemeral-storage", default=None)
    process_stats: WireProcesses | None = msgspec.field(name="process_stats", default=None)


class WireSummary(WireStruct, frozen=True):
    """The summary."""

    node: WireNode
    pods: tuple[WirePodStats, ...] | None = None


_DECODER = msgspec.json.Decoder(WireSummary)


def decode_summary(data: bytes | str | Mapping[str, Any]) -> tuple[NodeStats, dict[str, PodStats]]:
    """Decode a summary into the node's statistics and the pods' by uid; raises `InputError` with the path of the fault."""
    try:
        wire = _DECODER.decode(data) if isinstance(data, bytes | str) else msgspec.convert(data, WireSummary)
        return _node(wire.node), {pod.pod_ref.uid: _pod(pod) for pod in wire.pods or ()}
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        raise InputError(f"summary: {error}") from error


def _psi(wire: WirePSI | None) -> PSIStats | None:
    return None if wire is None else PSIStats(_pressure(wire.full), _pressure(wire.some))


def _pressure(wire: WirePressure | None) -> PressureStall | None:
    if wire is None:
        return None
    if not all(0 <= average <= 100 for average in (wire.avg10, wire.avg60, wire.avg300)):
        raise ValueError(f"psi: {wire} has averages that are no percentages")
    return PressureStall(wire.avg10, wire.avg60, wire.avg300, wire.total // 1000)


def _io(wire: WireIO | None) -> IOStats | None:
    return None if wire is None else IOStats(time=parse_stamp(wire.time), psi=_psi(wire.psi))


def _memory(wire: WireMemory | None, swap: WireSwap | None = None) -> MemoryStats | None:
    if wire is None:
        return None
    return MemoryStats(
        time=parse_stamp(wire.time),
        available_bytes=signed_64(wire.available_bytes),
        usage_bytes=signed_64(wire.usage_bytes),
        working_set_bytes=signed_64(wire.working_set_bytes),
        psi=_psi(wire.psi),
        swap_bytes=None if swap is None else swap.usage_bytes,
        clean_file_bytes=wire.clean_file_bytes,
        mem_available_bytes=wire.mem_available_bytes,
        unallocatable_bytes=wire.unallocatable_bytes,
        stalled=wire.stalled,
    )


def _fs(wire: WireFs | None) -> FsStats | None:
    if wire is None:
        return None
    return FsStats(
        time=parse_stamp(wire.time),
        available_bytes=signed_64(wire.available_bytes),
        capacity_bytes=signed_64(wire.capacity_bytes),
        used_bytes=signed_64(wire.used_bytes),
        inodes_free=signed_64(wire.inodes_free),
        inodes=signed_64(wire.inodes),
        inodes_used=signed_64(wire.inodes_used),
        read_only=wire.read_only,
    )


def _usage(wire: WireFs | None) -> DiskUsage | None:
    return None if wire is None else DiskUsage(signed_64(wire.used_bytes), signed_64(wire.inodes_used))


def _node(wire: WireNode) -> NodeStats:
    pods = next((c for c in wire.system_containers or () if c.name == PODS_CONTAINER), SummaryContainer())
    runtime = wire.runtime or WireRuntime()
    return NodeStats(
        name=wire.node_name,
        memory=_memory(wire.memory),
        pods_memory=_memory(pods.memory),
        io=_io(wire.io),
        pods_io=_io(pods.io),
        fs=_fs(wire.fs),
        image_fs=_fs(runtime.image_fs),
        container_fs=_fs(runtime.container_fs),
        rlimit=_rlimit(wire.rlimit),
        swap=_swap(wire.swap),
    )


def _rlimit(wire: WireRlimit | None) -> RlimitStats | None:
    return (
        None if wire is None else RlimitStats(time=parse_stamp(wire.time), max_pid=wire.max_pid, current=wire.current)
    )


def _swap(wire: WireSwap | None) -> SwapStats | None:
    if wire is None or (not wire.available_bytes and not wire.usage_bytes):
        return None
    return SwapStats(time=parse_stamp(wire.time), available_bytes=wire.available_bytes, usage_bytes=wire.usage_bytes)


def _pod(wire: WirePodStats) -> PodStats:
    memory, disk = _memory(wire.memory, wire.swap), wire.ephemeral_storage
    return PodStats(
        name=wire.pod_ref.name,
        namespace=wire.pod_ref.namespace,
        uid=wire.pod_ref.uid,
        containers=tuple(_container(container) for container in wire.containers or ()),
        volumes=tuple(
            VolumeStats(v.name, signed_64(v.used_bytes), signed_64(v.inodes_used)) for v in wire.volume or ()
        ),
        memory=memory,
        io=_io(wire.io),
        ephemeral_storage=_usage(disk),
        process_count=None if wire.process_stats is None else wire.process_stats.process_count,
        time=None if memory is None else memory.time,
        disk_time=None if disk is None else parse_stamp(disk.time),
    )


def _container(wire: SummaryContainer) -> ContainerStats:
    working_set = None if wire.memory is None else signed_64(wire.memory.working_set_bytes)
    return ContainerStats(wire.name, working_set, _usage(wire.rootfs), _usage(wire.logs))


# --- encoding ---------------------------------------------------------------------------------------------------------


def encode_summary(node: NodeStats, pods: Mapping[str, PodStats]) -> dict[str, Any]:
    """Encode the core's statistics as a summary of plain values; `decode_summary` gives equal statistics."""
    wire = WireSummary(node=_node_wire(node), pods=tuple(_pod_wire(pod) for pod in pods.values()))
    plain: dict[str, Any] = msgspec.to_builtins(wire, enc_hook=str)  # a name such as `no` is a `Word` in a YAML file
    return plain


def _stamp_wire(time: int | None) -> str | None:
    return None if time is None else format_time(time)


def _psi_wire(psi: PSIStats | None) -> WirePSI | None:
    return None if psi is None else WirePSI(full=_pressure_wire(psi.full), some=_pressure_wire(psi.some))


def _pressure_wire(line: PressureStall | None) -> WirePressure | None:
    if line is None:
        return None
    return WirePressure(total=line.total_us * 1000, avg10=line.avg10, avg60=line.avg60, avg300=line.avg300)


def _io_wire(io: IOStats | None) -> WireIO | None:
    return None if io is None else WireIO(time=_stamp_wire(io.time), psi=_psi_wire(io.psi))


def _memory_wire(memory: MemoryStats | None) -> WireMemory | None:
    if memory is None:
        return None
    return WireMemory(
        time=_stamp_wire(memory.time),
        available_bytes=unsigned_64(memory.available_bytes),
        usage_bytes=unsigned_64(memory.usage_bytes),
        working_set_bytes=unsigned_64(memory.working_set_bytes),
        psi=_psi_wire(memory.psi),
        clean_file_bytes=memory.clean_file_bytes,
        mem_available_bytes=memory.mem_available_bytes,
        unallocatable_bytes=memory.unallocatable_bytes,
        stalled=memory.stalled,
    )


def _fs_wire(fs: FsStats | None) -> WireFs | None:
    if fs is None:
        return None
    return WireFs(
        time=_stamp_wire(fs.time),
        available_bytes=unsigned_64(fs.available_bytes),
        capacity_bytes=fs.capacity_bytes,
        used_bytes=fs.used_bytes,
        inodes_free=unsigned_64(fs.inodes_free),
        inodes=fs.inodes,
        inodes_used=fs.inodes_used,
        read_only=fs.read_only,
    )


def _usage_wire(usage: DiskUsage | None, time: int | None = None) -> WireFs | None:
    if usage is None:
        return None
    return WireFs(time=_stamp_wire(time), used_bytes=usage.used_bytes, inodes_used=usage.inodes_used)


def _node_wire(node: NodeStats) -> WireNode:
    pods = SummaryContainer(name=PODS_CONTAINER, memory=_memory_wire(node.pods_memory), io=_io_wire(node.pods_io))
    runtime = WireRuntime(image_fs=_fs_wire(node.image_fs), container_fs=_fs_wire(node.container_fs))
    return WireNode(
        node_name=node.name,
        system_containers=None if node.pods_memory is None and node.pods_io is None else (pods,),
        memory=_memory_wire(node.memory),
        io=_io_wire(node.io),
        fs=_fs_wire(node.fs),
        runtime=None if runtime == WireRuntime() else runtime,
        rlimit=_rlimit_wire(node.rlimit),
        swap=_swap_wire(node.swap),
    )


def _rlimit_wire(rlimit: RlimitStats | None) -> WireRlimit | None:
    if rlimit is None:
        return None
    return WireRlimit(time=_stamp_wire(rlimit.time), max_pid=rlimit.max_pid, current=rlimit.current)


def _swap_wire(swap: SwapStats | None) -> WireSwap | None:
    if swap is None:
        return None
    return WireSwap(time=_stamp_wire(swap.time), available_bytes=swap.available_bytes, usage_bytes=swap.usage_bytes)


def _pod_wire(pod: PodStats) -> WirePodStats:
    return WirePodStats(
        pod_ref=WirePodRef(name=pod.name, namespace=pod.namespace, uid=pod.uid),
        containers=tuple(
            SummaryContainer(
                name=each.name,
                memory=None if each.working_set_bytes is None else WireMemory(working_set_bytes=each.working_set_bytes),
                rootfs=_usage_wire(each.rootfs),
                logs=_usage_wire(each.logs),
            )
            for each in pod.containers
        ),
        memory=_memory_wire(pod.memory),
        io=_io_wire(pod.io),
        swap=None
        if pod.memory is None or pod.memory.swap_bytes is None
        else WireSwap(usage_bytes=pod.memory.swap_bytes),
        volume=tuple(
            WireFs(name=each.name, used_bytes=each.used_bytes, inodes_used=each.inodes_used) for each in pod.volumes
        ),
        ephemeral_storage=_usage_wire(pod.ephemeral_storage, pod.disk_time),
        process_stats=None if pod.process_count is None else WireProcesses(process_count=pod.process_count),
    )
