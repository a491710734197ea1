"""CRI-O with its store on a disk of its own, and with images and writable layers on two (the split image filesystem)."""

import pytest

from evictd_testnode.disks import DiskKind, DiskRecipe
from evictd_testnode.images import BUSYBOX, PAUSE, ImageRecipe
from evictd_testnode.pods import ContainerRecipe, PodRecipe, VolumeRecipe
from tests.conftest import NodeFactory
from tests.crio.runtime import PrivateCrio, SplitCrio
from tests.e2e.story import Story, writes

pytestmark = [pytest.mark.root, pytest.mark.containerd, pytest.mark.crio]

DISK = DiskRecipe(kind=DiskKind.EXT4, size_bytes=96 << 20, inodes=12_000)
"""A loop device."""
DATA = (VolumeRecipe(name="data"),)
UNUSED = ImageRecipe(reference="localhost/unused:1", padding_bytes=30 << 20)
SHORT = {"evictionHard": {"imagefs.available": "50Mi"}, "imageMinimumGCAge": "100ms"}
BALLAST = 12 << 20
"""Bytes after which less than that is left beside an image of 30 MiB."""
LAYOUTS = pytest.mark.parametrize("runtime", [PrivateCrio, SplitCrio], ids=["dedicated", "split"])


@LAYOUTS
def test_a_full_disk_of_images_loses_unused_images_and_no_pod(
    make_node: NodeFactory, runtime: type[PrivateCrio]
) -> None:
    """Only images lie on it in the split layout; in the other one no pod has written much."""
    node = make_node(node_disk=DISK, image_disk=DISK, images=[UNUSED], runtime=runtime)
    with Story(node, SHORT) as story:
        story.pod("innocent", writes("/data", 5), volumes=DATA)
        assert len(story.images()) == 3
        (node.folder / "images/ballast").write_bytes(bytes(BALLAST))
        story.until_condition("DiskPressure")
        story.until(lambda: story.images() == {BUSYBOX, PAUSE}, "the unused image is gone")
        story.until_calm("DiskPressure")
        story.verify(evicted=[], innocent=["innocent"])


@pytest.mark.parametrize(
    ("runtime", "signal"),
    [(PrivateCrio, "imagefs.available"), (SplitCrio, "nodefs.available")],
    ids=["dedicated", "split"],
)
def test_the_pod_that_fills_the_disk_of_the_writable_layers_goes(
    make_node: NodeFactory, runtime: type[PrivateCrio], signal: str
) -> None:
    """It lies with the images, or on the node's own disk; a pod with a larger volume on the other disk, or less on it, stays."""
    node = make_node(node_disk=DISK, image_disk=DISK, runtime=runtime)
    with Story(node, {"evictionHard": {signal: "50Mi"}}) as story:
        volume = 30 if runtime is PrivateCrio else 5
        story.pod("innocent", writes("/data", volume, pause=0), volumes=DATA)
        story.until(
            lambda: story.pods["innocent"].volumes["data"].joinpath(f"f{volume - 1}").exists(), "it has written"
        )
        story.pod("writer", writes("", 200))
        story.until_condition("DiskPressure")
        story.until_evicted("writer")
        story.until_calm("DiskPressure")
        story.verify(evicted=["writer"], innocent=["innocent"], starved="ephemeral-storage")


def test_where_images_in_use_fill_a_disk_of_their_own_no_pod_goes(make_node: NodeFactory) -> None:
    """In the split layout pods hold nothing of it, whatever they write, so no eviction would free any of it."""
    used = ImageRecipe(reference="localhost/used:1", padding_bytes=30 << 20)
    node = make_node(node_disk=DISK, image_disk=DISK, images=[used], runtime=SplitCrio)
    with Story(node, SHORT) as story:
        container = ContainerRecipe(name="main", script=writes("", 20, pause=0), image="localhost/used:1")
        story.pods["user"] = node.run_pod(PodRecipe(name="user", containers=(container,)))
        (node.folder / "images/ballast").write_bytes(bytes(BALLAST))
        story.until_condition("DiskPressure")
        story.until(lambda: "NothingHelps" in story.log(), "it is said that no eviction would help")
        assert story.evicted() == []
        assert story.running() == {"user"}
        assert "localhost/used:1" in story.images()
