"""A disposable node: its layouts, its folders, its pods, and nothing of it afterwards."""

import json
import os
from pathlib import Path
from tempfile import gettempdir

import pytest

from evictd.clients.cri.client import CriClient
from evictd.core.gc.container_gc import ContainerState
from evictd.errors import NodeError, RuntimeNotFoundError, RuntimeRefusedError
from evictd_testnode.cgroups import group, pids_of
from evictd_testnode.disks import DiskKind, DiskRecipe
from evictd_testnode.images import PAUSE, ImageRecipe
from evictd_testnode.node import DisposableNode
from evictd_testnode.pods import ContainerRecipe, PodRecipe, VolumeRecipe
from evictd_testnode.sweep import PREFIX, leftovers
from evictd_testnode.tool import wait_for
from tests.conftest import NodeFactory
from tests.split_runtime import split_runtime

pytestmark = [pytest.mark.root, pytest.mark.containerd]

WRITER = ContainerRecipe(
    script="echo kept >/data/file; echo lost >/mem/file; echo written; sleep 1000",
    requests={"memory": "8Mi"},
    limits={"memory": "32Mi"},
)
VOLUMES = (VolumeRecipe(name="data", size_limit="1Mi"), VolumeRecipe(name="mem", medium="Memory"))


def device(path: str | Path) -> int:
    return Path(path).stat().st_dev


def test_a_pod_with_volumes_limits_logs_and_a_manifest(node: DisposableNode) -> None:
    pod = node.run_pod(PodRecipe(name="web", namespace="team", containers=(WRITER,), volumes=VOLUMES, priority=5))
    assert wait_for(lambda: "written" in pod.log())
    assert (pod.volumes["data"] / "file").read_text() == "kept\n"
    assert (pod.volumes["mem"] / "file").read_text() == "lost\n"
    assert device(pod.volumes["mem"]) != device(pod.volumes["data"]) == device(node.kubelet_folder)
    assert pod.volumes["data"] == node.kubelet_folder / f"pods/{pod.uid}/volumes/kubernetes.io~empty-dir/data"
    assert pod.log_directory == node.log_folder / f"team_web_{pod.uid}"
    assert pod.cgroup_parent == f"{node.cgroup}/kubepods/burstable/pod{pod.uid}"
    assert len(pids_of(pod.cgroup_parent)) >= 2  # the pause process is one of them
    assert (group("memory", pod.cgroup_parent) / pod.container_id).is_dir()
    written = json.loads((node.manifests / "team_web.json").read_text())
    assert written["metadata"]["uid"] == pod.uid
    assert written["spec"]["priority"] == 5
    node.remove_pod(pod)
    assert list(node.manifests.iterdir()) == []
    assert node.client.list_containers() == ()


def test_removing_all_pods_removes_their_volumes(node: DisposableNode) -> None:
    pod = node.run_pod(PodRecipe(name="web", containers=(WRITER,), volumes=VOLUMES))
    assert wait_for(lambda: "written" in pod.log())
    node.remove_all_pods()
    assert node.client.list_sandboxes() == ()
    assert list((node.kubelet_folder / "pods").iterdir()) == []


def test_a_container_started_again_has_a_higher_attempt_and_its_own_log(node: DisposableNode) -> None:
    once = ContainerRecipe(script="echo was here")
    pod = node.run_pod(PodRecipe(name="web", containers=(once,)))
    again = node.run_container(pod, once, attempt=1)
    assert wait_for(lambda: "was here" in pod.log(attempt=1))
    assert node.client.container_status(again).attempt == 1
    assert wait_for(lambda: {row.state for row in node.client.list_containers()} == {ContainerState.EXITED})


@pytest.mark.parametrize("kind", list(DiskKind))
def test_the_single_layout(make_node: NodeFactory, kind: DiskKind) -> None:
    node = make_node(node_disk=DiskRecipe(kind=kind, size_bytes=320 << 20 if kind is DiskKind.XFS else 64 << 20))
    assert device(node.containerd.root) == device(node.kubelet_folder) == device(node.log_folder)
    assert device(node.kubelet_folder) != device(node.manifests)
    (images,) = node.client.image_fs_info().image_filesystems
    assert device(images.mountpoint) == device(node.kubelet_folder)


def test_the_dedicated_layout(node: DisposableNode) -> None:
    (images,) = node.client.image_fs_info().image_filesystems
    assert device(images.mountpoint) == device(node.containerd.root) != device(node.kubelet_folder)


def test_the_split_layout_through_a_proxy(make_node: NodeFactory) -> None:
    image = ImageRecipe(reference="localhost/app:1", padding_bytes=4 << 20)
    node = make_node(node_disk=DiskRecipe(), content_disk=DiskRecipe(), images=(image,))
    with split_runtime(node) as endpoint, CriClient(endpoint) as client:
        info = client.image_fs_info()
        ((images,), (containers,)) = info.image_filesystems, info.container_filesystems
        assert device(containers.mountpoint) == device(node.kubelet_folder) != device(images.mountpoint)
        assert set(client.list_images()) == set(node.client.list_images())
        client.remove_image(image.reference)
        (after,) = client.image_fs_info().image_filesystems
        assert images.used_bytes is not None
        assert after.used_bytes is not None
        assert images.used_bytes - after.used_bytes >= image.padding_bytes
        with pytest.raises(RuntimeNotFoundError):
            client.container_status("absent")


def test_a_full_image_disk_takes_no_new_pod_but_answers_everything_else(make_node: NodeFactory) -> None:
    node = make_node(image_disk=DiskRecipe(kind=DiskKind.EXT4, size_bytes=64 << 20))
    fill = "dd if=/dev/zero of=/fill bs=64k; dd if=/dev/zero of=/rest bs=512; echo full; sleep 1000"
    pod = node.run_pod(PodRecipe(name="filler", containers=(ContainerRecipe(script=fill),)))
    assert wait_for(lambda: "full" in pod.log(), seconds=60)
    with pytest.raises(RuntimeRefusedError, match="no space left on device"):
        node.run_pod(PodRecipe(name="newcomer"))
    client = node.client
    assert client.list_images()
    assert client.list_container_stats()
    assert client.list_sandboxes()
    assert client.image_fs_info().image_filesystems


def test_a_node_with_limits_and_images_of_its_own(make_node: NodeFactory) -> None:
    image = ImageRecipe(reference="localhost/app:1", padding_bytes=1 << 20)
    node = make_node(images=(image,), memory_bytes=256 << 20, pids=200)
    assert {tag for each in node.client.list_images() for tag in each.repo_tags} >= {PAUSE, "localhost/app:1"}
    assert (group("pids", node.cgroup) / "pids.max").read_text().strip() == "200"
    pod = node.run_pod(PodRecipe(name="web", containers=(ContainerRecipe(image="localhost/app:1"),)))
    assert node.client.container_status(pod.container_id).state is ContainerState.RUNNING


def test_nothing_is_left_of_a_node_with_running_pods(make_node: NodeFactory) -> None:
    node = make_node(node_disk=DiskRecipe(kind=DiskKind.EXT4), image_disk=DiskRecipe())
    node.run_pod(PodRecipe(name="web", volumes=VOLUMES))
    found = "\n".join(leftovers(node.folder))
    for kind in ("process", "mount", "loop device", "cgroup", "folder"):
        assert kind in found
    node.teardown()
    assert leftovers(node.folder) == []
    node.teardown()


def test_a_node_that_cannot_be_built_leaves_nothing(make_node: NodeFactory) -> None:
    def own_folders() -> set[Path]:
        return set(Path(gettempdir()).glob(f"{PREFIX}{os.getpid()}-*"))

    before = own_folders()
    with pytest.raises(NodeError, match=r"mkfs\.ext4"):
        make_node(node_disk=DiskRecipe(kind=DiskKind.EXT4, size_bytes=1 << 10))
    assert own_folders() == before
