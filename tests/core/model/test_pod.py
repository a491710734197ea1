"""The computed properties of a pod: resource totals, QoS class, critical."""

import pytest

from evictd.core.model.pod import PodSource
from evictd.core.model.resources import Container, PodLevelResources, QOSClass, pod_resources
from evictd.core.units.quantity import parse_quantity
from tests.playbook import empty_dir, pod


def test_the_resource_totals_use_all_parts_of_the_pod() -> None:
    """Containers, init containers, pod-level resources, overhead and volumes."""
    amount = parse_quantity("1Gi")
    containers = (Container(name="c", requests={"memory": amount}, limits={"ephemeral-storage": amount}),)
    init = (Container(name="i", requests={"memory": amount + amount}),)
    level = PodLevelResources(limits={"hugepages-2Mi": amount})
    one = pod(
        "p",
        containers=containers,
        init_containers=init,
        resources=level,
        overhead={"memory": amount, "ephemeral-storage": amount},
        volumes=[empty_dir("v")],
    )
    assert one.resource_totals == pod_resources(
        containers, init, level=level, overhead=one.overhead, volumes=[empty_dir("v")]
    )
    assert one.resource_totals != pod_resources(containers)


def test_without_a_status_the_class_follows_from_all_containers_and_the_pod_s_own_resources() -> None:
    """An init container without limits is one of them."""
    amounts = {"cpu": parse_quantity("1"), "memory": parse_quantity("1Gi")}
    limited, free = Container(name="c", requests=amounts, limits=amounts), Container(name="i")
    level = PodLevelResources(requests=amounts, limits=amounts)
    assert pod("p", containers=(limited,)).qos_class is QOSClass.GUARANTEED
    assert pod("p", containers=(limited,), init_containers=(free,)).qos_class is QOSClass.BURSTABLE
    assert pod("p", containers=(free,), resources=level).qos_class is QOSClass.GUARANTEED


def test_the_class_in_the_status_wins() -> None:
    """The API server decides it when the pod is created."""
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
    """The form of Kubernetes' logs and messages."""
    assert pod("p").full_name == "default/p"


def test_an_invalid_class_in_the_status_is_replaced_by_the_computed_one() -> None:
    """It may come from a file; it once ended the daemon."""
    assert pod("p", status_qos_class="Foo").qos_class is QOSClass.BEST_EFFORT
