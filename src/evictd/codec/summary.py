"""The kubelet's stats summary (stats/summary v1alpha1): to the core's stats and back.

Only what a decision looks at is decoded. Numbers are unsigned 64-bit on the wire: an "available" below zero arrives wrapped
around, and is unwrapped here, as the kubelet does when it makes quantities of them (spec 3.1).
"""

from collections.abc import Mapping
from typing import Any

import msgspec

from evictd.codec.times import format_time, parse_time
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
from evictd.errors import InputError, InvalidValueError

PODS_CONTAINER = "pods"
"""The name of the system container that holds all pods."""


class _Struct(msgspec.Struct, rename="camel", frozen=True, omit_defaults=True):
    """A part of the summary: camelCase on the wire, unknown fields skipped."""


class WireMemory(_Struct, frozen=True):
    """`memory`."""

    time: str | None = None
    available_bytes: int | None = None
    usage_bytes: int | None = None
    working_set_bytes: int | None = None


class WireFs(_Struct, frozen=True):
    """A filesystem, or a part of one."""

    name: str = ""
    time: str | None = None
    available_bytes: int | None = None
    capacity_bytes: int | None = None
    used_bytes: int | None = None
    inodes_free: int | None = None
    inodes: int | None = None
    inodes_used: int | None = None


class WireContainer(_Struct, frozen=True):
    """A container, or a system container."""

    name: str = ""
    memory: WireMemory | None = None
    rootfs: WireFs | None = None
    logs: WireFs | None = None


class WireRlimit(_Struct, frozen=True):
    """`rlimit`."""

    time: str | None = None
    max_pid: int | None = msgspec.field(name="maxpid", default=None)
    current: int | None = msgspec.field(name="curproc", default=None)


class WireRuntime(_Struct, frozen=True):
    """`runtime`."""

    image_fs: WireFs | None = None
    container_fs: WireFs | None = None


class WireNode(_Struct, frozen=True):
    """`node`."""

    node_name: str = ""
    system_containers: tuple[WireContainer, ...] | None = None
    memory: WireMemory | None = None
    fs: WireFs | None = None
    runtime: WireRuntime | None = None
    rlimit: WireRlimit | None = None


class WirePodRef(_Struct, frozen=True):
    """`podRef`."""

    name: str = ""
    namespace: str = ""
    uid: str = ""


class WireProcesses(msgspec.Struct, frozen=True, omit_defaults=True):
    """`process_stats`, which is not camelCase."""

    process_count: int | None = None


class WirePodStats(_Struct, frozen=True):
    """One entry of `pods`."""

    pod_ref: WirePodRef = WirePodRef()
    containers: tuple[WireContainer, ...] | None = None
    memory: WireMemory | None = None
    volume: tuple[WireFs, ...] | None = None
    ephemeral_storage: WireFs | None = msgspec.field(name="ephemeral-storage", default=None)
    process_stats: WireProcesses | None = msgspec.field(name="process_stats", default=None)


class WireSummary(_Struct, frozen=True):
    """The summary."""

    node: WireNode
    pods: tuple[WirePodStats, ...] | None = None


_DECODER = msgspec.json.Decoder(WireSummary)


def decode_summary(data: bytes | str | Mapping[str, Any]) -> tuple[NodeStats, dict[str, PodStats]]:
    """Read a summary: the node, and the pods by uid. Raises `InputError` with the path of what is wrong."""
    try:
        wire = _DECODER.decode(data) if isinstance(data, bytes | str) else msgspec.convert(data, WireSummary)
        return _node(wire.node), {pod.pod_ref.uid: _pod(pod) for pod in wire.pods or ()}
    except (msgspec.MsgspecError, InvalidValueError) as error:
        raise InputError(f"summary: {error}") from error


def _signed(value: int | None) -> int | None:
    return value - 2**64 if value is not None and value >= 2**63 else value


def _time(text: str | None) -> int | None:
    return None if text is None else parse_time(text)


def _memory(wire: WireMemory | None) -> MemoryStats | None:
    if wire is None:
        return None
    return MemoryStats(
        time=_time(wire.time),
        available_bytes=_signed(wire.available_bytes),
        usage_bytes=_signed(wire.usage_bytes),
        working_set_bytes=_signed(wire.working_set_bytes),
    )


def _fs(wire: WireFs | None) -> FsStats | None:
    if wire is None:
        return None
    return FsStats(
        time=_time(wire.time),
        available_bytes=_signed(wire.available_bytes),
        capacity_bytes=_signed(wire.capacity_bytes),
        used_bytes=_signed(wire.used_bytes),
        inodes_free=_signed(wire.inodes_free),
        inodes=_signed(wire.inodes),
        inodes_used=_signed(wire.inodes_used),
    )


def _usage(wire: WireFs | None) -> DiskUsage | None:
    return None if wire is None else DiskUsage(_signed(wire.used_bytes), _signed(wire.inodes_used))


def _node(wire: WireNode) -> NodeStats:
    pods = next((c for c in wire.system_containers or () if c.name == PODS_CONTAINER), None)
    runtime = wire.runtime or WireRuntime()
    rlimit = wire.rlimit
    return NodeStats(
        name=wire.node_name,
        memory=_memory(wire.memory),
        pods_memory=None if pods is None else _memory(pods.memory),
        fs=_fs(wire.fs),
        image_fs=_fs(runtime.image_fs),
        container_fs=_fs(runtime.container_fs),
        rlimit=None
        if rlimit is None
        else RlimitStats(time=_time(rlimit.time), max_pid=rlimit.max_pid, current=rlimit.current),
    )


def _pod(wire: WirePodStats) -> PodStats:
    return PodStats(
        name=wire.pod_ref.name,
        namespace=wire.pod_ref.namespace,
        uid=wire.pod_ref.uid,
        containers=tuple(_container(container) for container in wire.containers or ()),
        volumes=tuple(VolumeStats(v.name, _signed(v.used_bytes), _signed(v.inodes_used)) for v in wire.volume or ()),
        memory=_memory(wire.memory),
        ephemeral_storage=_usage(wire.ephemeral_storage),
        process_count=None if wire.process_stats is None else wire.process_stats.process_count,
        time=None if wire.memory is None else _time(wire.memory.time),
        disk_time=None if wire.ephemeral_storage is None else _time(wire.ephemeral_storage.time),
    )


def _container(wire: WireContainer) -> ContainerStats:
    working_set = None if wire.memory is None else _signed(wire.memory.working_set_bytes)
    return ContainerStats(wire.name, working_set, _usage(wire.rootfs), _usage(wire.logs))


# --- and back ---------------------------------------------------------------------------------------------------------


def encode_summary(node: NodeStats, pods: Mapping[str, PodStats]) -> dict[str, Any]:
    """Write the core's stats as a summary in plain values; `decode_summary` gives the same stats back."""
    wire = WireSummary(node=_node_wire(node), pods=tuple(_pod_wire(pod) for pod in pods.values()))
    plain: dict[str, Any] = msgspec.to_builtins(wire)
    return plain


def _unsigned(value: int | None) -> int | None:
    return value + 2**64 if value is not None and value < 0 else value


def _stamp(time: int | None) -> str | None:
    return None if time is None else format_time(time)


def _memory_wire(memory: MemoryStats | None, time: int | None = None) -> WireMemory | None:
    if memory is None:
        return None if time is None else WireMemory(time=_stamp(time))
    return WireMemory(
        time=_stamp(memory.time if memory.time is not None else time),
        available_bytes=_unsigned(memory.available_bytes),
        usage_bytes=_unsigned(memory.usage_bytes),
        working_set_bytes=_unsigned(memory.working_set_bytes),
    )


def _fs_wire(fs: FsStats | None) -> WireFs | None:
    if fs is None:
        return None
    return WireFs(
        time=_stamp(fs.time),
        available_bytes=_unsigned(fs.available_bytes),
        capacity_bytes=fs.capacity_bytes,
        used_bytes=fs.used_bytes,
        inodes_free=_unsigned(fs.inodes_free),
        inodes=fs.inodes,
        inodes_used=fs.inodes_used,
    )


def _usage_wire(usage: DiskUsage | None, time: int | None = None) -> WireFs | None:
    if usage is None:
        return None
    return WireFs(time=_stamp(time), used_bytes=usage.used_bytes, inodes_used=usage.inodes_used)


def _node_wire(node: NodeStats) -> WireNode:
    rlimit = node.rlimit
    pods = WireContainer(name=PODS_CONTAINER, memory=_memory_wire(node.pods_memory))
    return WireNode(
        node_name=node.name,
        system_containers=None if node.pods_memory is None else (pods,),
        memory=_memory_wire(node.memory),
        fs=_fs_wire(node.fs),
        runtime=None
        if node.image_fs is None and node.container_fs is None
        else WireRuntime(image_fs=_fs_wire(node.image_fs), container_fs=_fs_wire(node.container_fs)),
        rlimit=None
        if rlimit is None
        else WireRlimit(time=_stamp(rlimit.time), max_pid=rlimit.max_pid, current=rlimit.current),
    )


def _pod_wire(pod: PodStats) -> WirePodStats:
    return WirePodStats(
        pod_ref=WirePodRef(name=pod.name, namespace=pod.namespace, uid=pod.uid),
        containers=tuple(
            WireContainer(
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
        volume=tuple(
            WireFs(name=volume.name, used_bytes=volume.used_bytes, inodes_used=volume.inodes_used)
            for volume in pod.volumes
        ),
        ephemeral_storage=_usage_wire(pod.ephemeral_storage, pod.disk_time),
        process_stats=None if pod.process_count is None else WireProcesses(process_count=pod.process_count),
    )
