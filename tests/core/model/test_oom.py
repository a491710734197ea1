"""OOM scores and Memory QoS values against numbers computed by the kubelet's own code."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evictd.core.model.oom import (
    LEAST_BURSTABLE_OOM_SCORE_ADJ,
    MemoryQoS,
    MemoryQoSRules,
    MemoryReservationPolicy,
    QOSMemory,
    container_memory_qos,
    greatest_memory_request,
    oom_score_adj,
    pod_memory_qos,
    qos_memory,
)
from evictd.core.model.pod import Pod, PodSource
from evictd.core.model.resources import Container, PodLevelResources, Resources
from evictd.core.units.quantity import parse_quantity

GIB = 1 << 30
CAPACITY = 16 * GIB
TIERED, NONE = MemoryReservationPolicy.TIERED_RESERVATION, MemoryReservationPolicy.NONE


def amounts(**texts: str) -> Resources:
    return {name: parse_quantity(text) for name, text in texts.items()}


def container(
    request: str = "", limit: str = "", *, cpu: str = "", sidecar: bool = False, name: str = "c"
) -> Container:
    requests = {"memory": request, "cpu": cpu}
    return Container(
        name=name,
        requests=amounts(**{key: text for key, text in requests.items() if text}),
        limits=amounts(memory=limit) if limit else {},
        sidecar=sidecar,
    )


def pod(
    *containers: Container,
    init: tuple[Container, ...] = (),
    level: PodLevelResources | None = None,
    priority: int = 0,
    priority_class: str = "",
    source: PodSource = PodSource.API,
) -> Pod:
    return Pod(
        name="p",
        namespace="ns",
        uid="u",
        containers=containers,
        init_containers=init,
        resources=level,
        priority=priority,
        priority_class_name=priority_class,
        source=source,
    )


def scores(of: Pod) -> list[int]:
    return [oom_score_adj(of, each, CAPACITY) for each in (*of.init_containers, *of.containers)]


GUARANTEED = Container(name="g", requests=amounts(cpu="1", memory="1Gi"), limits=amounts(cpu="1", memory="1Gi"))


@pytest.mark.parametrize(
    ("of", "expected"),
    [
        (pod(container("1Gi")), [938]),
        (pod(container(cpu="100m")), [999]),
        (pod(container("16Gi")), [3]),
        (pod(container("64Gi")), [3]),
        (pod(container()), [1000]),
        (pod(GUARANTEED), [-997]),
        (pod(container("1Gi"), container(), level=PodLevelResources(requests=amounts(memory="4Gi"))), [844, 907]),
        (pod(container("2Gi"), container("1Gi"), init=(container("100Mi", sidecar=True),)), [938, 875, 938]),
        (pod(container("1Gi"), priority=2_000_000_000, priority_class="system-cluster-critical"), [938]),
        (pod(container(), priority=2_000_001_000, priority_class="system-node-critical"), [-997]),
        (pod(container(), priority_class="system-node-critical"), [1000]),
        (pod(container(), source=PodSource.STATIC, priority_class="system-node-critical"), [-997]),
    ],
    ids=[
        "burstable", "no memory request", "all of the node", "more than the node", "best effort", "guaranteed",
        "pod level", "sidecar", "cluster critical", "node critical", "class without priority", "static node critical",
    ],
)  # fmt: skip
def test_oom_score_adj(of: Pod, expected: list[int]) -> None:
    assert scores(of) == expected


@given(st.integers(1, 64 << 30), st.integers(1 << 20, 64 << 30))
def test_the_greatest_request_is_at_least_the_true_one_and_close_to_it(request_: int, capacity: int) -> None:
    """A pod of which only the runtime is known is no worse off than with its true request, and no hog hides behind the rest."""
    one = container(str(min(request_, capacity)))
    score = oom_score_adj(pod(one), one, capacity)
    greatest = greatest_memory_request(score, capacity)
    assert greatest >= min(request_, capacity)
    assert score == LEAST_BURSTABLE_OOM_SCORE_ADJ or greatest - request_ <= 2 * capacity // 1000


def test_a_pod_level_cpu_request_alone_leaves_the_containers_own() -> None:
    assert scores(pod(container("1Gi"), level=PodLevelResources(requests=amounts(cpu="1")))) == [938]


def rules(policy: MemoryReservationPolicy, throttling_factor: float) -> MemoryQoSRules:
    """Rules by which pods can use a GiB of two."""
    return MemoryQoSRules(policy=policy, throttling_factor=throttling_factor, reserved=GIB)


@pytest.mark.parametrize(
    ("request_", "limit", "high"),
    [("64Mi", "512Mi", 489893888), ("256Mi", "512Mi", 510025728), ("480Mi", "512Mi", 533512192), ("1Gi", "1Gi", None)],
)
def test_memory_high_throttles_between_request_and_limit(request_: str, limit: str, high: int | None) -> None:
    each = container(request_, limit)
    found = container_memory_qos(pod(each), each, rules(NONE, 0.9), memory_capacity=2 * GIB, page_size=4096)
    assert found == MemoryQoS(high=high)


def test_memory_high_without_a_limit_is_a_part_of_the_node() -> None:
    each = container("512Mi")
    found = container_memory_qos(pod(each), each, rules(NONE, 0.5), memory_capacity=2 * GIB, page_size=4096)
    assert found.high == 768 << 20


def test_memory_high_is_never_below_the_request() -> None:
    each = container("1000", "1001")
    found = container_memory_qos(pod(each), each, rules(NONE, 0.9), memory_capacity=2 * GIB, page_size=4096)
    assert found.high is None


def test_tiered_reservation_protects_guaranteed_hard_and_burstable_softly() -> None:
    for each, expected in ((GUARANTEED, MemoryQoS(min=GIB)), (container("1Gi", "1Gi"), MemoryQoS(low=GIB))):
        found = container_memory_qos(pod(each), each, rules(TIERED, 0.9), memory_capacity=2 * GIB, page_size=4096)
        assert found == expected


def test_a_pods_own_cgroup() -> None:
    assert pod_memory_qos(pod(GUARANTEED), TIERED) == MemoryQoS(min=GIB)
    assert pod_memory_qos(pod(container("1Gi")), TIERED) == MemoryQoS(low=GIB)
    assert pod_memory_qos(pod(container("1Gi")), NONE) == MemoryQoS()


def test_the_cgroups_above_the_pods() -> None:
    pods = [pod(GUARANTEED), pod(container("1Gi")), pod(container())]
    assert qos_memory(pods, TIERED) == QOSMemory(root_min=2 * GIB, burstable_low=GIB)
    assert qos_memory(pods, NONE) == QOSMemory()
