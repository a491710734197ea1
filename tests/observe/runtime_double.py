"""Builders for values of a container runtime."""

from collections.abc import Mapping
from dataclasses import replace

from evictd.clients.cri.values import (
    CriContainer,
    CriContainerStats,
    CriSandbox,
    FilesystemUsage,
    ImageFsInfo,
    MemoryUsage,
    SandboxState,
)
from evictd.core.gc.container_gc import ContainerState
from evictd.observe.runtime.runtime_view import RuntimeView


def sandbox(uid: str) -> CriSandbox:
    return CriSandbox(
        id=f"sandbox-{uid}",
        name="web",
        namespace="ns",
        uid=uid,
        attempt=0,
        state=SandboxState.READY,
        created_at=1,
        labels={},
        annotations={},
    )


def container(
    id_: str, name: str, *, state: ContainerState = ContainerState.RUNNING, sandbox_id: str = ""
) -> CriContainer:
    return CriContainer(
        id=id_,
        sandbox_id=sandbox_id,
        name=name,
        attempt=0,
        image="",
        image_ref="",
        image_id="",
        state=state,
        created_at=1,
        annotations={},
    )


def stats(
    used_bytes: int | None, inodes_used: int | None, *, memory: int | None = None, time: int = 1
) -> CriContainerStats:
    working_set = MemoryUsage(
        time=1,
        working_set_bytes=memory,
    )
    return CriContainerStats(
        id="",
        name="",
        attempt=0,
        memory=None if memory is None else working_set,
        writable_layer=FilesystemUsage(time=time, mountpoint="/", used_bytes=used_bytes, inodes_used=inodes_used),
    )


def view(
    *containers: CriContainer,
    uid: str = "a-b",
    cgroups: Mapping[str, str] | None = None,
    stats: Mapping[str, CriContainerStats] | None = None,
    image_fs: ImageFsInfo | None = None,
) -> RuntimeView:
    """Return one pod's containers; those without a sandbox of their own are put into its."""
    home = sandbox(uid)
    return RuntimeView(
        time=1,
        sandboxes=(home,),
        containers=tuple(row if row.sandbox_id else replace(row, sandbox_id=home.id) for row in containers),
        pod_cgroups=cgroups or {},
        stats=stats,
        image_fs=image_fs,
    )
