"""The container collector's selections: examples from the kubelet's rules, and laws over all of them."""

from dataclasses import replace
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evictd.core.gc.container_gc import (
    ContainerState,
    GCContainer,
    GCSandbox,
    PodLifecycle,
    PodLifecycles,
    confirmed,
    evict_containers,
    evict_pod_log_directories,
    evict_sandboxes,
    with_api_pods,
)
from evictd.core.model.config import ContainerGCPolicy
from evictd.core.model.pod import Pod

EXITED, RUNNING, CREATED = ContainerState.EXITED, ContainerState.RUNNING, ContainerState.CREATED
NOW = 1000


@pytest.mark.parametrize("state", ContainerState)
def test_a_container_that_runs_or_of_which_nothing_is_known_may_run(state: ContainerState) -> None:
    assert state.may_run is (state in {RUNNING, ContainerState.UNKNOWN})


def dead(name: str, at: int, *, pod: str = "pod", unit: str = "main", state: ContainerState = EXITED) -> GCContainer:
    return GCContainer(id=name, pod_uid=pod, name=unit, sandbox_id=f"sandbox-{pod}", created_at=at, state=state)


def lifecycles(state: PodLifecycle = PodLifecycle.ACTIVE, *, ready: bool = True) -> PodLifecycles:
    return PodLifecycles(by_uid={"pod": state}, all_sources_ready=ready)


def chosen(
    *containers: GCContainer,
    pods: PodLifecycles | None = None,
    policy: ContainerGCPolicy | None = None,
    evict_terminated: bool = False,
) -> list[str]:
    picked = evict_containers(
        containers, pods or lifecycles(), policy or ContainerGCPolicy(), evict_terminated=evict_terminated, now=NOW
    )
    return [container.id for container in picked]


# --- containers -------------------------------------------------------------------------------------------------------


def test_a_live_pod_keeps_its_newest_dead_container_of_each_name() -> None:
    assert chosen(dead("old", 1), dead("new", 2), dead("other", 1, unit="side")) == ["old"]


def test_an_active_pod_keeps_it_under_pressure_too() -> None:
    assert chosen(dead("old", 1), dead("new", 2), evict_terminated=True) == ["old"]


def test_a_running_container_is_never_removed() -> None:
    for state in PodLifecycle:
        assert chosen(dead("a", 1, state=RUNNING), pods=lifecycles(state), evict_terminated=True) == []


@pytest.mark.parametrize("state", [CREATED, EXITED, ContainerState.UNKNOWN])
def test_every_other_state_is_removable(state: ContainerState) -> None:
    assert chosen(dead("a", 1, state=state), pods=lifecycles(PodLifecycle.REMOVED)) == ["a"]


def test_a_terminated_pods_containers_are_removed_only_under_pressure() -> None:
    assert chosen(dead("a", 1), pods=lifecycles(PodLifecycle.TERMINATED)) == []
    assert chosen(dead("a", 1), pods=lifecycles(PodLifecycle.TERMINATED), evict_terminated=True) == ["a"]


def test_an_unknown_pod_is_removed_once_all_sources_were_read() -> None:
    assert chosen(dead("a", 1, pod="stranger")) == ["a"]
    assert chosen(dead("a", 1, pod="stranger"), pods=lifecycles(ready=False)) == []


def test_a_container_younger_than_the_minimum_age_stays() -> None:
    policy = ContainerGCPolicy(min_age=100)
    assert chosen(dead("a", NOW - 99), dead("b", NOW - 100), pods=lifecycles(PodLifecycle.REMOVED), policy=policy) == [
        "b"
    ]


def test_the_total_limit_takes_the_oldest_over_all_units() -> None:
    policy = ContainerGCPolicy(max_per_pod_container=5, max_containers=2)
    assert chosen(dead("a", 3), dead("b", 1, unit="side"), dead("c", 2, unit="third"), policy=policy) == ["b"]


def test_the_total_limit_first_levels_the_units() -> None:
    policy = ContainerGCPolicy(max_per_pod_container=5, max_containers=2)
    crowd = [dead(f"a{at}", at) for at in (6, 7, 8)]
    assert chosen(*crowd, dead("b", 1, unit="side"), policy=policy) == ["a6", "a7"]


def test_negative_limits_limit_nothing() -> None:
    policy = ContainerGCPolicy(max_per_pod_container=-1, max_containers=-1)
    assert chosen(dead("a", 1), dead("b", 2), policy=policy) == []


def test_zero_per_container_keeps_none() -> None:
    assert chosen(dead("a", 1), policy=ContainerGCPolicy(max_per_pod_container=0, max_containers=0)) == ["a"]


# --- sandboxes --------------------------------------------------------------------------------------------------------


def sandbox(name: str, at: int = 1, *, pod: str = "pod", ready: bool = False) -> GCSandbox:
    return GCSandbox(id=name, pod_uid=pod, created_at=at, ready=ready)


def emptied(
    *sandboxes: GCSandbox, containers: tuple[GCContainer, ...] = (), pods: PodLifecycles | None = None
) -> list[str]:
    picked = evict_sandboxes(sandboxes, containers, pods or lifecycles(), evict_terminated=False)
    return [each.id for each in picked]


def test_a_live_pod_keeps_its_newest_sandbox() -> None:
    assert emptied(sandbox("old", 1), sandbox("new", 2)) == ["old"]


def test_a_removed_pod_keeps_none() -> None:
    assert emptied(sandbox("old", 1), sandbox("new", 2), pods=lifecycles(PodLifecycle.REMOVED)) == ["old", "new"]


def test_a_ready_sandbox_stays() -> None:
    assert emptied(sandbox("a", ready=True), pods=lifecycles(PodLifecycle.REMOVED)) == []


def test_a_sandbox_with_a_container_of_any_state_stays() -> None:
    assert emptied(sandbox("sandbox-pod"), containers=(dead("a", 1),), pods=lifecycles(PodLifecycle.REMOVED)) == []


# --- logs -------------------------------------------------------------------------------------------------------------


def test_only_log_directories_of_removed_pods_are_removed() -> None:
    names = ["ns_web_pod", "ns_old_gone", "no-underscore", "ns_a_b_gone"]
    assert evict_pod_log_directories(names, lifecycles()) == ("ns_old_gone", "ns_a_b_gone")
    assert evict_pod_log_directories(names, lifecycles(ready=False)) == ()


def test_the_log_directory_of_an_awaited_pod_stays_with_any_uid() -> None:
    names = ["ns_web_new", "ns_web-1_old", "other_web_old"]
    awaiting = replace(lifecycles(), awaited=frozenset({("ns", "web")}))
    assert evict_pod_log_directories(names, awaiting) == ("ns_web-1_old", "other_web_old")


# --- with the API server's pods ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("runtime", "phase", "expected"),
    [
        (None, "Running", PodLifecycle.ACTIVE),
        (None, "Succeeded", PodLifecycle.TERMINATED),
        (PodLifecycle.TERMINATED, "Running", PodLifecycle.ACTIVE),
        (PodLifecycle.TERMINATED, "Failed", PodLifecycle.TERMINATED),
        (PodLifecycle.ACTIVE, "Failed", PodLifecycle.ACTIVE),
        (PodLifecycle.REMOVED, "Failed", PodLifecycle.REMOVED),
        (PodLifecycle.TERMINATED, None, PodLifecycle.TERMINATED),
        (None, None, PodLifecycle.REMOVED),
    ],
)
def test_a_pod_with_an_api_object_is_not_removed(
    runtime: PodLifecycle | None, phase: str | None, expected: PodLifecycle
) -> None:
    known = PodLifecycles(by_uid={} if runtime is None else {"pod": runtime})
    objects = [] if phase is None else [Pod(name="web", namespace="ns", uid="pod", phase=phase)]
    assert with_api_pods(known, objects).of("pod") is expected


def test_no_pod_is_removed_before_the_first_list() -> None:
    early = with_api_pods(PodLifecycles(by_uid={}), None)
    assert early.of("pod") is PodLifecycle.ACTIVE
    assert not early.all_sources_ready


# --- confirmed by a newer listing -------------------------------------------------------------------------------------


def test_a_pod_that_started_meanwhile_is_active() -> None:
    now = confirmed(lifecycles(), [sandbox("s", pod="newcomer", ready=True)], [])
    assert now.of("newcomer") is PodLifecycle.ACTIVE
    assert now.of("stranger") is PodLifecycle.REMOVED


def test_a_terminated_pod_that_came_back_is_active() -> None:
    back = confirmed(lifecycles(PodLifecycle.TERMINATED), [sandbox("s", ready=True)], [dead("c", 1, state=CREATED)])
    assert back.of("pod") is PodLifecycle.ACTIVE


def test_a_completed_pod_in_a_ready_sandbox_stays_terminated() -> None:
    still = confirmed(lifecycles(PodLifecycle.TERMINATED), [sandbox("s", ready=True)], [dead("c", 1)])
    assert still.of("pod") is PodLifecycle.TERMINATED


def test_a_removed_pod_stays_removed() -> None:
    gone = confirmed(lifecycles(PodLifecycle.REMOVED), [sandbox("s", ready=True)], [dead("c", 1, state=RUNNING)])
    assert gone.of("pod") is PodLifecycle.REMOVED


# --- laws -------------------------------------------------------------------------------------------------------------

PODS = ["p0", "p1", "p2"]
CONTAINERS = st.lists(
    st.builds(
        GCContainer,
        id=st.uuids().map(str),
        pod_uid=st.sampled_from(PODS),
        name=st.sampled_from(["a", "b"]),
        sandbox_id=st.sampled_from(PODS),
        created_at=st.integers(0, NOW),
        state=st.sampled_from(ContainerState),
    ),
    unique_by=lambda container: container.id,
)
POLICIES = st.builds(
    ContainerGCPolicy,
    min_age=st.integers(0, NOW),
    max_per_pod_container=st.integers(-1, 3),
    max_containers=st.integers(-1, 6),
)
FATES = st.builds(
    PodLifecycles,
    by_uid=st.dictionaries(st.sampled_from(PODS), st.sampled_from(PodLifecycle)),
    all_sources_ready=st.booleans(),
)


@given(CONTAINERS, FATES, POLICIES, st.booleans(), st.randoms(use_true_random=False))
def test_laws_of_containers(
    containers: list[GCContainer], pods: PodLifecycles, policy: ContainerGCPolicy, evict: bool, shuffle: Random
) -> None:
    """No duplicates, no running and no young container; independent of the listing's order; idempotent."""
    picked = evict_containers(containers, pods, policy, evict_terminated=evict, now=NOW)
    assert len(set(picked)) == len(picked)
    assert all(each.state is not RUNNING and each.created_at <= NOW - policy.min_age for each in picked)
    shuffled = sorted(containers, key=lambda _: shuffle.random())
    assert set(evict_containers(shuffled, pods, policy, evict_terminated=evict, now=NOW)) == set(picked)
    left = [each for each in containers if each not in picked]
    assert evict_containers(left, pods, policy, evict_terminated=evict, now=NOW) == ()
