"""Reads nodefs, imagefs and containerfs, and finds out which of them share a device.

nodefs holds the kubelet's directory. imagefs and containerfs are the filesystems that the runtime reports for images and for
writable layers (CRI ImageFsInfo). Policy `Standard` uses the runtime's `container_filesystems` whenever they are
reported; policy `Kubelet` ignores them, as the kubelet does with containerd, where containerfs then equals imagefs.
"""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from evictd.clients.cri.values import FilesystemUsage, ImageFsInfo
from evictd.core.frozen import frozen
from evictd.core.model.config import Policy
from evictd.core.model.observation import Filesystems
from evictd.core.model.signal import Filesystem
from evictd.core.model.stats import FsStats
from evictd.core.units.duration import SECOND
from evictd.errors import NodeError
from evictd.observe.filesystems.filesystem import FilesystemReader
from evictd.observe.filesystems.mounts import MountTable
from evictd.observe.reading.problems import Problems

_REFRESH = 10 * SECOND
"""Nanoseconds after which the mount table is read again while a mount is read-only: only its text tells whether the filesystem
itself is. The bound exists because parsing thousands of mounts takes milliseconds, and evictd's own mounts may be read-only
permanently (DaemonSet with `readOnly`)."""


@frozen
class FilesystemReadings:
    """The three filesystems at one time; `None` for one that could not be read."""

    layout: Filesystems
    node: FsStats | None = None
    image: FsStats | None = None
    container: FsStats | None = None


class LayoutReader:
    """Reads the three filesystems; the layout is computed again only when the mounts or the runtime's mount points change."""

    def __init__(self, kubelet_dir: Path, mounts: MountTable, reader: FilesystemReader, *, policy: Policy) -> None:
        self._kubelet_dir = kubelet_dir
        self._mounts = mounts
        self._reader = reader
        self._policy = policy
        self._layout_known: Filesystems | None = None
        self._key: tuple[str, str | None] | None = None
        self._stale = True
        self._refreshed_at: int | None = None
        self.paths: Mapping[Filesystem, Path] = {Filesystem.NODEFS: kubelet_dir}
        """A path on each filesystem, as of the last reading."""

    def read(self, info: ImageFsInfo | None, now: int, problems: Problems) -> FilesystemReadings:
        """Read all three. `info` is `None` if no runtime answered."""
        node = self._read(self._kubelet_dir, "nodefs", now, problems)
        image_row, container_row = self._rows(info)
        if image_row is not None:
            image_path = Path(image_row.mountpoint)
            self.paths = {
                Filesystem.NODEFS: self._kubelet_dir,
                Filesystem.IMAGEFS: image_path,
                Filesystem.CONTAINERFS: image_path if container_row is None else Path(container_row.mountpoint),
            }
        if image_row is None:
            if info is not None:
                problems.add("imagefs", "the runtime reported no image filesystem")
            return FilesystemReadings(layout=self._last_known(), node=node)
        image = self._of_runtime(image_row, "imagefs", now, problems)
        container = image
        if container_row is not None and container_row.mountpoint != image_row.mountpoint:
            container = self._of_runtime(container_row, "containerfs", now, problems)
        # `stat` for the device would hang on a filesystem that did not respond to statvfs.
        answered = node is not None and image is not None and container is not None
        layout = self._layout(image_row, container_row, problems) if answered else self._last_known()
        return FilesystemReadings(layout=layout, node=node, image=image, container=container)

    def _rows(self, info: ImageFsInfo | None) -> tuple[FilesystemUsage | None, FilesystemUsage | None]:
        """Return what the runtime reports for images, and for writable layers where they are reported apart."""
        if info is None:
            return None, None
        apart = info.container_filesystems if self._policy is Policy.STANDARD else ()
        return next(iter(info.image_filesystems), None), next(iter(apart), None)

    def _of_runtime(self, row: FilesystemUsage, name: str, now: int, problems: Problems) -> FsStats | None:
        stats = self._read(Path(row.mountpoint), name, now, problems)
        if stats is None:
            return None
        # The kubelet puts the runtime's older time stamp on its own fresh numbers; its `thresholdsUpdatedStats` then ignores
        # them until the runtime's time changes. Policy Kubelet reproduces that.
        time = row.time if self._policy is Policy.KUBELET else now
        return replace(stats, time=time, used_bytes=row.used_bytes, inodes_used=row.inodes_used)

    def _read(self, path: Path, name: str, now: int, problems: Problems) -> FsStats | None:
        """Read one filesystem; where its mount is read-only, `read_only` is set only if the filesystem itself is."""
        stats = self._reader.read(path, name, now, problems)
        if stats is None or not stats.read_only:
            return stats
        try:
            if self._refreshed_at is None or now - self._refreshed_at >= _REFRESH:
                self._mounts.refresh()
                self._refreshed_at = now
            read_only = self._mounts.is_read_only(path)
        except NodeError as error:
            problems.add(f"{name}: read-only", error)
            read_only = False
        if read_only:
            problems.add(
                f"{name}: read-only", f"{path}: this filesystem is read-only; evicting pods frees nothing on it"
            )
        return replace(stats, read_only=read_only)

    def _layout(self, image: FilesystemUsage, container: FilesystemUsage | None, problems: Problems) -> Filesystems:
        key = (image.mountpoint, None if container is None else container.mountpoint)
        try:
            self._stale = self._mounts.changed() or self._stale or self._key != key
            if self._stale:
                self._layout_known, self._key, self._stale = self._detect(*key), key, False
        except NodeError as error:
            problems.add("filesystem layout", error)
        return self._last_known()

    def _last_known(self) -> Filesystems:
        return self._layout_known or Filesystems(dedicated_image_fs=None, split_container_fs=None)

    def _detect(self, image: str, container: str | None) -> Filesystems:
        image_device = self._mounts.device_of(Path(image))
        return Filesystems(
            dedicated_image_fs=image_device != self._mounts.device_of(self._kubelet_dir),
            split_container_fs=container is not None and self._mounts.device_of(Path(container)) != image_device,
        )
