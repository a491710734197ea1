"""The three layouts, and whose numbers they are."""

import os
from dataclasses import replace
from pathlib import Path

import pytest

from evictd.clients.cri.values import FilesystemUsage, ImageFsInfo
from evictd.core.config import Policy
from evictd.core.observation import Filesystems
from evictd.errors import NodeError
from evictd.observe.filesystem import FilesystemReader
from evictd.observe.findings import Problems
from evictd.observe.layout import FilesystemReadings, LayoutReader
from evictd.observe.mounts import MountTable
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
        self.reader = LayoutReader(
            Path("/node/kubelet"), self.mounts, FilesystemReader(statvfs=self._statvfs), policy=policy
        )

    def _statvfs(self, path: str) -> os.statvfs_result:
        if path in self.hanging:
            raise OSError(5, "EIO")
        size = 1000 + len(path)
        return os.statvfs_result((1, 1, size, 400, 300, 500, 200, 200, 0, 255))

    def read(self, info: ImageFsInfo | None, *, has_runtime: bool = True) -> tuple[FilesystemReadings, list[str]]:
        problems = Problems()
        found = self.reader.read(info, 99, problems, has_runtime=has_runtime)
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
def test_the_layout_is_told_by_the_devices(told: ImageFsInfo, layout: Filesystems) -> None:
    found, problems = Setup().read(told)
    assert found.layout == layout
    assert problems == []


def test_split_numbers_are_those_of_the_containers_own_filesystem() -> None:
    found, _ = Setup().read(info("/images/x", "/node/long-name-of-layers"))
    assert found.image is not None
    assert found.container is not None
    assert found.container.capacity_bytes == 1000 + len("/node/long-name-of-layers")
    assert found.image.capacity_bytes == 1000 + len("/images/x")


def test_the_kubelet_takes_containerfs_for_imagefs_and_believes_the_runtimes_time() -> None:
    found, _ = Setup(Policy.KUBELET).read(info("/images/x", "/node/layers"))
    assert found.layout == DEDICATED
    assert found.container == found.image
    assert found.image is not None
    assert found.image.time == 5


def test_our_own_numbers_carry_our_own_time_and_the_runtimes_usage() -> None:
    found, _ = Setup().read(info("/images/x"))
    assert found.image is not None
    assert (found.image.time, found.image.used_bytes, found.image.inodes_used) == (99, 77, 7)
    assert found.image.available_bytes == 300
    assert found.node is not None
    assert found.node.used_bytes == 1000 + len("/node/kubelet") - 400


def test_devices_are_asked_for_again_only_when_mounts_or_places_change() -> None:
    setup = Setup()
    for _ in range(3):
        setup.read(info("/images/x"))
    assert len(setup.mounts.asked) == 2
    setup.mounts.changes, setup.mounts.moved = [True], {"/images/x": "node"}
    assert setup.read(info("/images/x"))[0].layout == SINGLE
    assert setup.read(info("/elsewhere/x"))[0].layout == DEDICATED
    assert len(setup.mounts.asked) == 6


def test_what_is_known_holds_while_the_runtime_is_silent() -> None:
    setup = Setup()
    assert setup.read(None)[0].layout == UNKNOWN
    assert setup.read(info("/images/x"))[0].layout == DEDICATED
    silent, problems = setup.read(None)
    assert silent.layout == DEDICATED
    assert silent.image is silent.container is None
    assert problems == ["imagefs"]
    nothing = replace(info("/images/x"), image_filesystems=())
    assert setup.read(nothing)[0].layout == DEDICATED


def test_a_node_without_a_runtime_has_one_filesystem() -> None:
    found, problems = Setup().read(None, has_runtime=False)
    assert found.layout == SINGLE
    assert found.node is not None
    assert problems == []


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


def test_a_filesystem_that_does_not_answer_is_not_asked_for_its_device() -> None:
    setup = Setup()
    setup.hanging.add("/images/x")
    found, problems = setup.read(info("/images/x"))
    assert (found.layout, found.image, problems) == (UNKNOWN, None, ["imagefs"])
    assert setup.mounts.asked == []
    assert found.node is not None


def test_a_real_single_filesystem(tmp_path: Path) -> None:
    plant(tmp_path, {"kubelet": {}, "images": {}})
    mounts, filesystems = MountTable(Path("/proc")), FilesystemReader()
    reader, problems = LayoutReader(tmp_path / "kubelet", mounts, filesystems, policy=Policy.STANDARD), Problems()
    found = reader.read(info(str(tmp_path / "images")), 1, problems, has_runtime=True)
    assert found.layout == SINGLE
    assert problems.found() == ()
    mounts.close()
    filesystems.close()
