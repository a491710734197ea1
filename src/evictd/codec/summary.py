"""Converts between the kubelet's stats summary (stats/summary v1alpha1) and the core's statistics.

Only the numbers that decisions use are decoded. Numbers are unsigned 64-bit on the wire, so a negative "available" is wrapped
around; it is unwrapped here, as the kubelet does (`makeSignalObservations`).
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import msgspec

from evictd.codec.pod_wire import WireInt
from evictd.codec.scalars import signed_64
from evictd.codec.stalls import (
    SummaryStruct,
    WireIO,
    WirePSI,
    decode_io,
    decode_psi,
    decode_stamp,
    encode_io,
    encode_psi,
    encode_stamp,
)
from evictd.core.model.stats import (
    ContainerStats,
    DiskUsage,
    FsStats,
    MemoryStats,
    NodeStats,
    PodStats,
    RlimitStats,
    SwapStats,
    VolumeStats,
)
from evictd.errors import InputError

PODS_CONTAINER = "pods"
"""The name of the system container that holds all pods."""


class WireMemory(SummaryStruct, frozen=True):
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


class WireSwap(SummaryStruct, frozen=True):
    """`swap` of the node, or of a pod."""

    time: str | None = None
    swap_available_bytes: WireInt | None = None
    swap_usage_bytes: WireInt | None = None


class WireFs(SummaryStruct, frozen=True):
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


class SummaryContainer(SummaryStruct, frozen=True):
    """A container, or a system container."""

    name: str = ""
    memory: WireMemory | None = None
    io: WireIO | None = None
    rootfs: WireFs | None = None
    logs: WireFs | None = None


class WireRlimit(SummaryStruct, frozen=True):
    """`rlimit`."""

    time: str | None = None
    max_pid: WireInt | None = msgspec.field(name="maxpid", default=None)
    current: WireInt | None = msgspec.field(name="curproc", default=None)


class WireRuntime(SummaryStruct, frozen=True):
    """`runtime`."""

    image_fs: WireFs | None = None
    container_fs: WireFs | None = None


class WireNode(SummaryStruct, frozen=True):
    """`node`."""

    node_name: str = ""
    system_containers: tuple[SummaryContainer, ...] | None = None
    memory: WireMemory | None = None
    io: WireIO | None = None
    fs: WireFs | None = None
    runtime: WireRuntime | None = None
    rlimit: WireRlimit | None = None
    swap: WireSwap | None = None


class WirePodRef(SummaryStruct, frozen=True):
    """`podRef`."""

    name: str = ""
    namespace: str = ""
    uid: str = ""


class WireProcesses(msgspec.Struct, frozen=True, omit_defaults=True):
    """`process_stats`, which is not camelCase."""

    process_count: WireInt | None = None


class WirePodStats(SummaryStruct, frozen=True):
    """One entry of `pods`."""

    pod_ref: WirePodRef = WirePodRef()
    containers: tuple[SummaryContainer, ...] | None = None
    memory: WireMemory | None = None
    io: WireIO | None = None
    swap: WireSwap | None = None
    volume: tuple[WireFs, ...] | None = None
    ephemeral_storage: WireFs | None = msgspec.field(name="ephemeral-storage", default=None)
    process_stats: WireProcesses | None = msgspec.field(name="process_stats", default=None)


class WireSummary(SummaryStruct, frozen=True):
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


def _memory(wire: WireMemory | None) -> MemoryStats | None:
    if wire is None:
        return None
    return MemoryStats(
        time=decode_stamp(wire.time),
        available_bytes=signed_64(wire.available_bytes),
        usage_bytes=signed_64(wire.usage_bytes),
        working_set_bytes=signed_64(wire.working_set_bytes),
        psi=decode_psi(wire.psi),
        clean_file_bytes=wire.clean_file_bytes,
        mem_available_bytes=wire.mem_available_bytes,
        unallocatable_bytes=wire.unallocatable_bytes,
        stalled=wire.stalled,
    )


def _fs(wire: WireFs | None) -> FsStats | None:
    if wire is None:
        return None
    return FsStats(
        time=decode_stamp(wire.time),
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
    pods = next((c for c in wire.system_containers or () if c.name == PODS_CONTAINER), None)
    runtime = wire.runtime or WireRuntime()
    rlimit = wire.rlimit
    return NodeStats(
        name=wire.node_name,
        memory=_memory(wire.memory),
        pods_memory=None if pods is None else _memory(pods.memory),
        io=decode_io(wire.io),
        pods_io=None if pods is None else decode_io(pods.io),
        fs=_fs(wire.fs),
        image_fs=_fs(runtime.image_fs),
        container_fs=_fs(runtime.container_fs),
        rlimit=None
        if rlimit is None
        else RlimitStats(time=decode_stamp(rlimit.time), max_pid=rlimit.max_pid, current=rlimit.current),
        swap=_swap(wire.swap),
    )


def _swap(wire: WireSwap | None) -> SwapStats | None:
    if wire is None or (not wire.swap_available_bytes and not wire.swap_usage_bytes):
        return None
    return SwapStats(
        time=decode_stamp(wire.time), available_bytes=wire.swap_available_bytes, usage_bytes=wire.swap_usage_bytes
    )


def _pod(wire: WirePodStats) -> PodStats:
    return PodStats(
        name=wire.pod_ref.name,
        namespace=wire.pod_ref.namespace,
        uid=wire.pod_ref.uid,
        containers=tuple(_container(container) for container in wire.containers or ()),
        volumes=tuple(
            VolumeStats(v.name, signed_64(v.used_bytes), signed_64(v.inodes_used)) for v in wire.volume or ()
        ),
        memory=_pod_memory(wire),
        io=decode_io(wire.io),
        ephemeral_storage=_usage(wire.ephemeral_storage),
        process_count=None if wire.process_stats is None else wire.process_stats.process_count,
        time=None if wire.memory is None else decode_stamp(wire.memory.time),
        disk_time=None if wire.ephemeral_storage is None else decode_stamp(wire.ephemeral_storage.time),
    )


def _pod_memory(wire: WirePodStats) -> MemoryStats | None:
    memory = _memory(wire.memory)
    return memory if memory is None or wire.swap is None else replace(memory, swap_bytes=wire.swap.swap_usage_bytes)


def _container(wire: SummaryContainer) -> ContainerStats:
    working_set = None if wire.memory is None else signed_64(wire.memory.working_set_bytes)
    return ContainerStats(wire.name, working_set, _usage(wire.rootfs), _usage(wire.logs))


# --- encoding ---------------------------------------------------------------------------------------------------------


def encode_summary(node: NodeStats, pods: Mapping[str, PodStats]) -> dict[str, Any]:
    """Encode the core's statistics as a summary of plain values; `decode_summary` gives equal statistics."""
    wire = WireSummary(node=_node_wire(node), pods=tuple(_pod_wire(pod) for pod in pods.values()))
    plain: dict[str, Any] = msgspec.to_builtins(wire, enc_hook=str)  # a name such as `no` is a `Word` in a YAML file
    return plain


def _unsigned(value: int | None) -> int | None:
    return value + 2**64 if value is not None and value < 0 else value


def _memory_wire(memory: MemoryStats | None) -> WireMemory | None:
    if memory is None:
        return None
    return WireMemory(
        time=encode_stamp(memory.time),
        available_bytes=_unsigned(memory.available_bytes),
        usage_bytes=_unsigned(memory.usage_bytes),
        working_set_bytes=_unsigned(memory.working_set_bytes),
        psi=encode_psi(memory.psi),
        clean_file_bytes=memory.clean_file_bytes,
        mem_available_bytes=memory.mem_available_bytes,
        unallocatable_bytes=memory.unallocatable_bytes,
        stalled=memory.stalled,
    )


def _fs_wire(fs: FsStats | None) -> WireFs | None:
    if fs is None:
        return None
    return WireFs(
        time=encode_stamp(fs.time),
        available_bytes=_unsigned(fs.available_bytes),
        capacity_bytes=fs.capacity_bytes,
        used_bytes=fs.used_bytes,
        inodes_free=_unsigned(fs.inodes_free),
        inodes=fs.inodes,
        inodes_used=fs.inodes_used,
        read_only=fs.read_only,
    )


def _usage_wire(usage: DiskUsage | None, time: int | None = None) -> WireFs | None:
    if usage is None:
        return None
    return WireFs(time=encode_stamp(time), used_bytes=usage.used_bytes, inodes_used=usage.inodes_used)


def _node_wire(node: NodeStats) -> WireNode:
    rlimit = node.rlimit
    pods = SummaryContainer(name=PODS_CONTAINER, memory=_memory_wire(node.pods_memory), io=encode_io(node.pods_io))
    return WireNode(
        node_name=node.name,
        system_containers=None if node.pods_memory is None and node.pods_io is None else (pods,),
        memory=_memory_wire(node.memory),
        io=encode_io(node.io),
        fs=_fs_wire(node.fs),
        runtime=None
        if node.image_fs is None and node.container_fs is None
        else WireRuntime(image_fs=_fs_wire(node.image_fs), container_fs=_fs_wire(node.container_fs)),
        rlimit=None
        if rlimit is None
        else WireRlimit(time=encode_stamp(rlimit.time), max_pid=rlimit.max_pid, current=rlimit.current),
        swap=None
        if (swap := node.swap) is None
        else WireSwap(
            time=encode_stamp(swap.time), swap_available_bytes=swap.available_bytes, swap_usage_bytes=swap.usage_bytes
        ),
    )


def _pod_wire(pod: PodStats) -> WirePodStats:
    return WirePodStats(
        pod_ref=WirePodRef(name=pod.name, namespace=pod.namespace, uid=pod.uid),
        containers=tuple(
            SummaryContainer(
                name=container.name,
                memory=None
                if container.working_set_bytes is None
                else WireMemory(working_set_bytes=container.working_set_bytes),
                rootfs=_usage_wire(container.rootfs),
                logs=_usage_wire(container.logs),
            )
            for container in pod.containers
        ),
        memory=_memory_wire(pod.memory),
        io=encode_io(pod.io),
        swap=None
        if pod.memory is None or pod.memory.swap_bytes is None
        else WireSwap(swap_usage_bytes=pod.memory.swap_bytes),
        volume=tuple(
            WireFs(name=volume.name, used_bytes=volume.used_bytes, inodes_used=volume.inodes_used)
            for volume in pod.volumes
        ),
        ephemeral_storage=_usage_wire(pod.ephemeral_storage, pod.disk_time),
        process_stats=None if pod.process_count is None else WireProcesses(process_count=pod.process_count),
    )
