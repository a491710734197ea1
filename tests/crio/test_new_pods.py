"""Pods with an image as a volume, and with a user namespace of their own."""

import pytest

from evictd_testnode.disks import DiskKind, DiskRecipe
from evictd_testnode.images import BUSYBOX, PAUSE, ImageRecipe
from evictd_testnode.pods import READY, WAIT_FOR_TERM, ContainerRecipe, PodRecipe, VolumeRecipe
from tests.conftest import NodeFactory
from tests.e2e.story import OBEDIENT, Story, writes

pytestmark = [pytest.mark.root, pytest.mark.containerd, pytest.mark.crio]

DISK = DiskRecipe(kind=DiskKind.EXT4, size_bytes=96 << 20, inodes=12_000)
"""A loop device."""
UNUSED = ImageRecipe(reference="localhost/unused:1", padding_bytes=30 << 20)
MODEL = ImageRecipe(reference="localhost/model:1", padding_bytes=1 << 20)
BALLAST = 12 << 20
"""Bytes after which less than the threshold is left."""


def test_an_image_that_a_container_mounts_as_a_volume_is_not_removed(make_node: NodeFactory) -> None:
    """No container was made from it, and a listing of containers does not name it."""
    node = make_node(node_disk=DISK, image_disk=DISK, images=[UNUSED, MODEL])
    with Story(node, {"evictionHard": {"imagefs.available": "50Mi"}, "imageMinimumGCAge": "100ms"}) as story:
        container = ContainerRecipe(script=WAIT_FOR_TERM, image_volumes={"/model": MODEL.reference})
        story.pods["user"] = node.run_pod(PodRecipe(name="user", containers=(container,)))
        assert story.images() == {BUSYBOX, PAUSE, UNUSED.reference, MODEL.reference}
        (node.folder / "images/ballast").write_bytes(bytes(BALLAST))
        story.until(lambda: UNUSED.reference not in story.images(), "the unused image is gone")
        story.until_calm("DiskPressure")
        assert story.images() == {BUSYBOX, PAUSE, MODEL.reference}
        assert "RemoveImage" not in story.log(), "CRI-O refuses to remove it, which would be an error in each cycle"
        story.verify(evicted=[], innocent=["user"])


def test_a_pod_with_a_user_namespace_is_measured_and_stopped(make_node: NodeFactory) -> None:
    """Its processes and files have other ids on the node."""
    node = make_node(node_disk=DISK, image_disk=DISK)
    with Story(node, {"evictionHard": {"imagefs.available": "50Mi"}}) as story:
        story.pod("innocent", writes("", 5, pause=0))
        wait = "until [ -e /start/now ]; do sleep 0.1; done"
        script = f"cat /proc/self/uid_map; {writes('', 200, how=f'{OBEDIENT}{READY}; {wait}; ')}"
        volumes = (VolumeRecipe(name="start"),)
        pod = node.run_pod(
            PodRecipe(name="writer", containers=(ContainerRecipe(script=script),), volumes=volumes, host_users=False)
        )
        story.pods["writer"] = pod
        assert pod.log().splitlines()[0].split()[-3:-1] == ["0", "65536"]
        (pod.volumes["start"] / "now").touch()  # not before: evictd removes the log of an evicted pod's container
        story.until_evicted("writer")
        story.until_calm("DiskPressure")
        story.verify(evicted=["writer"], innocent=["innocent"], starved="ephemeral-storage")
