"""How do nodefs, imagefs and containerfs lie on devices, and how full is each?

nodefs holds the kubelet's folder. imagefs and containerfs are where the runtime says that images and writable layers are
(spec 3.4). `container_filesystems` is used whenever the runtime reports it, but not under the policy that decides as the kubelet
does, which takes containerfs for the same as imagefs with containerd.
"""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from evictd.core.config import Policy
from evictd.core.observation import Filesystems
from evictd.core.stats import FsStats
from evictd.errors import NodeError
from evictd.observe.filesystem import FilesystemReader
from evictd.observe.findings import Problems
from evictd.observe.mounts import MountTable

if TYPE_CHECKING:  # the values' package brings the whole gRPC library along
    from evictd.clients.cri.values import FilesystemUsage, ImageFsInfo


@dataclass(frozen=True, slots=True, kw_only=True)
class FilesystemReadings:
    """The three filesystems at one time."""

    layout: Filesystems
    node: FsStats | None = None
    image: FsStats | None = None
    container: FsStats | None = None


class LayoutReader:
    """Reads the three filesystems, and keeps in mind which of them are one until the mounts change."""

    def __init__(self, kubelet_dir: Path, mounts: MountTable, reader: FilesystemReader, *, policy: Policy) -> None:
        self._kubelet_dir = kubelet_dir
        self._mounts = mounts
        self._reader = reader
        self._policy = policy
        self._known: Filesystems | None = None
        self._key: tuple[str, str | None] | None = None
        self._stale = True

    def read(
        self, info: "ImageFsInfo | None", now: int, problems: Problems, *, has_runtime: bool
    ) -> FilesystemReadings:
        """Take all three. `info` is `None` where the runtime did not answer, or where there is none at all."""
        node = self._reader.read(self._kubelet_dir, "nodefs", now, problems)
        image_row, container_row = self._rows(info)
        if image_row is None:
            if has_runtime:
                problems.add("imagefs", "the runtime told of no image filesystem")
            elif self._known is None:
                # Nobody keeps images here: all there is, is the node's own filesystem.
                return FilesystemReadings(layout=Filesystems(), node=node)
            return FilesystemReadings(layout=self._last_known(), node=node)
        image = self._of_runtime(image_row, "imagefs", now, problems)
        container = image
        if container_row is not None and container_row.mountpoint != image_row.mountpoint:
            container = self._of_runtime(container_row, "containerfs", now, problems)
        # A filesystem that does not answer is not asked for its device either.
        answered = node is not None and image is not None and container is not None
        layout = self._layout(image_row, container_row, problems) if answered else self._last_known()
        return FilesystemReadings(layout=layout, node=node, image=image, container=container)

    def _rows(self, info: "ImageFsInfo | None") -> "tuple[FilesystemUsage | None, FilesystemUsage | None]":
        image = info.image_filesystems[0] if info is not None and info.image_filesystems else None
        separate = info is not None and info.container_filesystems and self._policy is Policy.STANDARD
        return image, info.container_filesystems[0] if info is not None and separate else None

    def _of_runtime(self, row: "FilesystemUsage", name: str, now: int, problems: Problems) -> FsStats | None:
        stats = self._reader.read(Path(row.mountpoint), name, now, problems)
        if stats is None:
            return None
        # The kubelet stamps our fresh numbers with the runtime's old time, and then will not act on them.
        time = row.time if self._policy is Policy.KUBELET else now
        return replace(stats, time=time, used_bytes=row.used_bytes, inodes_used=row.inodes_used)

    def _layout(self, image: "FilesystemUsage", container: "FilesystemUsage | None", problems: Problems) -> Filesystems:
        key = (image.mountpoint, None if container is None else container.mountpoint)
        try:
            self._stale = self._mounts.changed() or self._stale or self._key != key
            if self._stale:
                self._known, self._key, self._stale = self._detect(*key), key, False
        except NodeError as error:
            problems.add("filesystem layout", error)
        return self._last_known()

    def _last_known(self) -> Filesystems:
        return self._known or Filesystems(dedicated_image_fs=None, split_container_fs=None)

    def _detect(self, image: str, container: str | None) -> Filesystems:
        image_device = self._mounts.device_of(Path(image))
        return Filesystems(
            dedicated_image_fs=image_device != self._mounts.device_of(self._kubelet_dir),
            split_container_fs=container is not None and self._mounts.device_of(Path(container)) != image_device,
        )
