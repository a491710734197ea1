"""Builds a disposable node: a private containerd on small filesystems, with a kubelet's directories and its own cgroup.

    NAME = evictd-node-<pid>-<start time of that process>-<random>
    <temp>/NAME/node/       nodefs: kubelet/pods/<uid>/volumes/..., log/pods/...; containerd's root too, in the single layout
    <temp>/NAME/images/     imagefs: containerd's root, in the dedicated layout
    <temp>/NAME/manifests/  staticPodPath
    <temp>/NAME/runtime/    socket, state, configuration and log of containerd
    /sys/fs/cgroup/*/NAME   kubepods below it, as the kubelet's cgroupfs driver lays them out

The name identifies the owner: `evictd_testnode.sweep` removes the nodes of processes that have ended. containerd does not
support the split layout (writable layers on another filesystem than images); the tests have a proxy in front of it that reports
one, and a CRI-O.
"""

import json
import os
import shutil
import uuid
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from tempfile import gettempdir, mkdtemp
from types import TracebackType
from typing import Self

from evictd.clients.cri.client import CriClient
from evictd.core.frozen import frozen
from evictd.core.gc.container_gc import ContainerState
from evictd.core.model.resources import IN_MEMORY
from evictd.errors import NodeError
from evictd_testnode import cgroups, pods, sweep
from evictd_testnode.binaries import Binaries, Tool
from evictd_testnode.containerd import PrivateContainerd
from evictd_testnode.create import PodStarter
from evictd_testnode.disks import MOUNT_SOURCE, DiskRecipe, mount_disk, unmount_below
from evictd_testnode.images import ImageRecipe, write_archive
from evictd_testnode.tool import run_tool, start_time, wait_for


@frozen
class NodeRecipe:
    """A node to make. Without a disk its directories are on the machine's own filesystem, and no disk pressure is possible.

    `node_disk` alone is the single layout; `image_disk` makes it dedicated. `content_disk` holds the images' blobs apart from
    their unpacked layers, the closest that containerd comes to the split layout. `memory_bytes` and `pids` limit the cgroup.
    """

    binaries: Binaries
    mkfs_xfs: Tool | None = None
    node_disk: DiskRecipe | None = None
    image_disk: DiskRecipe | None = None
    content_disk: DiskRecipe | None = None
    memory_bytes: int | None = None
    pids: int | None = None
    images: tuple[ImageRecipe, ...] = ()
    private: bool = True
    stats_collect_period_seconds: int = 1
    runtime: type[PrivateContainerd] = PrivateContainerd
    """What starts the runtime; the tests have one for CRI-O."""


class DisposableNode:
    """A running node; `teardown()`, or the end of a `with` block, removes it completely."""

    def __init__(self, recipe: NodeRecipe) -> None:
        pid = os.getpid()
        self.recipe = recipe
        self.folder = Path(mkdtemp(prefix=f"{sweep.PREFIX}{pid}-{start_time(pid)}-", dir=gettempdir()))
        self.cgroup = f"/{self.folder.name}"
        self.node_folder = self.folder / "node"
        self.kubelet_folder = self.node_folder / "kubelet"
        self.log_folder = self.node_folder / "log/pods"
        self.manifests = self.folder / "manifests"
        image_folder = self.folder / "images" if recipe.image_disk else self.node_folder
        self.containerd = recipe.runtime(
            binaries=recipe.binaries,
            folder=self.folder / "runtime",
            root=image_folder / "containerd",
            private=recipe.private,
            stats_collect_period_seconds=recipe.stats_collect_period_seconds,
        )
        self.client = CriClient(self.containerd.endpoint)
        self._starter = PodStarter(self.containerd.endpoint)
        try:
            self._build()
        except BaseException:
            self.teardown()
            raise

    @property
    def endpoint(self) -> str:
        """The value of `containerRuntimeEndpoint`."""
        return self.containerd.endpoint

    @property
    def content_folder(self) -> Path:
        """Containerd's directory for the images' blobs."""
        return self.containerd.root / "io.containerd.content.v1.content"

    def _build(self) -> None:
        # Shared, so that volumes mounted later are visible in containerd's mount namespace.
        run_tool("mount", "--bind", self.folder, self.folder)
        run_tool("mount", "--make-rshared", self.folder)
        disks = (
            (self.node_folder, self.recipe.node_disk),
            (self.folder / "images", self.recipe.image_disk),
            (self.content_folder, self.recipe.content_disk),
        )
        for number, (at, disk) in enumerate(disks):
            if disk is not None:
                mount_disk(disk, at, image=self.folder / f"disk-{number}.img", mkfs_xfs=self.recipe.mkfs_xfs)
        for folder in (self.kubelet_folder / "pods", self.log_folder, self.manifests):
            folder.mkdir(parents=True)
        cgroups.make_group(self.cgroup, memory_bytes=self.recipe.memory_bytes, pids=self.recipe.pids)
        sweep.note_missing_run_folders(self.folder)
        self.containerd.start()
        self.import_images(self.recipe.images)

    def import_images(self, recipes: Iterable[ImageRecipe]) -> None:
        """Make and import pause, busybox and these images."""
        archive = self.folder / "images.tar"
        made = write_archive(archive, recipes, busybox=self.recipe.binaries.busybox)
        self.containerd.import_images(archive, made)
        archive.unlink()

    def run_pod(self, recipe: pods.PodRecipe) -> pods.RunningPod:
        """Start a pod with all its containers; raises the runtime errors of `evictd.errors`."""
        uid = recipe.uid or str(uuid.uuid4())
        logs = self.log_folder / f"{recipe.namespace}_{recipe.name}_{uid}"
        logs.mkdir()
        pod = pods.RunningPod(
            name=recipe.name,
            namespace=recipe.namespace,
            uid=uid,
            sandbox_id="",
            containers={},
            volumes={volume.name: self._make_volume(uid, volume) for volume in recipe.volumes},
            log_directory=logs,
            cgroup_parent=pods.cgroup_parent(self.cgroup, uid, pods.qos_class(recipe)),
            recipe=recipe,
        )
        if recipe.manifest:
            self._manifest(pod).write_text(json.dumps(pods.manifest(recipe, uid), indent=1), encoding="utf-8")
        pod = replace(pod, sandbox_id=self._starter.run_sandbox(pod))
        started = {container.name: self.run_container(pod, container) for container in recipe.containers}
        return replace(pod, containers=started)

    def run_container(self, pod: pods.RunningPod, container: pods.ContainerRecipe, *, attempt: int = 0) -> str:
        """Start a container of a pod, or restart one with a higher `attempt`, as a kubelet does; returns its id.

        If the script holds `pods.READY`, waits until the container has written `ready`.
        """
        container_id = self._starter.run_container(pod, container, attempt)
        if pods.READY in container.script:
            self._wait_until_ready(pod.log_directory / container.name / f"{attempt}.log", container_id)
        return container_id

    def _wait_until_ready(self, log: Path, container_id: str) -> None:
        def is_ready_or_exited() -> bool:
            ended = self.client.container_status(container_id).state is ContainerState.EXITED
            return ended or " ready\n" in log.read_text(encoding="utf-8", errors="replace")

        if not wait_for(is_ready_or_exited):
            raise NodeError(f"container {container_id} does not become ready: {log.read_text(encoding='utf-8')[-300:]}")

    def _make_volume(self, uid: str, volume: pods.VolumeRecipe) -> Path:
        at = self.kubelet_folder / "pods" / uid / "volumes" / pods.EMPTY_DIR_FOLDER / volume.name
        at.mkdir(parents=True)
        if volume.medium == IN_MEMORY:
            run_tool("mount", "-t", "tmpfs", "-o", "size=64m", MOUNT_SOURCE, at)
        return at

    def _manifest(self, pod: pods.RunningPod) -> Path:
        return self.manifests / f"{pod.namespace}_{pod.name}.json"

    def remove_pod(self, pod: pods.RunningPod) -> None:
        """Stop a pod at once and remove its sandbox, containers and manifest."""
        self.client.stop_sandbox(pod.sandbox_id)
        self.client.remove_sandbox(pod.sandbox_id)
        self._manifest(pod).unlink(missing_ok=True)

    def remove_all_pods(self) -> None:
        """Remove every pod with its volumes, so that the node can be used again."""
        for sandbox in self.client.list_sandboxes():
            self.client.stop_sandbox(sandbox.id)
            self.client.remove_sandbox(sandbox.id)
        volumes = self.kubelet_folder / "pods"
        unmount_below(volumes)
        for folder in volumes.iterdir():
            shutil.rmtree(folder, ignore_errors=True)  # evictd may remove it at the same time
        for path in self.manifests.iterdir():
            path.unlink()

    def teardown(self) -> None:
        """End all processes of this node and remove it; may be called twice."""
        self.client.close()
        self._starter.close()
        self.containerd.kill()
        sweep.remove_node(self.folder)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.teardown()
