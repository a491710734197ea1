"""The names that a container's resources can have."""

from dataclasses import replace

import pytest

from evictd.codec.resource_names import resource_problems, resource_remedy
from evictd.core.model.resources import Container
from evictd.core.units.quantity import parse_quantity
from tests.playbook import pod


@pytest.mark.parametrize("name", ["cpu", "memory", "ephemeral-storage", "hugepages-2Mi", "nvidia.com/gpu"])
def test_resources_of_containers_are_known(name: str) -> None:
    assert resource_remedy(name) == ""


def test_a_name_that_is_misspelt_has_the_one_that_was_meant() -> None:
    assert resource_remedy("mem") == "did you mean memory?"
    assert resource_remedy("ephemeralStorage") == "did you mean ephemeral-storage?"
    assert resource_remedy("x") == "give cpu, memory, ephemeral-storage, hugepages-SIZE, or a name as example.com/gpu"


def test_a_problem_has_the_place() -> None:
    container = Container(name="main", limits={"memroy": parse_quantity("1Gi")})
    assert list(resource_problems([pod("a"), replace(pod("b"), containers=(container,))])) == [
        "pods[1].spec.containers[0].resources.limits.memroy: 1Gi: is an unknown resource; did you mean memory?"
    ]
