"""Requests, limits, classes and who is critical; every number is the specification's."""

from typing import Any

import pytest

from evictd.core.pod import (
    Container,
    Pod,
    PodLevelResources,
    PodSource,
    QOSClass,
    Resources,
    aggregate,
    compute_qos_class,
    has_pod_level_resources,
    pod_limit,
)
from evictd.core.quantity import NANO, parse_quantity
from tests.playbook import empty_dir, pod


def res(**amounts: str) -> Resources:
    """Resources by name; `storage` stands for ephemeral-storage."""
    return {name.replace("storage", "ephemeral-storage"): parse_quantity(text) for name, text in amounts.items()}


def container(name: str = "c", *, sidecar: bool = False, **requests: str) -> Container:
    """A container with requests."""
    return Container(name=name, requests=res(**requests), sidecar=sidecar)


def with_containers(containers: list[Container], init: list[Container] | None = None, **more: Any) -> Pod:
    """A pod of these."""
    return pod("p", containers=tuple(containers), init_containers=tuple(init or ()), **more)


def test_init_containers_count_by_what_runs_beside_them() -> None:
    """2Gi+1Gi beside [sidecar 100Mi, init 5Gi]: the init container with the sidecar is the peak."""
    one = with_containers(
        [container(memory="2Gi"), container(memory="1Gi")],
        [container(sidecar=True, memory="100Mi"), container(memory="5Gi")],
    )
    assert one.accounts.memory_request == 5473566720 * NANO


def test_a_sidecar_started_later_is_not_beside_an_earlier_init_container() -> None:
    """[init 5Gi, sidecar 4Gi, init 2Gi] with 100Mi: 6Gi."""
    one = with_containers(
        [container(memory="100Mi")],
        [container(memory="5Gi"), container(sidecar=True, memory="4Gi"), container(memory="2Gi")],
    )
    assert one.accounts.memory_request == 6 * 2**30 * NANO


def test_only_what_is_mentioned_is_in_the_sum() -> None:
    """A resource that nobody names does not exist."""
    assert aggregate((container(memory="1Mi"),), (), lambda c: c.limits) == {}


def test_overhead_is_added_where_there_is_a_request() -> None:
    """And nowhere else."""
    overhead = res(memory="50Mi", storage="1Mi")
    one = with_containers([container(memory="100Mi")], overhead=overhead)
    assert one.accounts.memory_request == 150 * 2**20 * NANO
    assert one.accounts.storage_request == 0


def test_pod_level_resources_replace_the_memory_request() -> None:
    """A pod-level cpu request alone makes the memory request zero (spec 14, point 15)."""
    level = PodLevelResources(requests=res(cpu="1"))
    one = with_containers([container(memory="100Mi", storage="1Gi")], resources=level)
    assert one.accounts.memory_request == 0
    assert one.accounts.storage_request == 2**30 * NANO
    assert one.accounts.storage_request_as_kubelet == 0
    level = PodLevelResources(requests=res(memory="300Mi"))
    assert with_containers([container(memory="100Mi")], resources=level).accounts.memory_request == 300 * 2**20 * NANO


@pytest.mark.parametrize(
    ("resources", "present"),
    [
        (None, False),
        ({}, False),
        ({"memory": "1"}, True),
        ({"hugepages-2Mi": "1"}, True),
        ({"ephemeral-storage": "1"}, False),
    ],
)
def test_pod_level_resources_are_cpu_memory_and_huge_pages(resources: dict[str, str] | None, present: bool) -> None:
    """`IsPodLevelResourcesSet`."""
    level = (
        None if resources is None else PodLevelResources(limits={k: parse_quantity(v) for k, v in resources.items()})
    )
    assert has_pod_level_resources(pod("p", resources=level)) is present


def test_the_storage_limit_sums_the_containers_that_have_one() -> None:
    """A container without a limit contributes nothing (spec 14, point 22)."""
    limited = Container(name="a", limits=res(storage="1Gi"))
    one = with_containers([limited, limited, container("free")], overhead=res(storage="1Mi"))
    assert str(pod_limit(one, "ephemeral-storage")) == "2049Mi"
    assert pod_limit(with_containers([container("free")]), "ephemeral-storage") is None


def test_most_pods_have_no_local_limit_to_break() -> None:
    """The test is skipped for them."""
    assert pod("p", memory="1Gi", volumes=[empty_dir("v")]).accounts.local_limits is None
    limits = pod("p", storage_limit="1500m", volumes=[empty_dir("v", size_limit="1Gi")]).accounts.local_limits
    assert limits is not None
    assert (limits.pod, dict(limits.containers), dict(limits.empty_dirs)) == (1, {"c": 1}, {"v": 2**30})


def limited(**amounts: str) -> Container:
    """A container whose requests are its limits."""
    return Container(name="c", requests=res(**amounts), limits=res(**amounts))


@pytest.mark.parametrize(
    ("one", "expected"),
    [
        (with_containers([container()]), QOSClass.BEST_EFFORT),
        (with_containers([container(memory="0")]), QOSClass.BEST_EFFORT),
        (with_containers([container(storage="1Gi")]), QOSClass.BEST_EFFORT),
        (with_containers([container(cpu="1m")]), QOSClass.BURSTABLE),
        (with_containers([limited(memory="1Mi")]), QOSClass.BURSTABLE),
        (with_containers([limited(memory="1Mi", cpu="1")]), QOSClass.GUARANTEED),
        (with_containers([limited(memory="1Mi", cpu="1"), container("d")]), QOSClass.BURSTABLE),
        (with_containers([limited(memory="1Mi", cpu="1")], [container("i")]), QOSClass.BURSTABLE),
        (with_containers([container(memory="1Mi")], resources=PodLevelResources()), QOSClass.BEST_EFFORT),
        (
            with_containers(
                [container()],
                resources=PodLevelResources(requests=res(cpu="1", memory="1"), limits=res(cpu="1", memory="1")),
            ),
            QOSClass.GUARANTEED,
        ),
    ],
    ids=["none", "zero", "storage", "cpu", "memory only", "both", "one free", "free init", "empty level", "level"],
)
def test_the_class_follows_from_the_spec(one: Pod, expected: QOSClass) -> None:
    """Spec 5.8."""
    assert compute_qos_class(one) is expected
    assert one.qos_class is expected


def test_the_class_in_the_status_wins() -> None:
    """It was decided when the pod was made."""
    assert pod("p", status_qos_class="Guaranteed").qos_class is QOSClass.GUARANTEED


@pytest.mark.parametrize(
    ("source", "priority", "critical"),
    [
        (PodSource.API, 0, False),
        (PodSource.API, 1_999_999_999, False),
        (PodSource.API, 2_000_000_000, True),
        (PodSource.STATIC, -1, True),
        (PodSource.MIRROR, -1, True),
    ],
)
def test_static_mirror_and_system_priority_pods_are_critical(source: PodSource, priority: int, critical: bool) -> None:
    """The name of the priority class is irrelevant."""
    assert pod("p", source=source, priority=priority, priority_class_name="system-node-critical").critical is critical


def test_a_pod_is_called_by_namespace_and_name() -> None:
    """As everywhere in Kubernetes."""
    assert pod("p").full_name == "default/p"
