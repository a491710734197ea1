"""The calls about pods and containers on every available version of containerd."""

import pytest

from evictd.clients.cri.client import CriClient
from evictd.clients.cri.values import GRACE_PERIOD_ANNOTATION, POD_UID_LABEL, CriContainerStats, SandboxState
from evictd.core.gc.container_gc import ContainerState
from evictd.errors import (
    RuntimeNotFoundError,
    RuntimeRefusedError,
)
from evictd_testnode.disks import DiskKind, DiskRecipe
from evictd_testnode.images import PAUSE
from evictd_testnode.node import DisposableNode
from evictd_testnode.pods import CONFIG_SOURCE, IGNORE_TERM, ContainerRecipe, PodRecipe
from evictd_testnode.tool import wait_for
from tests.conftest import NodeFactory

pytestmark = [pytest.mark.root, pytest.mark.containerd]

DEAD = ContainerRecipe(name="dead", script="dd if=/dev/zero of=/junk bs=1M count=2; exit 3")


def is_old(node: DisposableNode) -> bool:
    return node.client.version().runtime_version.startswith("1.6")


def is_exited(client: CriClient, container_id: str) -> bool:
    return client.container_status(container_id).state is ContainerState.EXITED


def test_version_and_configuration(each_node: DisposableNode) -> None:
    assert each_node.client.version().runtime_name == "containerd"


def test_a_sandbox_and_its_status(each_node: DisposableNode) -> None:
    pod = each_node.run_pod(PodRecipe(name="web", namespace="team", labels={"app": "web"}))
    (row,) = each_node.client.list_sandboxes()
    assert (row.id, row.name, row.namespace, row.uid) == (pod.sandbox_id, "web", "team", pod.uid)
    assert row.state is SandboxState.READY
    assert row.labels["app"] == "web"
    assert row.labels[POD_UID_LABEL] == pod.uid
    assert row.annotations[CONFIG_SOURCE] == "api"
    status = each_node.client.sandbox_status(pod.sandbox_id, verbose=True)
    assert status.created_at == row.created_at
    assert status.cgroups_path == f"{pod.cgroup_parent}/{pod.sandbox_id}"
    assert each_node.client.sandbox_status(pod.sandbox_id).cgroups_path is None


def test_the_images_in_use(each_node: DisposableNode) -> None:
    pod = each_node.run_pod(PodRecipe(name="web"))
    client = each_node.client
    if client.version().runtime_version.startswith("2."):  # it does not report its image, but pins it
        assert client.sandbox_image() == ""
        assert [image.repo_tags for image in client.list_images() if image.pinned] == [(PAUSE,)]
    else:
        assert client.sandbox_image() == PAUSE
    assert each_node.client.image_of_sandbox(pod.sandbox_id) == PAUSE
    assert each_node.client.mounted_images(pod.container_id) == frozenset()
    with pytest.raises(RuntimeNotFoundError):
        each_node.client.mounted_images("0" * 64)


def test_a_container_and_its_status(each_node: DisposableNode) -> None:
    recipe = ContainerRecipe(name="main", limits={"memory": "64Mi"})
    pod = each_node.run_pod(PodRecipe(name="web", containers=(recipe, DEAD), grace_period_seconds=7))
    rows = {row.name: row for row in each_node.client.list_containers()}
    assert rows["main"].id == pod.containers["main"]
    assert rows["main"].sandbox_id == pod.sandbox_id
    assert rows["main"].state is ContainerState.RUNNING
    assert rows["main"].image_ref.startswith("sha256:")
    assert (rows["main"].pod_uid, rows["main"].container_name) == (pod.uid, "main")
    status = each_node.client.container_status(pod.containers["main"], verbose=True)
    assert status.resources is not None
    assert status.resources.memory_limit_bytes == 64 << 20
    assert status.resources.oom_score_adj is not None
    assert status.cgroups_path == f"{pod.cgroup_parent}/{pod.containers['main']}"
    assert rows["main"].annotations == {GRACE_PERIOD_ANNOTATION: "7"}
    dead = pod.containers["dead"]
    assert wait_for(lambda: is_exited(each_node.client, dead))
    ended = each_node.client.container_status(dead)
    assert (ended.exit_code, ended.reason) == (3, "Error")
    assert ended.created_at <= ended.finished_at  # it may be stamped as started after that


def test_an_exited_container_has_statistics_of_its_writable_layer_only(each_node: DisposableNode) -> None:
    pod = each_node.run_pod(PodRecipe(name="web", containers=(ContainerRecipe(), DEAD)))

    def stats() -> dict[str, CriContainerStats]:
        return {row.name: row for row in each_node.client.list_container_stats()}

    def layer_bytes() -> int:
        layer = stats()["dead"].writable_layer
        return (layer and layer.used_bytes) or 0

    assert wait_for(lambda: is_exited(each_node.client, pod.containers["dead"]))
    assert wait_for(lambda: layer_bytes() >= 2 << 20), "the layer's size is not known, or too small"
    rows = stats()
    assert rows["dead"].memory is None
    running = rows["main"].memory
    assert running is not None
    assert running.working_set_bytes


def test_stopping_and_removing_something_missing_succeeds(each_node: DisposableNode) -> None:
    client = each_node.client
    client.stop_container("absent", 1)
    client.stop_sandbox("absent")
    client.remove_container("absent")
    client.remove_sandbox("absent")
    with pytest.raises(RuntimeNotFoundError, match="ContainerStatus absent: NOT_FOUND"):
        client.container_status("absent")
    if is_old(each_node):  # the newer one has nothing against it
        with pytest.raises(RuntimeNotFoundError, match="StopContainer absent"):
            client.begin_stop_container("absent", 1).result()


def test_the_grace_comes_on_top_of_the_calls_own_deadline(each_node: DisposableNode) -> None:
    pod = each_node.run_pod(PodRecipe(name="slow", containers=(ContainerRecipe(script=IGNORE_TERM),)))
    with CriClient(each_node.endpoint, timeout_seconds=10) as client:
        client.stop_container(pod.container_id, 11)
    assert is_exited(each_node.client, pod.container_id)


def test_a_running_container_and_a_ready_sandbox_can_be_removed(each_node: DisposableNode) -> None:
    pod = each_node.run_pod(PodRecipe(name="web"))
    each_node.client.remove_container(pod.container_id)
    assert each_node.client.list_containers() == ()
    each_node.client.remove_sandbox(pod.sandbox_id)
    assert each_node.client.list_sandboxes() == ()


@pytest.mark.parametrize("version", ["binaries", "newer_binaries"])
def test_removal_on_a_full_xfs_ends(version: str, make_node: NodeFactory, request: pytest.FixtureRequest) -> None:
    """The first removal fails for lack of space; containerd 1.6 then lists a container that it cannot find."""
    disk = DiskRecipe(kind=DiskKind.XFS, size_bytes=320 << 20)
    node = make_node(image_disk=disk, binaries=request.getfixturevalue(version))
    fill = "dd if=/dev/zero of=/fill bs=64k; dd if=/dev/zero of=/rest bs=512; echo full; sleep 10000"
    pod = node.run_pod(PodRecipe(name="hog", containers=(DEAD,)))
    dead = pod.containers["dead"]
    # An exit on a full disk is not noted, and what counts as running is not removed.
    assert wait_for(lambda: is_exited(node.client, dead), seconds=60)
    node.run_container(pod, ContainerRecipe(name="filler", script=fill))
    assert wait_for(lambda: "full" in pod.log("filler"), seconds=60)
    errors: list[str] = []

    def is_removed() -> bool:
        try:
            node.client.remove_container(dead)
        except RuntimeRefusedError as error:
            errors.append(str(error))
            return False
        return True

    assert wait_for(is_removed), errors
    assert all(error.endswith("no space left on device") for error in errors)
    listed = dead in {row.id for row in node.client.list_containers()}
    assert not listed or is_old(node)
