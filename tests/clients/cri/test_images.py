"""The calls about images on every available version of containerd."""

import os
import time

import pytest

from evictd.core.gc.container_gc import ContainerState
from evictd.errors import RuntimeNotFoundError
from evictd_testnode.images import PAUSE, ImageRecipe
from evictd_testnode.node import DisposableNode
from evictd_testnode.pods import ContainerRecipe, PodRecipe
from evictd_testnode.tool import wait_for

pytestmark = [pytest.mark.root, pytest.mark.containerd]

APP = ImageRecipe(reference="localhost/app:1", padding_bytes=3 << 20, files=50)


@pytest.fixture
def app(each_node: DisposableNode) -> str:
    each_node.import_images([APP])
    return APP.reference


def free_bytes(node: DisposableNode) -> int:
    found = os.statvfs(node.containerd.root)
    return found.f_bavail * found.f_frsize


def test_an_image_in_the_list_and_alone(each_node: DisposableNode, app: str) -> None:
    image = each_node.client.image_status(app)
    assert image in each_node.client.list_images()
    assert image is not None
    assert image.repo_tags == (app,)
    assert image.size_bytes > APP.padding_bytes
    assert each_node.client.image_status(image.id) == image


def test_only_the_newer_containerd_pins_the_sandbox_image(each_node: DisposableNode) -> None:
    pause = each_node.client.image_status(PAUSE)
    assert pause is not None
    assert pause.pinned is not each_node.client.version().runtime_version.startswith("1.6")


def test_an_image_that_is_not_there(each_node: DisposableNode) -> None:
    assert each_node.client.image_status("localhost/absent:1") is None
    each_node.client.remove_image("localhost/absent:1")


def test_removal_takes_all_tags_and_frees_the_space_at_once(each_node: DisposableNode, app: str) -> None:
    each_node.containerd.ctr("images", "tag", app, "localhost/app:latest")
    assert wait_for(lambda: len(getattr(each_node.client.image_status(app), "repo_tags", ())) == 2)
    before = free_bytes(each_node)
    each_node.client.remove_image(app)
    assert free_bytes(each_node) - before >= APP.padding_bytes
    assert each_node.client.image_status("localhost/app:latest") is None


def test_an_image_in_use_is_removed_when_the_runtime_is_asked_to(each_node: DisposableNode, app: str) -> None:
    """That is why evictd itself must know what is in use."""
    pod = each_node.run_pod(PodRecipe(name="user", containers=(ContainerRecipe(image=app),)))
    each_node.client.remove_image(app)
    assert each_node.client.image_status(app) is None
    status = each_node.client.container_status(pod.container_id)
    assert (status.state, status.image) == (ContainerState.RUNNING, app)
    with pytest.raises(RuntimeNotFoundError, match="CreateContainer again"):
        each_node.run_container(pod, ContainerRecipe(name="again", image=app))


def test_where_images_live(each_node: DisposableNode) -> None:
    def usage() -> int | None:
        return each_node.client.image_fs_info().image_filesystems[0].used_bytes

    assert wait_for(lambda: (usage() or 0) > 0)
    info = each_node.client.image_fs_info()
    (filesystem,) = info.image_filesystems
    assert filesystem.mountpoint.startswith(str(each_node.containerd.root))
    assert filesystem.inodes_used
    assert abs(filesystem.time - time.time_ns()) < 60e9
    assert info.container_filesystems == ()
