"""The class of a pod; every case is the specification's."""

import pytest

from evictd.core.model.qos import QOSClass, compute_qos_class
from evictd.core.model.resources import Container, PodLevelResources, Resources
from evictd.core.units.quantity import parse_quantity


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
    assert compute_qos_class(members) is expected


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
