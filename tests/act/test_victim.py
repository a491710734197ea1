"""One victim step by step on a real containerd: which phase follows which, with the clock in our hand."""

from dataclasses import replace

import pytest

from evictd.act.victim import FIRST_DELAY, LAST_DELAY, OVERDUE, Phase, Termination, Victim
from evictd.core.duration import SECOND
from evictd.demo.node import DisposableNode
from evictd.demo.pods import IGNORE_TERM, ContainerRecipe, PodRecipe, RunningPod
from evictd.demo.tool import wait_for

pytestmark = [pytest.mark.root, pytest.mark.containerd]

START = 1000 * SECOND
DEAF = (ContainerRecipe(script=IGNORE_TERM),)


def victim_of(node: DisposableNode, pod: RunningPod, *, grace_seconds: int) -> Victim:
    state = Termination(uid=pod.uid, started_at=START, grace_ends_at=START + grace_seconds * SECOND)
    return Victim(
        node.client,
        state,
        containers=pod.containers.values(),
        sandboxes=[pod.sandbox_id],
        minimum_grace_seconds=1,
        stir=lambda: None,
    )


def phase_of(victim: Victim) -> Phase:
    return victim.phase


def due_of(victim: Victim) -> int | None:
    return victim.due_at


def advance_until(victim: Victim, phase: Phase, now: int) -> None:
    def reached() -> bool:
        if victim.phase is not phase:
            victim.advance(now)
        return victim.phase is phase

    assert wait_for(reached), (victim.phase, victim.state)


def test_from_the_first_stop_to_the_end(node: DisposableNode) -> None:
    pod = node.run_pod(PodRecipe(name="web"))
    victim = victim_of(node, pod, grace_seconds=30)
    assert phase_of(victim) is Phase.BACKING_OFF
    assert set(victim.state.remaining) == {pod.container_id, pod.sandbox_id}
    victim.start(START)
    assert phase_of(victim) is Phase.STOPPING_CONTAINERS
    assert due_of(victim) == START + 30 * SECOND + OVERDUE
    advance_until(victim, Phase.STOPPING_SANDBOXES, START)
    assert victim.state.remaining == (pod.sandbox_id,)
    assert victim.state.stopped == (pod.container_id,)
    advance_until(victim, Phase.LISTING, START)
    assert due_of(victim) is None
    advance_until(victim, Phase.FINISHED, START + 5)
    assert victim.state.finished_at == START + 5
    assert victim.state.attempts == 1
    before = victim.state
    victim.advance(START + 6)
    assert victim.state == before


def test_nothing_moves_while_a_stop_is_unanswered(node: DisposableNode) -> None:
    pod = node.run_pod(PodRecipe(name="deaf", containers=DEAF))
    victim = victim_of(node, pod, grace_seconds=600)
    victim.start(START)
    victim.advance(START + 599 * SECOND)
    assert phase_of(victim) is Phase.STOPPING_CONTAINERS
    victim.shorten(START + 1, START + SECOND)
    assert victim.state.grace_ends_at == START + SECOND
    advance_until(victim, Phase.FINISHED, START + 2 * SECOND)
    assert victim.state.errors == ()


def test_an_answer_that_is_overdue_is_given_up_and_the_sandbox_stopped(node: DisposableNode) -> None:
    """By the victim's clock: containerd itself would still wait for ten minutes."""
    pod = node.run_pod(PodRecipe(name="deaf", containers=DEAF))
    victim = victim_of(node, pod, grace_seconds=600)
    victim.start(START)
    late = START + 600 * SECOND + OVERDUE
    victim.advance(late)
    advance_until(victim, Phase.FINISHED, late)
    assert victim.state.finished
    assert len(victim.state.errors) == 1
    assert "StopContainer" in victim.state.errors[0]


def test_shortening_what_is_finished_changes_no_phase(node: DisposableNode) -> None:
    pod = node.run_pod(PodRecipe(name="web"))
    victim = victim_of(node, pod, grace_seconds=30)
    victim.start(START)
    advance_until(victim, Phase.FINISHED, START)
    victim.shorten(START, START + SECOND)
    assert phase_of(victim) is Phase.FINISHED


def test_a_runtime_that_is_gone_is_asked_again_later(node: DisposableNode) -> None:
    from evictd.clients.cri import CriClient

    state = Termination(uid="u1", started_at=START, grace_ends_at=START + 30 * SECOND)
    with CriClient(f"unix://{node.folder}/nobody.sock") as nobody:
        victim = Victim(nobody, state, containers=["c1"], sandboxes=["s1"], minimum_grace_seconds=1, stir=lambda: None)
        victim.start(START)
        advance_until(victim, Phase.BACKING_OFF, START)
        assert victim.due_at == START + FIRST_DELAY
        now, delays = START, []
        for _ in range(10):
            victim.advance(now + 1)  # too early: nothing happens
            due = victim.due_at
            assert due is not None
            delays.append(due - now)
            now = due
            victim.advance(now)
            advance_until(victim, Phase.BACKING_OFF, now)
    assert delays == sorted(delays)
    assert delays[-1] == LAST_DELAY
    assert not victim.state.finished
    assert set(victim.state.remaining) == {"c1", "s1"}
    assert replace(victim.state, errors=()).attempts == 1
