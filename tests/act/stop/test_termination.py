"""One termination step by step on a real containerd: which phase follows which, on a clock that the test moves."""

import threading
from dataclasses import replace

import pytest

from evictd.act.stop.termination import (
    FIRST_DELAY,
    LAST_DELAY,
    OVERDUE,
    RunningIds,
    RuntimeTermination,
    Termination,
    TerminationPhase,
)
from evictd.core.units.duration import SECOND
from evictd_testnode.node import DisposableNode
from evictd_testnode.pods import IGNORE_TERM, WAIT_FOR_TERM, ContainerRecipe, PodRecipe, RunningPod
from evictd_testnode.tool import wait_for

pytestmark = [pytest.mark.root, pytest.mark.containerd]

START = 1000 * SECOND
DEAF = (ContainerRecipe(script=IGNORE_TERM),)


def victim_of(
    node: DisposableNode, pod: RunningPod, *, grace_seconds: int, sidecars: tuple[str, ...] = ()
) -> RuntimeTermination:
    state = Termination(uid=pod.uid, started_at=START, grace_ends_at=START + grace_seconds * SECOND)
    return RuntimeTermination(
        node.client,
        state,
        RunningIds(
            frozenset(pod.containers.values()),
            frozenset({pod.sandbox_id}),
            tuple(pod.containers[name] for name in sidecars),
        ),
        minimum_grace_seconds=1,
        changed=threading.Event(),
    )


def phase_of(victim: RuntimeTermination) -> TerminationPhase:
    return victim.phase


def due_of(victim: RuntimeTermination) -> int | None:
    return victim.due_at


def advance_until(victim: RuntimeTermination, phase: TerminationPhase, now: int) -> None:
    def reached() -> bool:
        if victim.phase is not phase:
            victim.advance(now)
        return victim.phase is phase

    assert wait_for(reached), (victim.phase, victim.state)


def test_from_the_first_stop_to_the_end(node: DisposableNode) -> None:
    pod = node.run_pod(PodRecipe(name="web"))
    victim = victim_of(node, pod, grace_seconds=30)
    assert phase_of(victim) is TerminationPhase.BACKING_OFF
    assert set(victim.state.remaining) == {pod.container_id, pod.sandbox_id}
    victim.start(START)
    assert phase_of(victim) is TerminationPhase.STOPPING_CONTAINERS
    assert due_of(victim) == START + 30 * SECOND + OVERDUE
    advance_until(victim, TerminationPhase.STOPPING_SANDBOXES, START)
    assert victim.state.remaining == (pod.sandbox_id,)
    assert victim.state.stopped == (pod.container_id,)
    advance_until(victim, TerminationPhase.LISTING, START)
    assert due_of(victim) is None
    advance_until(victim, TerminationPhase.FINISHED, START + 5)
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
    assert phase_of(victim) is TerminationPhase.STOPPING_CONTAINERS
    victim.shorten(START + 1, START + SECOND)
    assert victim.state.grace_ends_at == START + SECOND
    advance_until(victim, TerminationPhase.FINISHED, START + 2 * SECOND)
    assert victim.state.errors == ()


def test_an_answer_that_is_overdue_is_given_up_and_the_sandbox_stopped(node: DisposableNode) -> None:
    """By the victim's clock: containerd itself would still wait for ten minutes."""
    pod = node.run_pod(PodRecipe(name="deaf", containers=DEAF))
    victim = victim_of(node, pod, grace_seconds=600)
    victim.start(START)
    late = START + 600 * SECOND + OVERDUE
    victim.advance(late)
    advance_until(victim, TerminationPhase.FINISHED, late)
    assert victim.state.finished
    assert len(victim.state.errors) == 1
    assert "StopContainer" in victim.state.errors[0]


def test_shortening_what_is_finished_changes_no_phase(node: DisposableNode) -> None:
    pod = node.run_pod(PodRecipe(name="web"))
    victim = victim_of(node, pod, grace_seconds=30)
    victim.start(START)
    advance_until(victim, TerminationPhase.FINISHED, START)
    victim.shorten(START, START + SECOND)
    assert phase_of(victim) is TerminationPhase.FINISHED


def test_a_runtime_that_is_gone_is_asked_again_later(node: DisposableNode) -> None:
    from evictd.clients.cri.client import CriClient

    state = Termination(uid="u1", started_at=START, grace_ends_at=START + 30 * SECOND)
    with CriClient(f"unix://{node.folder}/absent.sock") as unreachable:
        victim = RuntimeTermination(
            unreachable,
            state,
            RunningIds(frozenset({"c1"}), frozenset({"s1"})),
            minimum_grace_seconds=1,
            changed=threading.Event(),
        )
        victim.start(START)
        advance_until(victim, TerminationPhase.BACKING_OFF, START)
        assert victim.due_at == START + FIRST_DELAY
        now, delays = START, []
        for _ in range(10):
            victim.advance(now + 1)  # too early: nothing happens
            due = victim.due_at
            assert due is not None
            delays.append(due - now)
            now = due
            victim.advance(now)
            advance_until(victim, TerminationPhase.BACKING_OFF, now)
    assert delays == sorted(delays)
    assert delays[-1] == LAST_DELAY
    assert not victim.state.finished
    assert set(victim.state.remaining) == {"c1", "s1"}
    assert replace(victim.state, errors=()).attempts == 1


def trio(node: DisposableNode, main: str, sidecar: str) -> RunningPod:
    """A pod with a regular container and the sidecars `first` and `second`, started in this order."""
    scripts = {"first": sidecar, "second": sidecar, "main": main}
    containers = tuple(ContainerRecipe(name=name, script=script) for name, script in scripts.items())
    return node.run_pod(PodRecipe(name="trio", containers=containers))


def test_sidecars_stop_after_the_others_and_the_last_started_first(node: DisposableNode) -> None:
    """The kubelet's `terminationOrdering`; the runtime's own times of death tell."""
    pod = trio(node, "trap 'sleep 1; exit 0' TERM; echo ready; sleep 1000 & wait", WAIT_FOR_TERM)
    victim = victim_of(node, pod, grace_seconds=60, sidecars=("second", "first"))
    victim.start(START)
    advance_until(victim, TerminationPhase.FINISHED, START)
    ended = {name: node.client.container_status(each).finished_at for name, each in pod.containers.items()}
    assert sorted(ended, key=ended.__getitem__) == ["main", "second", "first"]
    assert victim.state.attempts == 1
    assert victim.state.errors == ()


def test_when_the_grace_is_over_no_sidecar_waits_any_longer(node: DisposableNode) -> None:
    """Asked at the end of the grace, with the least that there is, while the other one has still not answered."""
    pod = trio(node, IGNORE_TERM, WAIT_FOR_TERM)
    victim = victim_of(node, pod, grace_seconds=600, sidecars=("second", "first"))
    victim.start(START)
    assert due_of(victim) == START + 600 * SECOND
    victim.shorten(START, START + 300 * SECOND)
    assert due_of(victim) == START + 300 * SECOND
    states = {each.id: each.state.may_run for each in node.client.list_containers()}
    assert all(states[each] for each in pod.containers.values())
    victim.shorten(START + SECOND, START + 2 * SECOND)
    advance_until(victim, TerminationPhase.FINISHED, START + 2 * SECOND)
    assert victim.state.attempts == 1
    assert victim.state.errors == ()
