"""What is said of an eviction, to the letter."""

import pytest

from evictd.core.eviction.choice.evict import (
    evict_for_pressure,
    eviction_grace_period_seconds,
    eviction_message,
    policy_minimum_grace_seconds,
)
from evictd.core.eviction.rank import rank
from evictd.core.eviction.reclaim import Layout
from evictd.core.model.config import Policy
from evictd.core.model.observation import SignalObservation
from evictd.core.model.pod import Pod
from evictd.core.model.resources import Container, PodLevelResources
from evictd.core.model.signal import Resource, Signal
from evictd.core.model.stats import ContainerStats, DiskUsage, MemoryStats, PodStats
from evictd.core.units.quantity import of_bytes, of_count, parse_quantity
from tests.playbook import config, number, pod, threshold

GIB = 2**30
MEMORY = threshold("memory.available", "1Gi")
LOW_MEMORY = SignalObservation(available=of_bytes(500 * 2**20), capacity=of_bytes(4 * GIB))
INTRO = "The node was low on resource: memory. Threshold quantity: 1Gi, available: 500Mi. "


def requesting(name: str, memory: str | None) -> Container:
    """A container, perhaps with a memory request."""
    return Container(name=name, requests={} if memory is None else {"memory": parse_quantity(memory)})


def stats(**working_sets: str) -> PodStats:
    """Containers by name and working set."""
    containers = tuple(ContainerStats(name.replace("_", "-"), number(text)) for name, text in working_sets.items())
    return PodStats(
        name="p", namespace="default", uid="p", containers=containers, memory=MemoryStats(working_set_bytes=3 * GIB)
    )


def message(one: Pod, used: PodStats | None) -> tuple[str, dict[str, str]]:
    """About memory."""
    return eviction_message(Resource.MEMORY, one, used, MEMORY, LOW_MEMORY)


def test_a_container_over_its_request_is_named() -> None:
    """The real example of the specification."""
    text, annotations = message(pod("p", containers=(requesting("a-c", None),)), stats(a_c="2Gi"))
    assert text == INTRO + "Container a-c was using 2Gi, request is 0, has larger consumption of memory. "
    assert annotations == {
        "offending_containers": "a-c",
        "offending_containers_usage": "2Gi",
        "starved_resource": "memory",
    }


def test_several_containers_are_listed_in_the_order_of_the_stats() -> None:
    """Init containers and sidecars too; one that stays within its request is not named, nor an ephemeral one."""
    one = pod(
        "p", containers=(requesting("a", "1Gi"), requesting("b", "9Gi")), init_containers=(requesting("i", "1Mi"),)
    )
    text, annotations = message(one, stats(i="2Mi", b="1Gi", a="2Gi", debugger="3Gi"))
    assert text.count("Container ") == 2
    assert annotations["offending_containers"] == "i,a"
    assert annotations["offending_containers_usage"] == "2Mi,2Gi"


def test_without_stats_there_is_nothing_to_add() -> None:
    """No container, no annotation."""
    assert message(pod("p"), None) == (INTRO, {})


def test_without_offenders_the_annotations_are_present_and_empty() -> None:
    """As in the kubelet."""
    _, annotations = message(pod("p", memory="9Gi"), stats(c="1Gi"))
    assert annotations["offending_containers"] == ""


def test_a_pod_level_memory_request_names_the_pod_even_within_it() -> None:
    """Part 4 of the message."""
    level = PodLevelResources(requests={"memory": parse_quantity("4Gi")})
    text, annotations = message(pod("p", resources=level), stats(c="1Gi"))
    assert "Pod p was using 3Gi, request is 4Gi, has larger consumption of memory. " in text
    assert (annotations["offending_pod"], annotations["offending_pod_usage"]) == ("p", "3Gi")


def test_disk_names_writable_layer_and_logs_together() -> None:
    """Only where both are known, whatever the layout (docs/parity.md, row 39)."""
    low = SignalObservation(available=of_bytes(5 * GIB), capacity=of_bytes(107374182400))
    used = PodStats(
        name="p",
        namespace="default",
        uid="p",
        containers=(
            ContainerStats("c", None, DiskUsage(GIB - 1, 0), DiskUsage(1, 0)),
            ContainerStats("d", None, DiskUsage(GIB, 0), None),
        ),
    )
    one = pod("p", containers=(Container(name="c"), Container(name="d")))
    text, annotations = eviction_message(
        Resource.EPHEMERAL_STORAGE, one, used, threshold("nodefs.available", "10%"), low
    )
    assert text == (
        "The node was low on resource: ephemeral-storage. Threshold quantity: 10737418400, available: 5Gi. "
        "Container c was using 1Gi, request is 0, has larger consumption of ephemeral-storage. "
    )
    assert annotations["offending_containers"] == "c"


@pytest.mark.parametrize(
    ("resource", "limit", "available", "capacity", "text"),
    [
        (Resource.INODES, "5%", 1000, 100000, "inodes. Threshold quantity: 5000, available: 1k. "),
        (Resource.PIDS, "1200", 500, 1500, "pids. Threshold quantity: 1200, available: 500. "),
    ],
)
def test_counters_are_written_in_their_own_way(
    resource: Resource, limit: str, available: int, capacity: int, text: str
) -> None:
    """The real examples of the specification."""
    signal = "nodefs.inodesFree" if resource is Resource.INODES else "pid.available"
    seen = SignalObservation(available=of_count(available), capacity=of_count(capacity))
    got, _ = eviction_message(resource, pod("p"), stats(c="9Gi"), threshold(signal, limit), seen)
    assert got == "The node was low on resource: " + text


def test_a_pressure_eviction_carries_its_numbers_and_the_disruption_target() -> None:
    """Message, condition and reason as data."""
    one = pod("p", memory="100Mi", generation=7)
    used = stats(c="2Gi")
    [row] = rank(Signal.MEMORY_AVAILABLE, [one], {"p": used}, Layout.SINGLE, Policy.STANDARD)
    eviction = evict_for_pressure(row, MEMORY, LOW_MEMORY, used, config())
    assert eviction.grace_period_seconds == 1
    assert eviction.condition is not None
    assert (eviction.condition.type, eviction.condition.status) == ("DisruptionTarget", "True")
    assert eviction.condition.reason == "TerminationByKubelet"
    assert eviction.condition.message == eviction.message
    assert eviction.condition.observed_generation == 7
    assert eviction.because.signal_label == "memory.available"
    assert (str(eviction.because.usage), str(eviction.because.request)) == ("3Gi", "100Mi")


def test_the_kubelet_gives_a_container_two_seconds_whatever_was_decided() -> None:
    """docs/parity.md, row 2."""
    assert policy_minimum_grace_seconds(Policy.KUBELET) == 2
    assert policy_minimum_grace_seconds(Policy.STANDARD) == 0


HARD = threshold("memory.available", "1Gi")
SOFT = threshold("memory.available", "2Gi", grace="1m")


@pytest.mark.parametrize(
    ("most", "own", "standard", "kubelet"),
    [(0, 30, 2, 0), (5, 30, 5, 5), (60, 30, 30, 30), (60, None, 60, 60), (-1, 30, 30, -1), (-1, None, 30, -1)],
)
def test_a_soft_victim_gets_the_least_of_its_own_and_the_maximum(
    most: int, own: int | None, standard: int, kubelet: int
) -> None:
    """A negative maximum leaves the pod's own alone, as documented; the kubelet's code takes the negative number."""
    for policy, expected in ((Policy.STANDARD, standard), (Policy.KUBELET, kubelet)):
        settings = config(max_pod_grace_period_seconds=most, policy=policy)
        assert eviction_grace_period_seconds(pod("a", grace=own), SOFT, settings) == expected


def test_a_hard_victim_gets_one_second() -> None:
    """`immediateEvictionGracePeriodSeconds`."""
    assert eviction_grace_period_seconds(pod("a", grace=30), HARD, config(max_pod_grace_period_seconds=60)) == 1
