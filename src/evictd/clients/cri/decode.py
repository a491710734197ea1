"""How a message of the runtime becomes our value.

The kubelet's sanity checks (spec section 11.2) are made here: a row of a list without an identity is skipped, a
status without one is an error. A verbose `info` is the runtime's own JSON and may say anything; what cannot be
understood of it is absent.
"""

import json
from collections.abc import Iterable, Mapping
from typing import Any

from cri_api.v1 import api_pb2 as pb

from evictd.clients.cri import values
from evictd.errors import RuntimeRefusedError

_SANDBOX_STATES = {
    pb.SANDBOX_READY: values.SandboxState.READY,
    pb.SANDBOX_NOTREADY: values.SandboxState.NOT_READY,
}
_CONTAINER_STATES = {
    pb.CONTAINER_CREATED: values.ContainerState.CREATED,
    pb.CONTAINER_RUNNING: values.ContainerState.RUNNING,
    pb.CONTAINER_EXITED: values.ContainerState.EXITED,
}
_EVENT_TYPES = {
    pb.CONTAINER_CREATED_EVENT: values.ContainerEventType.CREATED,
    pb.CONTAINER_STARTED_EVENT: values.ContainerEventType.STARTED,
    pb.CONTAINER_STOPPED_EVENT: values.ContainerEventType.STOPPED,
    pb.CONTAINER_DELETED_EVENT: values.ContainerEventType.DELETED,
}


def version(answer: pb.VersionResponse) -> values.Version:
    """Read a version."""
    return values.Version(
        runtime_name=answer.runtime_name,
        runtime_version=answer.runtime_version,
        runtime_api_version=answer.runtime_api_version,
    )


def runtime_config(answer: pb.RuntimeConfigResponse) -> values.RuntimeConfig:
    """Read a runtime's configuration; without a word on Linux the driver is unknown, not the enum's first value."""
    if not answer.HasField("linux"):
        return values.RuntimeConfig()
    systemd = answer.linux.cgroup_driver == pb.SYSTEMD
    return values.RuntimeConfig(cgroup_driver=values.CgroupDriver.SYSTEMD if systemd else values.CgroupDriver.CGROUPFS)


def sandboxes(answer: pb.ListPodSandboxResponse) -> tuple[values.Sandbox, ...]:
    """Read the rows that say which pod they belong to."""
    return tuple(values.Sandbox(**_sandbox(item)) for item in answer.items if item.id and item.HasField("metadata"))


def sandbox_status(answer: pb.PodSandboxStatusResponse) -> values.SandboxStatus:
    """Read a status; raises `RuntimeRefusedError` when it lacks what the kubelet insists on."""
    status = answer.status
    metadata = status.metadata
    _insist("PodSandboxStatus", status, ("id", "metadata", "created_at"))
    _insist("PodSandboxStatus", metadata, ("name", "namespace", "uid"))
    return values.SandboxStatus(**_sandbox(status), detail=detail(answer.info))


def _sandbox(message: pb.PodSandbox | pb.PodSandboxStatus) -> dict[str, Any]:
    return {
        "id": message.id,
        "name": message.metadata.name,
        "namespace": message.metadata.namespace,
        "uid": message.metadata.uid,
        "attempt": message.metadata.attempt,
        # A state that we do not know may well be one that runs.
        "state": _SANDBOX_STATES.get(message.state, values.SandboxState.READY),
        "created_at": message.created_at,
        "labels": dict(message.labels),
        "annotations": dict(message.annotations),
        "runtime_handler": message.runtime_handler,
    }


def containers(answer: pb.ListContainersResponse) -> tuple[values.Container, ...]:
    """Read the rows that have an identity and an image, as the kubelet does."""
    return tuple(
        _container(item)
        for item in answer.containers
        if item.id and item.HasField("metadata") and item.HasField("image")
    )


def _container(message: pb.Container) -> values.Container:
    return values.Container(
        id=message.id,
        sandbox_id=message.pod_sandbox_id,
        name=message.metadata.name,
        attempt=message.metadata.attempt,
        image=message.image.image,
        image_ref=message.image_ref,
        image_id=message.image_id,
        state=_CONTAINER_STATES.get(message.state, values.ContainerState.UNKNOWN),
        created_at=message.created_at,
        labels=dict(message.labels),
        annotations=dict(message.annotations),
    )


def container_status(answer: pb.ContainerStatusResponse) -> values.ContainerStatus:
    """Read a status; raises `RuntimeRefusedError` when it lacks what the kubelet insists on."""
    status = answer.status
    _insist("ContainerStatus", status, ("id", "metadata", "created_at", "image_ref"))
    _insist("ContainerStatus", status.metadata, ("name",))
    _insist("ContainerStatus", status.image, ("image",))
    return values.ContainerStatus(
        id=status.id,
        name=status.metadata.name,
        attempt=status.metadata.attempt,
        state=_CONTAINER_STATES.get(status.state, values.ContainerState.UNKNOWN),
        created_at=status.created_at,
        started_at=status.started_at,
        finished_at=status.finished_at,
        exit_code=status.exit_code,
        image=status.image.image,
        image_ref=status.image_ref,
        image_id=status.image_id,
        reason=status.reason,
        message=status.message,
        labels=dict(status.labels),
        annotations=dict(status.annotations),
        mounts=tuple(
            values.Mount(container_path=mount.container_path, host_path=mount.host_path, readonly=mount.readonly)
            for mount in status.mounts
        ),
        log_path=status.log_path,
        resources=_resources(status),
        detail=detail(answer.info),
    )


def _resources(status: pb.ContainerStatus) -> values.LinuxResources | None:
    if not status.HasField("resources") or not status.resources.HasField("linux"):
        return None
    linux = status.resources.linux
    return values.LinuxResources(
        memory_limit_bytes=linux.memory_limit_in_bytes,
        cpu_shares=linux.cpu_shares,
        cpu_quota=linux.cpu_quota,
        cpu_period=linux.cpu_period,
        oom_score_adj=linux.oom_score_adj,
    )


def all_container_stats(answer: pb.ListContainerStatsResponse) -> tuple[values.ContainerStats, ...]:
    """Read the rows that say which container they are of."""
    return tuple(_container_stats(stats) for stats in answer.stats if stats.attributes.id)


def all_sandbox_stats(answer: pb.ListPodSandboxStatsResponse) -> tuple[values.SandboxStats, ...]:
    """Read the rows that say which sandbox they are of."""
    return tuple(_sandbox_stats(stats) for stats in answer.stats if stats.attributes.id)


def _container_stats(stats: pb.ContainerStats) -> values.ContainerStats:
    return values.ContainerStats(
        id=stats.attributes.id,
        name=stats.attributes.metadata.name,
        attempt=stats.attributes.metadata.attempt,
        labels=dict(stats.attributes.labels),
        annotations=dict(stats.attributes.annotations),
        memory=_memory(stats.memory) if stats.HasField("memory") else None,
        swap=_swap(stats.swap) if stats.HasField("swap") else None,
        writable_layer=_filesystem(stats.writable_layer) if stats.HasField("writable_layer") else None,
    )


def _sandbox_stats(stats: pb.PodSandboxStats) -> values.SandboxStats:
    metadata, linux = stats.attributes.metadata, stats.linux
    return values.SandboxStats(
        id=stats.attributes.id,
        name=metadata.name,
        namespace=metadata.namespace,
        uid=metadata.uid,
        memory=_memory(linux.memory) if linux.HasField("memory") else None,
        process_count=_amount(linux.process, "process_count"),
        containers=tuple(_container_stats(item) for item in linux.containers if item.attributes.id),
    )


def _memory(memory: pb.MemoryUsage) -> values.MemoryUsage:
    return values.MemoryUsage(
        time=memory.timestamp,
        working_set_bytes=_amount(memory, "working_set_bytes"),
        available_bytes=_amount(memory, "available_bytes"),
        usage_bytes=_amount(memory, "usage_bytes"),
        rss_bytes=_amount(memory, "rss_bytes"),
        page_faults=_amount(memory, "page_faults"),
        major_page_faults=_amount(memory, "major_page_faults"),
    )


def _swap(swap: pb.SwapUsage) -> values.SwapUsage:
    return values.SwapUsage(
        time=swap.timestamp,
        available_bytes=_amount(swap, "swap_available_bytes"),
        usage_bytes=_amount(swap, "swap_usage_bytes"),
    )


def _filesystem(usage: pb.FilesystemUsage) -> values.FilesystemUsage:
    # containerd says 0 bytes at time 0 of a layer that it has not looked at yet.
    was_read = usage.timestamp != 0
    return values.FilesystemUsage(
        time=usage.timestamp,
        mountpoint=usage.fs_id.mountpoint,
        used_bytes=_amount(usage, "used_bytes") if was_read else None,
        inodes_used=_amount(usage, "inodes_used") if was_read else None,
    )


def images(answer: pb.ListImagesResponse) -> tuple[values.Image, ...]:
    """Read the images that have an id."""
    return tuple(_image(item) for item in answer.images if item.id)


def image_status(answer: pb.ImageStatusResponse) -> values.Image | None:
    """Read one image; `None` for one that is not there."""
    return _image(answer.image) if answer.image.id else None


def _image(message: pb.Image) -> values.Image:
    return values.Image(
        id=message.id,
        repo_tags=tuple(message.repo_tags),
        repo_digests=tuple(message.repo_digests),
        size_bytes=message.size,
        pinned=message.pinned,
        username=message.username,
    )


def image_fs_info(answer: pb.ImageFsInfoResponse) -> values.ImageFsInfo:
    """Read where images and containers live."""
    return values.ImageFsInfo(
        image_filesystems=_filesystems(answer.image_filesystems),
        container_filesystems=_filesystems(answer.container_filesystems),
    )


def _filesystems(usages: Iterable[pb.FilesystemUsage]) -> tuple[values.FilesystemUsage, ...]:
    return tuple(_filesystem(usage) for usage in usages)


def event(answer: pb.ContainerEventResponse) -> values.ContainerEvent | None:
    """Read an event; `None` for one of a kind that we do not know."""
    kind = _EVENT_TYPES.get(answer.container_event_type)
    if kind is None or not answer.container_id:
        return None
    return values.ContainerEvent(
        container_id=answer.container_id,
        type=kind,
        created_at=answer.created_at,
        pod_uid=answer.pod_sandbox_status.metadata.uid,
    )


def detail(info: Mapping[str, str]) -> values.Detail:
    """Read the verbose JSON under the key `info`, where containerd and CRI-O put it."""
    try:
        found = json.loads(info.get("info", "{}"))
    except (ValueError, RecursionError):
        return values.Detail()
    return values.Detail(
        pid=_dig(found, int, "pid"),
        cgroups_path=_dig(found, str, "runtimeSpec", "linux", "cgroupsPath"),
        cgroup_parent=_dig(found, str, "config", "linux", "cgroup_parent"),
        oom_score_adj=_dig(found, int, "runtimeSpec", "process", "oomScoreAdj"),
        snapshot_key=_dig(found, str, "snapshotKey"),
    )


def _dig(value: Any, kind: type, *keys: str) -> Any:
    """Give what lies under these keys if it is of this kind, else `None`."""
    for key in keys:
        if not isinstance(value, dict):
            return None
        value = value.get(key)
    return value if isinstance(value, kind) and not isinstance(value, bool) else None


def _amount(message: Any, name: str) -> int | None:
    return int(getattr(message, name).value) if message.HasField(name) else None


def _insist(call: str, message: Any, names: tuple[str, ...]) -> None:
    present = {descriptor.name for descriptor, _ in message.ListFields()}  # set, and not empty or zero
    missing = [name for name in names if name not in present]
    if missing:
        raise RuntimeRefusedError(f"{call}: the runtime's answer lacks {', '.join(missing)}")
