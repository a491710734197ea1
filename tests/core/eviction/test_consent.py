"""Law Consent: a proposal holds up its supply while its answer is late, and is withdrawn when the supply is clear."""

from dataclasses import replace
from typing import Any

import pytest

from evictd.core.eviction.synchronize import synchronize
from evictd.core.model.config import EvictionConfig
from evictd.core.model.decision import EvictPod, WithdrawEviction
from evictd.core.model.observation import EvictionAnswer, EvictionAnswerKind, Observation, Outcomes
from evictd.core.model.signal import Signal
from evictd.core.model.state import State, Step
from evictd.core.units.duration import MINUTE, SECOND
from tests.playbook import config, node, pod, usage

PODS = tuple(pod(name, memory="64Mi", grace=30) for name in "abc")
SOFT = config(soft={"memory.available": ("1Gi", "10s")}, max_pod_grace_period_seconds=30)
SHORT, CLEAR = "800Mi of 16Gi", "4Gi of 16Gi"


def cycle(state: State, now: int, memory: str, settings: EvictionConfig = SOFT, **outcomes: object) -> Step:
    """One cycle at so many seconds; no pod ends."""
    observation = Observation(
        node=node(memory=memory, time=now + 1),
        pods=PODS,
        pod_stats={each.uid: usage(each, memory="700Mi") for each in PODS},
        outcomes=Outcomes(**outcomes),  # type: ignore[arg-type]
    )
    return synchronize(state, observation, settings, now * SECOND)


def evicted(step: Step) -> list[str]:
    return [each.pod.name for each in step.decisions if isinstance(each, EvictPod)]


def proposed() -> State:
    """The eviction of `a` is decided."""
    step = cycle(cycle(State(), 0, SHORT).state, 10, SHORT)
    assert evicted(step) == ["a"]
    return step.state


def test_no_other_pod_is_chosen_while_the_answer_is_only_late() -> None:
    """Ten minutes without an API server: one proposal, not one more each minute."""
    state = proposed()
    for now in range(11, 10 * MINUTE // SECOND, 10):
        step = cycle(state, now, SHORT, unanswered=frozenset({"a"}))
        assert evicted(step) == []
        state = step.state
    later = cycle(
        state, 601, SHORT, answers=(EvictionAnswer(uid="a", kind=EvictionAnswerKind.AGREED, at=601 * SECOND),)
    )
    assert evicted(later) == []


def test_a_proposal_is_withdrawn_once_when_the_supply_is_clear() -> None:
    step = cycle(proposed(), 20, CLEAR, unanswered=frozenset({"a"}))
    assert [each for each in step.decisions if isinstance(each, WithdrawEviction)] == [
        WithdrawEviction(pod=PODS[0], reason="pressure has ended")
    ]
    again = cycle(step.state, 30, CLEAR, unanswered=frozenset({"a"}))
    assert not [each for each in again.decisions if isinstance(each, WithdrawEviction)]
    answer = EvictionAnswer(uid="a", kind=EvictionAnswerKind.NOT_ASKED, at=31 * SECOND)
    assert cycle(again.state, 40, CLEAR, answers=(answer,)).state.in_flight == ()


@pytest.mark.parametrize("hard", [{}, {"nodefs.available": "1Gi"}], ids=["no threshold", "one for a disk"])
def test_a_proposal_is_withdrawn_when_a_reload_takes_its_threshold_away(hard: dict[str, str]) -> None:
    """Else the API server accepts it later, and the pod goes for a threshold that nobody has configured."""
    step = cycle(proposed(), 20, SHORT, config(hard=hard), unanswered=frozenset({"a"}))
    assert [each.pod.name for each in step.decisions if isinstance(each, WithdrawEviction)] == ["a"]
    assert [victim.withdrawn for victim in step.state.in_flight] == [True]


def test_a_proposal_for_swap_is_withdrawn_when_the_node_has_none_any_more() -> None:
    """`swapoff` ends the shortage as well; a reading that failed does not."""
    swap = config(soft={"swap.available": ("1Gi", "10s")}, max_pod_grace_period_seconds=30)
    pods = (pod("a", grace=30),)
    settings: dict[str, Any] = {"pods": pods, "pod_stats": {"a": usage(pods[0], memory="1Gi", swap="3Gi")}}
    first, second = (
        Observation(node=node(memory=CLEAR, swap="512Mi of 4Gi", time=now + 1), **settings) for now in (0, 10)
    )
    chosen = synchronize(synchronize(State(), first, swap, 0).state, second, swap, 10 * SECOND)
    assert evicted(chosen) == ["a"]
    unread = Observation(
        node=node(memory=CLEAR, time=99), outcomes=Outcomes(unanswered=frozenset({"a"})), absent=frozenset(), **settings
    )
    for seen, withdrawn in ((unread, []), (replace(unread, absent=frozenset({Signal.SWAP_AVAILABLE})), ["a"])):
        step = synchronize(chosen.state, seen, swap, 20 * SECOND)
        assert [each.pod.name for each in step.decisions if isinstance(each, WithdrawEviction)] == withdrawn


@pytest.mark.parametrize("memory", [SHORT, CLEAR])
def test_what_was_agreed_to_is_not_withdrawn(memory: str) -> None:
    step = cycle(proposed(), 20, memory)
    assert not [each for each in step.decisions if isinstance(each, WithdrawEviction)]


def test_a_hard_threshold_waits_for_no_agreement() -> None:
    hard = config(hard={"memory.available": "500Mi"}, soft={"memory.available": ("1Gi", "10s")})
    observation = Observation(
        node=node(memory="400Mi of 16Gi", time=99),
        pods=PODS,
        pod_stats={each.uid: usage(each, memory="700Mi") for each in PODS},
        outcomes=Outcomes(unanswered=frozenset({"a"})),
    )
    step = synchronize(proposed(), observation, hard, 20 * SECOND)
    assert [(each.pod.name, each.shortens) for each in step.decisions if isinstance(each, EvictPod)] == [("a", True)]


def test_a_victim_that_no_signal_kills_is_over_its_deadline() -> None:
    """Its neighbours do not wait for it, and it is no candidate again."""
    state = proposed()
    victim = cycle(state, 20, SHORT, unkillable=frozenset({"a"})).state.in_flight[0]
    assert victim.until == 20 * SECOND
    assert replace(victim, until=0) == replace(state.in_flight[0], until=0)
