"""The container collector's choices: examples from the kubelet's rules, and laws over all of them."""

from dataclasses import replace
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evictd.core.config import ContainerGCPolicy
from evictd.core.container_gc import (
    Container,
    ContainerState,
    PodFate,
    PodFates,
    Sandbox,
    confirmed,
    evict_containers,
    evict_pod_log_directories,
    evict_sandboxes,
    with_api_pods,
)
from evictd.core.pod import Pod

EXITED, RUNNING, CREATED = ContainerState.EXITED, ContainerState.RUNNING, ContainerState.CREATED
NOW = 1000


def dead(name: str, at: int, *, pod: str = "pod", unit: str = "main", state: ContainerState = EXITED) -> Container:
    return Container(id=name, pod_uid=pod, name=unit, sandbox_id=f"sandbox-{pod}", created_at=at, state=state)


def fates(fate: PodFate = PodFate.ACTIVE, *, ready: bool = True) -> PodFates:
    return PodFates(by_uid={"pod": fate}, all_sources_ready=ready)


def chosen(
    *containers: Container,
    pods: PodFates | None = None,
    policy: ContainerGCPolicy | None = None,
    evict_terminated: bool = False,
) -> list[str]:
    picked = evict_containers(
        containers, pods or fates(), policy or ContainerGCPolicy(), evict_terminated=evict_terminated, now=NOW
    )
    return [container.id for container in picked]


# --- containers -------------------------------------------------------------------------------------------------------


def test_a_live_pod_keeps_its_newest_dead_container_of_each_name() -> None:
    assert chosen(dead("old", 1), dead("new", 2), dead("other", 1, unit="side")) == ["old"]


def test_it_keeps_it_under_pressure_too() -> None:
    assert chosen(dead("old", 1), dead("new", 2), evict_terminated=True) == ["old"]


def test_a_running_container_never_goes() -> None:
    for fate in PodFate:
        assert chosen(dead("a", 1, state=RUNNING), pods=fates(fate), evict_terminated=True) == []


@pytest.mark.parametrize("state", [CREATED, EXITED, ContainerState.UNKNOWN])
def test_every_other_state_may_go(state: ContainerState) -> None:
    assert chosen(dead("a", 1, state=state), pods=fates(PodFate.REMOVED)) == ["a"]


def test_a_terminated_pods_containers_go_only_when_eviction_asks() -> None:
    assert chosen(dead("a", 1), pods=fates(PodFate.TERMINATED)) == []
    assert chosen(dead("a", 1), pods=fates(PodFate.TERMINATED), evict_terminated=True) == ["a"]


def test_a_pod_that_nobody_knows_is_gone_once_all_sources_were_heard() -> None:
    assert chosen(dead("a", 1, pod="stranger")) == ["a"]
    assert chosen(dead("a", 1, pod="stranger"), pods=fates(ready=False)) == []


def test_a_container_younger_than_the_minimum_age_stays() -> None:
    policy = ContainerGCPolicy(min_age=100)
    assert chosen(dead("a", NOW - 99), dead("b", NOW - 100), pods=fates(PodFate.REMOVED), policy=policy) == ["b"]


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


def sandbox(name: str, at: int = 1, *, pod: str = "pod", ready: bool = False) -> Sandbox:
    return Sandbox(id=name, pod_uid=pod, created_at=at, ready=ready)


def emptied(*sandboxes: Sandbox, containers: tuple[Container, ...] = (), pods: PodFates | None = None) -> list[str]:
    picked = evict_sandboxes(sandboxes, containers, pods or fates(), evict_terminated=False)
    return [each.id for each in picked]


def test_a_live_pod_keeps_its_newest_sandbox() -> None:
    assert emptied(sandbox("old", 1), sandbox("new", 2)) == ["old"]


def test_a_removed_pod_keeps_none() -> None:
    assert emptied(sandbox("old", 1), sandbox("new", 2), pods=fates(PodFate.REMOVED)) == ["old", "new"]


def test_a_ready_sandbox_stays() -> None:
    assert emptied(sandbox("a", ready=True), pods=fates(PodFate.REMOVED)) == []


def test_a_sandbox_with_a_container_of_any_state_stays() -> None:
    assert emptied(sandbox("sandbox-pod"), containers=(dead("a", 1),), pods=fates(PodFate.REMOVED)) == []


# --- logs -------------------------------------------------------------------------------------------------------------


def test_only_log_directories_of_removed_pods_go() -> None:
    names = ["ns_web_pod", "ns_old_gone", "no-underscore", "ns_a_b_gone"]
    assert evict_pod_log_directories(names, fates()) == ("ns_old_gone", "ns_a_b_gone")
    assert evict_pod_log_directories(names, fates(ready=False)) == ()


def test_the_log_directory_of_a_pod_that_is_awaited_stays_whatever_its_uid() -> None:
    names = ["ns_web_new", "ns_web-1_old", "other_web_old"]
    awaiting = replace(fates(), awaited=frozenset({("ns", "web")}))
    assert evict_pod_log_directories(names, awaiting) == ("ns_web-1_old", "other_web_old")


# --- what the API server says -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("runtime", "phase", "fate"),
    [
        (None, "Running", PodFate.ACTIVE),
        (None, "Succeeded", PodFate.TERMINATED),
        (PodFate.TERMINATED, "Running", PodFate.ACTIVE),
        (PodFate.TERMINATED, "Failed", PodFate.TERMINATED),
        (PodFate.ACTIVE, "Failed", PodFate.ACTIVE),
        (PodFate.REMOVED, "Failed", PodFate.REMOVED),
        (PodFate.TERMINATED, None, PodFate.TERMINATED),
        (None, None, PodFate.REMOVED),
    ],
)
def test_an_object_of_the_api_keeps_its_pod_from_being_gone(
    runtime: PodFate | None, phase: str | None, fate: PodFate
) -> None:
    known = PodFates(by_uid={} if runtime is None else {"pod": runtime})
    objects = [] if phase is None else [Pod(name="web", namespace="ns", uid="pod", phase=phase)]
    assert with_api_pods(known, objects).of("pod") is fate


def test_nobody_is_gone_before_the_first_list_has_come() -> None:
    early = with_api_pods(PodFates(by_uid={}), None)
    assert early.of("pod") is PodFate.ACTIVE
    assert not early.all_sources_ready


# --- what changed since the fates were known --------------------------------------------------------------------------


def test_a_pod_that_started_meanwhile_is_active() -> None:
    now = confirmed(fates(), [sandbox("s", pod="newcomer", ready=True)], [])
    assert now.of("newcomer") is PodFate.ACTIVE
    assert now.of("stranger") is PodFate.REMOVED


def test_a_terminated_pod_that_came_back_is_active() -> None:
    back = confirmed(fates(PodFate.TERMINATED), [sandbox("s", ready=True)], [dead("c", 1, state=CREATED)])
    assert back.of("pod") is PodFate.ACTIVE


def test_a_completed_pod_in_a_ready_sandbox_stays_terminated() -> None:
    still = confirmed(fates(PodFate.TERMINATED), [sandbox("s", ready=True)], [dead("c", 1)])
    assert still.of("pod") is PodFate.TERMINATED


def test_a_removed_pod_stays_removed() -> None:
    gone = confirmed(fates(PodFate.REMOVED), [sandbox("s", ready=True)], [dead("c", 1, state=RUNNING)])
    assert gone.of("pod") is PodFate.REMOVED


# --- laws -------------------------------------------------------------------------------------------------------------

PODS = ["p0", "p1", "p2"]
CONTAINERS = st.lists(
    st.builds(
        Container,
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
    PodFates,
    by_uid=st.dictionaries(st.sampled_from(PODS), st.sampled_from(PodFate)),
    all_sources_ready=st.booleans(),
)


@given(CONTAINERS, FATES, POLICIES, st.booleans(), st.randoms(use_true_random=False))
def test_laws_of_containers(
    containers: list[Container], pods: PodFates, policy: ContainerGCPolicy, evict: bool, shuffle: Random
) -> None:
    """Nothing twice, nothing running, nothing too young; the order of the listing changes nothing; once is enough."""
    picked = evict_containers(containers, pods, policy, evict_terminated=evict, now=NOW)
    assert len(set(picked)) == len(picked)
    assert all(each.state is not RUNNING and each.created_at <= NOW - policy.min_age for each in picked)
    shuffled = sorted(containers, key=lambda _: shuffle.random())
    assert set(evict_containers(shuffled, pods, policy, evict_terminated=evict, now=NOW)) == set(picked)
    left = [each for each in containers if each not in picked]
    assert evict_containers(left, pods, policy, evict_terminated=evict, now=NOW) == ()
