"""Converts the runtime's messages to the values of `evictd.clients.cri.values`.

The kubelet's checks are made here: a list entry without an identity is skipped, a status without one is an
error. A verbose `info` is JSON in the runtime's own format; parts of unexpected form are `None`.
"""

from collections.abc import Iterable, Mapping
from itertools import islice
from sys import intern
from types import MappingProxyType
from typing import Any

from evictd.clients.cri import api_pb2 as pb
from evictd.clients.cri import values
from evictd.codec.pods.lenient import text_at
from evictd.core.gc.container_gc import ContainerState
from evictd.core.model.pod import MOST_LABELS
from evictd.errors import RuntimeRefusedError

_SANDBOX_STATES = {
    pb.SANDBOX_READY: values.SandboxState.READY,
    pb.SANDBOX_NOTREADY: values.SandboxState.NOT_READY,
}
_CONTAINER_STATES = {
    pb.CONTAINER_CREATED: ContainerState.CREATED,
    pb.CONTAINER_RUNNING: ContainerState.RUNNING,
    pb.CONTAINER_EXITED: ContainerState.EXITED,
}
_NO_ENTRIES: Mapping[str, str] = MappingProxyType({})


def version(answer: pb.VersionResponse) -> values.Version:
    """Convert a version."""
    return values.Version(
        runtime_name=answer.runtime_name,
        runtime_version=answer.runtime_version,
        runtime_api_version=answer.runtime_api_version,
    )


def sandboxes(items: Iterable[pb.PodSandbox]) -> tuple[values.CriSandbox, ...]:
    """Convert the sandboxes that have an id and metadata; the others are skipped."""
    return tuple(values.CriSandbox(**_sandbox(item)) for item in items if item.id and item.HasField("metadata"))


def sandbox_status(answer: pb.PodSandboxStatusResponse) -> values.SandboxStatus:
    """Convert a status; raises `RuntimeRefusedError` if it lacks a field that the kubelet requires."""
    status = answer.status
    metadata = status.metadata
    _require("PodSandboxStatus", status, ("id", "metadata", "created_at"))
    _require("PodSandboxStatus", metadata, ("name", "namespace", "uid"))
    return values.SandboxStatus(**_sandbox(status), cgroups_path=cgroups_path(answer.info))


def _sandbox(message: pb.PodSandbox | pb.PodSandboxStatus) -> dict[str, Any]:
    return {
        "id": message.id,
        "name": message.metadata.name,
        "namespace": message.metadata.namespace,
        "uid": message.metadata.uid,
        "attempt": message.metadata.attempt,
        # An unknown state may be a running one.
        "state": _SANDBOX_STATES.get(message.state, values.SandboxState.READY),
        "created_at": message.created_at,
        "labels": dict(islice(message.labels.items(), MOST_LABELS)),
        "annotations": _kept(message.annotations, values.SANDBOX_ANNOTATIONS),
    }


def containers(items: Iterable[pb.Container]) -> tuple[values.CriContainer, ...]:
    """Convert the containers that have an id, metadata and an image; the others are skipped, as in the kubelet."""
    return tuple(_container(item) for item in items if item.id and item.HasField("metadata") and item.HasField("image"))


def _container(message: pb.Container) -> values.CriContainer:
    return values.CriContainer(
        id=message.id,
        sandbox_id=message.pod_sandbox_id,
        name=intern(message.metadata.name),
        attempt=message.metadata.attempt,
        image=intern(message.image.image),
        image_ref=intern(message.image_ref),
        image_id=intern(message.image_id),
        state=_CONTAINER_STATES.get(message.state, ContainerState.UNKNOWN),
        created_at=message.created_at,
        pod_uid=message.labels.get(values.POD_UID_LABEL, ""),
        container_name=intern(message.labels.get(values.CONTAINER_NAME_LABEL, "")),
        annotations=_kept(message.annotations, values.CONTAINER_ANNOTATIONS),
    )


def _kept(found: Mapping[str, str], names: Iterable[str]) -> Mapping[str, str]:
    """Return the entries of these names."""
    return {name: found[name] for name in names if name in found} or _NO_ENTRIES


def container_status(answer: pb.ContainerStatusResponse) -> values.ContainerStatus:
    """Convert a status; raises `RuntimeRefusedError` if it lacks a field that the kubelet requires."""
    status = answer.status
    _require("ContainerStatus", status, ("id", "metadata", "created_at", "image_ref"))
    _require("ContainerStatus", status.metadata, ("name",))
    _require("ContainerStatus", status.image, ("image",))
    return values.ContainerStatus(
        id=status.id,
        name=status.metadata.name,
        attempt=status.metadata.attempt,
        state=_CONTAINER_STATES.get(status.state, ContainerState.UNKNOWN),
        created_at=status.created_at,
        started_at=status.started_at,
        finished_at=status.finished_at,
        exit_code=status.exit_code,
        image=status.image.image,
        image_ref=status.image_ref,
        image_id=status.image_id,
        reason=status.reason,
        message=status.message,
        mounts=tuple(
            values.CriMount(container_path=mount.container_path, host_path=mount.host_path, readonly=mount.readonly)
            for mount in status.mounts
        ),
        log_path=status.log_path,
        resources=_resources(status),
        cgroups_path=cgroups_path(answer.info),
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


def all_container_stats(answer: pb.ListContainerStatsResponse) -> tuple[values.CriContainerStats, ...]:
    """Convert the statistics that have a container id; the others are skipped."""
    return tuple(_container_stats(stats) for stats in answer.stats if stats.attributes.id)


def _container_stats(stats: pb.ContainerStats) -> values.CriContainerStats:
    return values.CriContainerStats(
        id=stats.attributes.id,
        name=stats.attributes.metadata.name,
        attempt=stats.attributes.metadata.attempt,
        memory=_memory(stats.memory) if stats.HasField("memory") else None,
        writable_layer=_filesystem(stats.writable_layer) if stats.HasField("writable_layer") else None,
    )


def _memory(memory: pb.MemoryUsage) -> values.MemoryUsage:
    return values.MemoryUsage(
        time=memory.timestamp,
        working_set_bytes=_amount(memory, "working_set_bytes"),
    )


def _filesystem(usage: pb.FilesystemUsage) -> values.FilesystemUsage:
    # containerd reports 0 bytes at time 0 for a layer that it has not measured yet.
    was_read = usage.timestamp != 0
    return values.FilesystemUsage(
        time=usage.timestamp,
        mountpoint=usage.fs_id.mountpoint,
        used_bytes=_amount(usage, "used_bytes") if was_read else None,
        inodes_used=_amount(usage, "inodes_used") if was_read else None,
    )


def images(answer: pb.ListImagesResponse) -> tuple[values.CriImage, ...]:
    """Convert the images that have an id; the others are skipped."""
    return tuple(_image(item) for item in answer.images if item.id)


def image_status(answer: pb.ImageStatusResponse) -> values.CriImage | None:
    """Convert one image; `None` if the runtime does not have it."""
    return _image(answer.image) if answer.image.id else None


def _image(message: pb.Image) -> values.CriImage:
    return values.CriImage(
        id=message.id,
        repo_tags=tuple(message.repo_tags),
        repo_digests=tuple(message.repo_digests),
        size_bytes=message.size,
        pinned=message.pinned,
    )


def image_fs_info(answer: pb.ImageFsInfoResponse) -> values.ImageFsInfo:
    """Convert the usage of the image and container filesystems."""
    return values.ImageFsInfo(
        image_filesystems=_filesystems(answer.image_filesystems),
        container_filesystems=_filesystems(answer.container_filesystems),
    )


def _filesystems(usages: Iterable[pb.FilesystemUsage]) -> tuple[values.FilesystemUsage, ...]:
    return tuple(_filesystem(usage) for usage in usages)


def cgroups_path(info: Mapping[str, str]) -> str | None:
    """Return the path in the verbose JSON under the key `info`; containerd and CRI-O use the same names."""
    return text_in(info, "info", "runtimeSpec", "linux", "cgroupsPath") or None


def text_in(info: Mapping[str, str], entry: str, *keys: str) -> str:
    """Return one string of a verbose response, the JSON text `entry` of it; empty if it has another form."""
    return text_at(info.get(entry, "{}"), *keys)


def _amount(message: Any, name: str) -> int | None:
    return int(getattr(message, name).value) if message.HasField(name) else None


def _require(call: str, message: Any, names: tuple[str, ...]) -> None:
    present = {descriptor.name for descriptor, _ in message.ListFields()}  # set, and not empty or zero
    missing = [name for name in names if name not in present]
    if missing:
        raise RuntimeRefusedError(f"{call}: the runtime's answer lacks {', '.join(missing)}")
