"""The three filesystem layouts, and the sources of their numbers."""

import os
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from evictd.clients.cri.values import FilesystemUsage, ImageFsInfo
from evictd.core.model.config import Policy
from evictd.core.model.observation import Filesystems
from evictd.core.units.duration import SECOND
from evictd.errors import NodeError
from evictd.observe.filesystems.filesystem import FilesystemReader
from evictd.observe.filesystems.layout import FilesystemReadings, LayoutReader
from evictd.observe.filesystems.mounts import MountTable
from evictd.observe.reading.problems import Problems
from tests import mounted
from tests.trees import plant

SINGLE = Filesystems(dedicated_image_fs=False, split_container_fs=False)
DEDICATED = Filesystems(dedicated_image_fs=True, split_container_fs=False)
SPLIT = Filesystems(dedicated_image_fs=True, split_container_fs=True)
UNKNOWN = Filesystems(dedicated_image_fs=None, split_container_fs=None)


class Mounts(MountTable):
    """A mount table by first folder: /a/x and /a/y are one device."""

    def __init__(self) -> None:
        self.changes = [True]
        self.asked: list[str] = []
        self.moved: dict[str, str] = {}
        self.failing = False
        self.read_only: set[str] = set()
        self.refreshes = 0

    def refresh(self) -> None:
        self.refreshes += 1

    def is_read_only(self, path: Path) -> bool:
        if self.failing:
            raise NodeError("gone")
        return str(path) in self.read_only

    def changed(self) -> bool:
        return self.changes.pop() if self.changes else False

    def device_of(self, path: Path) -> str:
        if self.failing:
            raise NodeError("gone")
        self.asked.append(str(path))
        return self.moved.get(str(path), path.parts[1])


class Setup:
    def __init__(self, policy: Policy = Policy.STANDARD) -> None:
        self.mounts = Mounts()
        self.hanging: set[str] = set()
        self.flags: dict[str, int] = {}
        self.reader = LayoutReader(
            Path("/node/kubelet"), self.mounts, FilesystemReader(statvfs=self._statvfs), policy=policy
        )

    def _statvfs(self, path: str) -> os.statvfs_result:
        if path in self.hanging:
            raise OSError(5, "EIO")
        size = 1000 + len(path)
        return os.statvfs_result((1, 1, size, 400, 300, 500, 200, 200, self.flags.get(path, 0), 255))

    def read(self, info: ImageFsInfo | None, *, now: int = 99) -> tuple[FilesystemReadings, list[str]]:
        problems = Problems()
        found = self.reader.read(info, now, problems)
        return found, [row.source for row in problems.found()]


def usage(mountpoint: str) -> FilesystemUsage:
    return FilesystemUsage(time=5, mountpoint=mountpoint, used_bytes=77, inodes_used=7)


def info(images: str, containers: str = "") -> ImageFsInfo:
    return ImageFsInfo(
        image_filesystems=(usage(images),), container_filesystems=(usage(containers),) if containers else ()
    )


@pytest.mark.parametrize(
    ("told", "layout"),
    [
        (info("/node/images"), SINGLE),
        (info("/images/x"), DEDICATED),
        (info("/images/x", "/images/y"), DEDICATED),
        (info("/images/x", "/node/layers"), SPLIT),
        (info("/node/images", "/node/layers"), SINGLE),
        (info("/node/images", "/layers"), Filesystems(dedicated_image_fs=False, split_container_fs=True)),
    ],
)
def test_the_layout_follows_from_the_devices(told: ImageFsInfo, layout: Filesystems) -> None:
    found, problems = Setup().read(told)
    assert found.layout == layout
    assert problems == []


def test_split_numbers_are_those_of_the_containers_own_filesystem() -> None:
    found, _ = Setup().read(info("/images/x", "/node/long-name-of-layers"))
    assert found.image is not None
    assert found.container is not None
    assert found.container.capacity_bytes == 1000 + len("/node/long-name-of-layers")
    assert found.image.capacity_bytes == 1000 + len("/images/x")


def test_policy_kubelet_uses_imagefs_as_containerfs_and_the_runtimes_time() -> None:
    found, _ = Setup(Policy.KUBELET).read(info("/images/x", "/node/layers"))
    assert found.layout == DEDICATED
    assert found.container == found.image
    assert found.image is not None
    assert found.image.time == 5


def test_policy_standard_uses_the_cycles_time_and_the_runtimes_usage() -> None:
    found, _ = Setup().read(info("/images/x"))
    assert found.image is not None
    assert (found.image.time, found.image.used_bytes, found.image.inodes_used) == (99, 77, 7)
    assert found.image.available_bytes == 300
    assert found.node is not None
    assert found.node.used_bytes == 1000 + len("/node/kubelet") - 400


def test_devices_are_read_again_only_when_mounts_or_mount_points_change() -> None:
    setup = Setup()
    for _ in range(3):
        setup.read(info("/images/x"))
    assert len(setup.mounts.asked) == 2
    setup.mounts.changes, setup.mounts.moved = [True], {"/images/x": "node"}
    assert setup.read(info("/images/x"))[0].layout == SINGLE
    assert setup.read(info("/elsewhere/x"))[0].layout == DEDICATED
    assert len(setup.mounts.asked) == 6


def test_the_known_layout_is_kept_while_the_runtime_does_not_respond() -> None:
    setup = Setup()
    assert setup.read(None)[0].layout == UNKNOWN
    assert setup.read(info("/images/x"))[0].layout == DEDICATED
    silent, problems = setup.read(None)
    assert silent.layout == DEDICATED
    assert silent.image is silent.container is None
    assert problems == [], "the runtime itself is the problem"
    nothing = replace(info("/images/x"), image_filesystems=())
    found, problems = setup.read(nothing)
    assert (found.layout, problems) == (DEDICATED, ["imagefs"])


def test_a_failed_detection_is_a_problem_and_is_tried_again() -> None:
    setup = Setup()
    setup.mounts.failing = True
    found, problems = setup.read(info("/images/x"))
    assert (found.layout, problems) == (UNKNOWN, ["filesystem layout"])
    setup.mounts.failing = False
    assert setup.read(info("/images/x")) == (
        found.__class__(layout=DEDICATED, node=found.node, image=found.image, container=found.container),
        [],
    )


def test_the_device_of_a_hanging_filesystem_is_not_read() -> None:
    setup = Setup()
    setup.hanging.add("/images/x")
    found, problems = setup.read(info("/images/x"))
    assert (found.layout, found.image, problems) == (UNKNOWN, None, ["imagefs"])
    assert setup.mounts.asked == []
    assert found.node is not None


def test_a_filesystem_is_read_only_where_more_than_the_mount_of_it_is() -> None:
    """Evictd's own mounts may be permanently read-only; the mount table shows which, and is not read in each cycle."""
    setup = Setup()
    setup.flags = dict.fromkeys(("/node/kubelet", "/images/x"), os.ST_RDONLY)
    setup.mounts.read_only = {"/images/x"}
    found, problems = setup.read(info("/images/x"))
    assert problems == ["imagefs: read-only"]
    assert (found.node and found.node.read_only, found.image and found.image.read_only) == (False, True)
    setup.read(info("/images/x"), now=99 + 10 * SECOND - 1)
    assert setup.mounts.refreshes == 1
    setup.mounts.read_only = {"/node/kubelet"}
    found, problems = setup.read(info("/images/x"), now=99 + 10 * SECOND)
    assert setup.mounts.refreshes == 2
    assert (problems, found.node and found.node.read_only) == (["nodefs: read-only"], True)


def test_a_writable_mount_costs_no_reading_of_the_table_and_an_unreadable_table_no_signal() -> None:
    setup = Setup()
    setup.read(info("/images/x"))
    assert setup.mounts.refreshes == 0
    setup.flags = {"/node/kubelet": os.ST_RDONLY}
    setup.mounts.failing = True
    found, problems = setup.read(None)
    assert problems == ["nodefs: read-only"]
    assert found.node is not None
    assert not found.node.read_only


@pytest.mark.root
@pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
def test_mountinfo_distinguishes_a_read_only_mount_from_a_read_only_filesystem(tmp_path: Path) -> None:
    """A bind mount as the DaemonSet has it, then the remount that follows an error (`errors=remount-ro`)."""
    with mounted.tmpfs(tmp_path / "disk") as disk:
        plant(disk, {"kubelet": {}})
        subprocess.run(["mount", "--bind", disk / "kubelet", disk / "kubelet"], check=True)
        subprocess.run(["mount", "-o", "remount,bind,ro", disk / "kubelet"], check=True)
        assert os.statvfs(disk / "kubelet").f_flag & os.ST_RDONLY
        mounts, filesystems = MountTable(Path("/proc")), FilesystemReader()
        reader = LayoutReader(disk / "kubelet", mounts, filesystems, policy=Policy.STANDARD)

        def read(now: int) -> tuple[bool | None, tuple[str, ...]]:
            problems = Problems()
            node = reader.read(None, now, problems).node
            return None if node is None else node.read_only, tuple(row.source for row in problems.found())

        try:
            assert read(0) == (False, ())
            subprocess.run(["mount", "-o", "remount,ro", disk], check=True)
            assert read(10 * SECOND) == (True, ("nodefs: read-only",))
        finally:
            mounts.close()
            filesystems.close()


def test_a_real_single_filesystem(tmp_path: Path) -> None:
    plant(tmp_path, {"kubelet": {}, "images": {}})
    mounts, filesystems = MountTable(Path("/proc")), FilesystemReader()
    reader, problems = LayoutReader(tmp_path / "kubelet", mounts, filesystems, policy=Policy.STANDARD), Problems()
    found = reader.read(info(str(tmp_path / "images")), 1, problems)
    assert found.layout == SINGLE
    assert problems.found() == ()
    mounts.close()
    filesystems.close()
