"""What a runtime might say, in one expression."""

from collections.abc import Mapping
from dataclasses import replace

from evictd.clients.cri.values import (
    Container,
    ContainerState,
    ContainerStats,
    FilesystemUsage,
    ImageFsInfo,
    MemoryUsage,
    Sandbox,
    SandboxState,
)
from evictd.observe.runtime_view import RuntimeView


def sandbox(uid: str) -> Sandbox:
    return Sandbox(
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
) -> Container:
    return Container(
        id=id_,
        sandbox_id=sandbox_id,
        name=name,
        attempt=0,
        image="",
        image_ref="",
        image_id="",
        state=state,
        created_at=1,
        labels={},
        annotations={},
    )


def stats(used_bytes: int, inodes_used: int, *, memory: int | None = None) -> ContainerStats:
    working_set = MemoryUsage(
        time=1,
        working_set_bytes=memory,
        available_bytes=None,
        usage_bytes=None,
        rss_bytes=None,
        page_faults=None,
        major_page_faults=None,
    )
    return ContainerStats(
        id="",
        name="",
        attempt=0,
        labels={},
        annotations={},
        memory=None if memory is None else working_set,
        swap=None,
        writable_layer=FilesystemUsage(time=1, mountpoint="/", used_bytes=used_bytes, inodes_used=inodes_used),
    )


def view(
    *containers: Container,
    uid: str = "a-b",
    cgroups: Mapping[str, str] | None = None,
    stats: Mapping[str, ContainerStats] | None = None,
    image_fs: ImageFsInfo | None = None,
) -> RuntimeView:
    """Give one pod's containers; those without a sandbox of their own are put into its."""
    home = sandbox(uid)
    return RuntimeView(
        time=1,
        sandboxes=(home,),
        containers=tuple(row if row.sandbox_id else replace(row, sandbox_id=home.id) for row in containers),
        pod_cgroups=cgroups or {},
        stats=stats,
        image_fs=image_fs,
    )
