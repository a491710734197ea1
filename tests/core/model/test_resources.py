"""Sums over containers; every number is the specification's."""

import pytest

from evictd.core.model.resources import (
    Container,
    PodLevelResources,
    QOSClass,
    Resources,
    Volume,
    VolumeKind,
    add,
    aggregate,
    compute_qos_class,
    has_pod_level_resources,
)
from evictd.core.units.quantity import parse_quantity


def container(memory: str, *, sidecar: bool = False) -> Container:
    """A container that requests memory."""
    return Container(name="c", requests={"memory": parse_quantity(memory)}, sidecar=sidecar)


def memory_of(containers: list[Container], init: list[Container]) -> str:
    """The aggregated requests."""
    return str(aggregate(tuple(containers), tuple(init), lambda one: one.requests)["memory"])


def test_init_containers_count_by_what_runs_beside_them() -> None:
    """2Gi+1Gi beside [sidecar 100Mi, init 5Gi]: the init container with the sidecar is the peak."""
    running, init = [container("2Gi"), container("1Gi")], [container("100Mi", sidecar=True), container("5Gi")]
    assert memory_of(running, init) == "5220Mi"


def test_a_sidecar_started_later_is_not_beside_an_earlier_init_container() -> None:
    """[init 5Gi, sidecar 4Gi, init 2Gi] with 100Mi: 6Gi."""
    init = [container("5Gi"), container("4Gi", sidecar=True), container("2Gi")]
    assert memory_of([container("100Mi")], init) == "6Gi"


def test_only_what_is_mentioned_is_in_the_sum() -> None:
    """A resource that no container names is absent, not zero."""
    assert aggregate((container("1Mi"),), (), lambda one: one.limits) == {}


def test_add_changes_only_the_added_resources() -> None:
    """Other resources of the total stay."""
    total = {"cpu": parse_quantity("1"), "memory": parse_quantity("1Gi")}
    more: Resources = {"memory": parse_quantity("1Gi"), "ephemeral-storage": parse_quantity("3")}
    add(total, more)
    assert {name: str(amount) for name, amount in total.items()} == {
        "cpu": "1",
        "memory": "2Gi",
        "ephemeral-storage": "3",
    }


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
    assert has_pod_level_resources(level) is present


def res(**amounts: str) -> Resources:
    """Resources by name; `storage` stands for ephemeral-storage."""
    return {name.replace("storage", "ephemeral-storage"): parse_quantity(text) for name, text in amounts.items()}


def free(**requests: str) -> Container:
    """A container without limits."""
    return Container(name="c", requests=res(**requests))


def limited(**amounts: str) -> Container:
    """A container whose requests are its limits."""
    return Container(name="c", requests=res(**amounts), limits=res(**amounts))


@pytest.mark.parametrize(
    ("members", "expected"),
    [
        ([], QOSClass.BEST_EFFORT),
        ([free()], QOSClass.BEST_EFFORT),
        ([free(memory="0")], QOSClass.BEST_EFFORT),
        ([free(storage="1Gi")], QOSClass.BEST_EFFORT),
        ([free(cpu="1m")], QOSClass.BURSTABLE),
        ([limited(memory="1Mi")], QOSClass.BURSTABLE),
        ([limited(memory="1Mi", cpu="1")], QOSClass.GUARANTEED),
        ([limited(memory="1Mi", cpu="1"), free()], QOSClass.BURSTABLE),
    ],
    ids=["no containers", "none", "zero", "storage", "cpu", "memory only", "both", "one free"],
)
def test_the_class_follows_from_the_containers(members: list[Container], expected: QOSClass) -> None:
    """As the kubelet's `ComputePodQOS`."""
    assert compute_qos_class(members, None) is expected


@pytest.mark.parametrize(
    ("level", "expected"),
    [
        (PodLevelResources(), QOSClass.BEST_EFFORT),
        (PodLevelResources(requests=res(cpu="1")), QOSClass.BURSTABLE),
        (PodLevelResources(requests=res(cpu="1"), limits=res(cpu="1")), QOSClass.BURSTABLE),
        (
            PodLevelResources(requests=res(cpu="1", memory="1"), limits=res(cpu="1", memory="1")),
            QOSClass.GUARANTEED,
        ),
    ],
    ids=["empty level", "part of one", "cpu alone", "level"],
)
def test_only_pod_level_resources_count_if_there_are_any(level: PodLevelResources, expected: QOSClass) -> None:
    """Also if they are present but empty."""
    assert compute_qos_class([free(memory="1Mi")], level) is expected


@pytest.mark.parametrize(
    ("kind", "medium", "local"),
    [
        (VolumeKind.EMPTY_DIR, "", True),
        (VolumeKind.EMPTY_DIR, "Memory", False),
        (VolumeKind.EMPTY_DIR, "HugePages-2Mi", False),
        (VolumeKind.HOST_PATH, "", True),
        (VolumeKind.GIT_REPO, "", True),
        (VolumeKind.CONFIG_MAP, "", True),
        (VolumeKind.SECRET, "", False),
        (VolumeKind.PROJECTED, "", False),
        (VolumeKind.DOWNWARD_API, "", False),
        (VolumeKind.OTHER, "", False),
    ],
)
def test_volumes_of_the_node_s_disk_are_local(kind: VolumeKind, medium: str, local: bool) -> None:
    """Volumes in memory or on other storage are not."""
    assert Volume(name="v", kind=kind, medium=medium).local is local
