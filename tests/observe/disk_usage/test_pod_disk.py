"""What of a pod is measured on disk, and what counts."""

from dataclasses import replace

from evictd.core.model.pod import Pod
from evictd.core.model.resources import Container, Volume, VolumeKind
from evictd.core.model.stats import DiskUsage
from evictd.observe.disk_usage.pod_disk import PodDisk, disk_request, is_local_ephemeral, larger_of


def test_a_request_names_what_the_kubelet_measures() -> None:
    kinds = (*VolumeKind,)
    pod = Pod(
        name="web",
        namespace="ns",
        uid="u1",
        containers=(Container(name="main"),),
        init_containers=(Container(name="init"),),
        volumes=tuple(Volume(name=kind.value, kind=kind) for kind in kinds),
    )
    made = disk_request(pod)
    assert made.containers == ("init", "main")
    assert dict(made.volumes) == {
        "kubernetes.io~empty-dir": "emptyDir",
        "kubernetes.io~configmap": "configMap",
        "kubernetes.io~secret": "secret",
        "kubernetes.io~projected": "projected",
        "kubernetes.io~downward-api": "downwardAPI",
    }
    assert made.full_name == "ns/web"


def test_quotas_count_only_for_a_pod_that_cannot_change_its_project() -> None:
    """Root in the node's user namespace can move its files to another project; what is not known of a pod counts as that."""
    pod = Pod(name="web", namespace="ns", uid="u1")
    assert not disk_request(pod).quotas
    assert disk_request(replace(pod, host_users=False)).quotas


def test_what_counts_against_the_pods_ephemeral_storage() -> None:
    counted = {kind for kind in VolumeKind if is_local_ephemeral(Volume(name="v", kind=kind))}
    assert counted == {VolumeKind.EMPTY_DIR, VolumeKind.CONFIG_MAP, VolumeKind.GIT_REPO}
    assert not is_local_ephemeral(Volume(name="v", kind=VolumeKind.EMPTY_DIR, medium="Memory"))


def test_a_result_is_raised_to_what_was_counted_since() -> None:
    known = PodDisk(time=5, volumes={"a": DiskUsage(10, 9), "b": DiskUsage(1, 1)}, etc_hosts=DiskUsage(4096, 1))
    counted = PodDisk(time=None, volumes={"a": DiskUsage(20, 3)}, logs={"main": DiskUsage(7, 7)}, at_least=True)
    assert known.raised(counted) == PodDisk(
        time=5,
        volumes={"a": DiskUsage(20, 9), "b": DiskUsage(1, 1)},
        logs={"main": DiskUsage(7, 7)},
        etc_hosts=DiskUsage(4096, 1),
        at_least=True,
    )
    assert known.raised(PodDisk(time=None, volumes={"a": DiskUsage(9, 9)}, at_least=True)) == known


def test_of_two_measurements_an_amount_that_neither_has_stays_unknown() -> None:
    """A runtime may report bytes alone."""
    assert larger_of(DiskUsage(10, None), DiskUsage(20, None)) == DiskUsage(20, None)
    assert larger_of(DiskUsage(10, None), DiskUsage(5, 3)) == DiskUsage(10, 3)
