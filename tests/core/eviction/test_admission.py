"""Which new pods may start under pressure."""

import pytest

from evictd.core.eviction.admission import admit
from evictd.core.model.pod import Pod, PodSource, Toleration
from evictd.core.model.resources import Container
from evictd.core.model.signal import NodeCondition
from evictd.core.units.quantity import parse_quantity
from tests.playbook import pod

MEMORY_PRESSURE, DISK, PID = NodeCondition
BOTH = {"memory": parse_quantity("1Mi"), "cpu": parse_quantity("1")}
BEST_EFFORT = pod("best-effort")
BURSTABLE = pod("burstable", memory="1Mi")
GUARANTEED = pod("guaranteed", containers=(Container(name="c", requests=BOTH, limits=BOTH),))
CRITICAL = pod("critical", source=PodSource.STATIC)


def tolerating(**toleration: str) -> Pod:
    """A best-effort pod with a toleration."""
    return pod("tolerating", tolerations=(Toleration(**toleration),))


KEY = "node.kubernetes.io/memory-pressure"


@pytest.mark.parametrize(
    ("conditions", "admitted"),
    [
        ((), "best-effort burstable guaranteed critical"),
        ((MEMORY_PRESSURE,), "burstable guaranteed critical"),
        ((DISK,), "critical"),
        ((MEMORY_PRESSURE, DISK), "critical"),
        ((MEMORY_PRESSURE, PID), "critical"),
    ],
)
def test_who_may_start(conditions: tuple[NodeCondition, ...], admitted: str) -> None:
    """Under memory pressure alone only best-effort pods are turned away."""
    pods = (BEST_EFFORT, BURSTABLE, GUARANTEED, CRITICAL)
    assert [one.name for one in pods if admit(one, conditions).admitted] == admitted.split()


@pytest.mark.parametrize(
    ("toleration", "admitted"),
    [
        ({"key": KEY, "operator": "Exists", "effect": "NoSchedule"}, True),
        ({"operator": "Exists"}, True),
        ({"key": KEY}, True),
        ({"key": KEY, "operator": "Equal", "value": "x"}, False),
        ({"key": KEY, "operator": "Exists", "effect": "NoExecute"}, False),
        ({"key": "other", "operator": "Exists"}, False),
        ({"key": KEY, "operator": "Lt", "value": ""}, False),
    ],
)
def test_a_toleration_lets_a_best_effort_pod_in(toleration: dict[str, str], admitted: bool) -> None:
    """Under memory pressure only; under disk pressure it does not help."""
    assert admit(tolerating(**toleration), (MEMORY_PRESSURE,)).admitted is admitted
    assert not admit(tolerating(**toleration), (DISK,)).admitted


def test_a_rejection_says_why_with_the_conditions_in_order() -> None:
    """docs/parity.md, row 40: the kubelet's order is random, here it is sorted."""
    answer = admit(BEST_EFFORT, (MEMORY_PRESSURE, DISK))
    assert (answer.reason, answer.message) == ("Evicted", "The node had condition: [DiskPressure MemoryPressure]. ")
