"""Sums of a pod's requests and limits; every number is the specification's."""

from evictd.core.model.resources import Container, PodLevelResources, Resources, Volume, VolumeKind, pod_resources
from evictd.core.units.quantity import NANO, parse_quantity
from tests.playbook import empty_dir

GI = 2**30


def res(**amounts: str) -> Resources:
    """Resources by name; `storage` stands for ephemeral-storage."""
    return {name.replace("storage", "ephemeral-storage"): parse_quantity(text) for name, text in amounts.items()}


def container(name: str = "c", **requests: str) -> Container:
    """A container with requests."""
    return Container(name=name, requests=res(**requests))


def test_an_init_container_that_needs_more_than_the_rest_is_the_request() -> None:
    """2Gi+1Gi beside [sidecar 100Mi, init 5Gi]."""
    sidecar = Container(name="s", requests=res(memory="100Mi"), sidecar=True)
    totals = pod_resources((container(memory="2Gi"), container(memory="1Gi")), (sidecar, container(memory="5Gi")))
    assert totals.memory_request == 5473566720 * NANO


def test_overhead_is_added_where_there_is_a_request() -> None:
    """A resource without a request gets none."""
    totals = pod_resources((container(memory="100Mi"),), overhead=res(memory="50Mi", storage="1Mi"))
    assert totals.memory_request == 150 * 2**20 * NANO
    assert totals.storage_request == 0


def test_pod_level_resources_replace_the_memory_request() -> None:
    """A pod-level cpu request alone makes the memory request zero (docs/parity.md, row 15)."""
    members = (container(memory="100Mi", storage="1Gi"),)
    totals = pod_resources(members, level=PodLevelResources(requests=res(cpu="1")))
    assert totals.memory_request == 0
    assert totals.storage_request == GI * NANO
    assert totals.storage_request_as_kubelet == 0
    totals = pod_resources(members, level=PodLevelResources(requests=res(storage="9Gi")))
    assert totals == pod_resources(members), "ephemeral storage is not supported at pod level"
    totals = pod_resources(members, level=PodLevelResources(requests=res(memory="300Mi")))
    assert totals.memory_request == 300 * 2**20 * NANO


def test_the_storage_limit_sums_the_containers_that_have_one() -> None:
    """A container without a limit contributes nothing (docs/parity.md, row 22)."""
    limited = Container(name="a", limits=res(storage="1Gi"))
    totals = pod_resources((limited, limited, container("free")), overhead=res(storage="1Mi"))
    assert str(totals.storage_limit) == "2049Mi"
    assert pod_resources((container("free"),)).storage_limit is None


def test_a_pod_level_limit_stands_for_the_containers_and_zero_gets_no_overhead() -> None:
    """As the kubelet's `PodLimits`."""
    limited = Container(name="a", limits=res(storage="1Gi"))
    overhead = res(storage="1Mi")
    level = PodLevelResources(limits=res(storage="2Gi"))
    assert str(pod_resources((limited,), level=level, overhead=overhead).storage_limit) == "2049Mi"
    level = PodLevelResources(limits=res(storage="0"))
    assert str(pod_resources((limited,), level=level, overhead=overhead).storage_limit) == "0"


def test_a_pod_without_local_limits_has_none() -> None:
    """Then the check of local storage limits skips the pod."""
    assert pod_resources((container(memory="1Gi"),), volumes=[empty_dir("v")]).local_limits is None
    limited = Container(name="c", limits=res(storage="1500m"))
    limits = pod_resources((limited,), volumes=[empty_dir("v", size_limit="1Gi")]).local_limits
    assert limits is not None
    assert (limits.pod, dict(limits.containers), dict(limits.empty_dirs)) == (1, {"c": 1}, {"v": GI})


def test_the_volumes_on_the_node_s_disk_are_known_by_name() -> None:
    """The others are not counted when ranking."""
    volumes = [empty_dir("disk"), empty_dir("memory", medium="Memory"), Volume(name="etc", kind=VolumeKind.CONFIG_MAP)]
    assert pod_resources((), volumes=volumes).local_volumes == {"disk", "etc"}
