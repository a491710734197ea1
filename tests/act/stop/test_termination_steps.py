"""One termination step by step on a runtime whose answers the test gives; `test_termination` has a real containerd."""

import threading
from concurrent.futures import Future
from dataclasses import replace
from typing import Any

from evictd.act.stop.termination import (
    FIRST_DELAY,
    OVERDUE,
    RunningIds,
    RuntimeTermination,
    Termination,
    TerminationPhase,
)
from evictd.clients.cri.channel import Pending
from evictd.clients.cri.values import CriContainer, CriSandbox
from evictd.core.units.duration import SECOND
from evictd.errors import RuntimeNotFoundError, RuntimeRefusedError
from tests.observe.runtime_double import container, sandbox

START = 1000 * SECOND


class Runtime:
    """Notes the stops that it is asked for, which `answer` ends; lists `running`, each with its sandbox, and `ready` at once."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, int]] = []
        self.stopped_sandboxes: list[str] = []
        self.running: dict[str, str] = {}
        self.ready: set[str] = set()
        self._unanswered: dict[str, Future[Any]] = {}

    def answer(self, *names: str, error: Exception | None = None) -> None:
        """End stops that are under way."""
        for name in names:
            self._unanswered[name].set_result(error)

    def begin_stop_container(self, container_id: str, grace_seconds: int) -> Pending[None]:
        self.asked.append((container_id, grace_seconds))
        call = self._unanswered[container_id] = Future[Any]()
        return Pending(call, "StopContainer", _read, timeout=60)

    def begin_stop_sandbox(self, sandbox_id: str) -> Pending[None]:
        self.stopped_sandboxes.append(sandbox_id)
        self.ready.discard(sandbox_id)
        return _ended(None)

    def begin_list_containers(self, uid: str = "") -> Pending[tuple[CriContainer, ...]]:
        return _ended(tuple(container(each, each, sandbox_id=of) for each, of in self.running.items()))

    def begin_list_sandboxes(self, uid: str = "") -> Pending[tuple[CriSandbox, ...]]:
        return _ended(tuple(replace(sandbox("u1"), id=each) for each in sorted(self.ready)))


def _read(answer: Any) -> Any:
    """Raise what stands for the runtime's error, which the channel would have mapped."""
    if isinstance(answer, Exception):
        raise answer
    return answer


def _ended(value: Any) -> Pending[Any]:
    call = Future[Any]()
    call.set_result(value)
    return Pending(call, "call", _read, timeout=60)


def victim_of(
    runtime: Runtime, *containers: str, grace_seconds: int = 30, sidecars: tuple[str, ...] = ()
) -> RuntimeTermination:
    """A pod with the sandbox `s` whose stop has begun."""
    runtime.running |= dict.fromkeys(containers, "s")
    runtime.ready.add("s")
    victim = RuntimeTermination(
        runtime,
        Termination(uid="u1", started_at=START, grace_ends_at=START + grace_seconds * SECOND),
        RunningIds(frozenset(containers), frozenset({"s"}), sidecars),
        minimum_grace_seconds=1,
        changed=threading.Event(),
    )
    victim.start(START)
    return victim


def advance(victim: RuntimeTermination, now: int) -> TerminationPhase:
    """Take every step that is possible at this time; there are fewer phases than that."""
    for _ in range(10):
        victim.advance(now)
    return victim.phase


def end(runtime: Runtime, *names: str) -> None:
    """Have containers end, and their stops answered."""
    for name in names:
        del runtime.running[name]
    runtime.answer(*names)


def test_the_sandbox_is_stopped_after_the_containers_and_a_listing_confirms_the_end() -> None:
    runtime = Runtime()
    victim = victim_of(runtime, "a", "b")
    end(runtime, "a")
    assert advance(victim, START + SECOND) is TerminationPhase.STOPPING_CONTAINERS
    assert runtime.stopped_sandboxes == []
    end(runtime, "b")
    assert advance(victim, START + 2 * SECOND) is TerminationPhase.FINISHED
    assert runtime.stopped_sandboxes == ["s"]
    assert (victim.state.containers_ended_at, victim.state.finished_at) == (START + 2 * SECOND, START + 2 * SECOND)
    assert (victim.state.remaining, victim.state.stopped) == ((), ("a", "b", "s"))


def test_the_rest_of_a_grace_period_is_rounded_up() -> None:
    """A container must not have less than it was promised; CRI has whole seconds."""
    runtime = Runtime()
    victim = victim_of(runtime, "a")
    victim.shorten(START + SECOND // 2, START + 3 * SECOND)
    victim.shorten(START + 2 * SECOND, START + 2 * SECOND)
    assert runtime.asked == [("a", 30), ("a", 3), ("a", 1)]


def test_a_stop_that_fails_within_the_grace_leaves_the_sandbox_alone_and_is_repeated() -> None:
    """Stopping the sandbox would kill what has grace left."""
    runtime = Runtime()
    victim = victim_of(runtime, "a")
    runtime.answer("a", error=RuntimeRefusedError("busy"))
    assert advance(victim, START + 1) is TerminationPhase.BACKING_OFF
    assert victim.due_at == START + FIRST_DELAY
    assert advance(victim, START + FIRST_DELAY) is TerminationPhase.STOPPING_CONTAINERS
    assert runtime.asked == [("a", 30), ("a", 30)]
    assert runtime.stopped_sandboxes == []
    assert (victim.state.attempts, victim.state.errors) == (2, ("busy",))


def test_a_stop_that_fails_after_the_grace_has_the_sandbox_stopped() -> None:
    runtime = Runtime()
    victim = victim_of(runtime, "a")
    runtime.answer("a", error=RuntimeRefusedError("busy"))
    advance(victim, START + 30 * SECOND)
    assert runtime.stopped_sandboxes == ["s"]
    assert victim.state.containers_ended_at is None


def test_a_container_that_is_started_meanwhile_is_stopped_not_before_the_next_attempt_is_due() -> None:
    runtime = Runtime()
    victim = victim_of(runtime, "a")
    end(runtime, "a")
    runtime.running["new"] = "s"
    assert advance(victim, START + 1) is TerminationPhase.BACKING_OFF
    assert runtime.asked == [("a", 30)]
    assert victim.state.remaining == ("new",)
    advance(victim, START + FIRST_DELAY)
    assert runtime.asked == [("a", 30), ("new", 30)]


def test_a_known_container_counts_also_under_a_sandbox_that_is_not_known() -> None:
    """A runtime that was restarted may list it before its sandbox; those of other pods are left alone."""
    runtime = Runtime()
    victim = victim_of(runtime, "a")
    runtime.running = {"a": "elsewhere", "other": "others"}
    runtime.answer("a")
    assert advance(victim, START + 1) is TerminationPhase.BACKING_OFF
    assert victim.state.remaining == ("a",)


def test_what_is_listed_but_not_found_is_not_waited_for() -> None:
    runtime = Runtime()
    victim = victim_of(runtime, "a")
    runtime.answer("a", error=RuntimeNotFoundError("a"))
    assert advance(victim, START + 1) is TerminationPhase.FINISHED
    assert len(victim.state.errors) == 1


def test_an_overdue_answer_is_given_up() -> None:
    runtime = Runtime()
    victim = victim_of(runtime, "a")
    assert victim.due_at == START + 30 * SECOND + OVERDUE
    assert advance(victim, START + 30 * SECOND + OVERDUE - 1) is TerminationPhase.STOPPING_CONTAINERS
    assert runtime.stopped_sandboxes == []
    advance(victim, START + 30 * SECOND + OVERDUE)
    assert runtime.stopped_sandboxes == ["s"]


def test_sidecars_stop_last_and_one_after_another() -> None:
    runtime = Runtime()
    victim = victim_of(runtime, "main", "first", "second", sidecars=("second", "first"))
    for name in ("main", "second", "first"):
        advance(victim, START + 1)
        assert runtime.asked[-1] == (name, 30)
        end(runtime, name)
    assert advance(victim, START + 1) is TerminationPhase.FINISHED


def test_at_the_end_of_the_grace_no_sidecar_waits_for_another_container() -> None:
    runtime = Runtime()
    victim = victim_of(runtime, "main", "first", "second", sidecars=("second", "first"))
    assert victim.due_at == START + 30 * SECOND
    advance(victim, START + 30 * SECOND)
    assert runtime.asked == [("main", 30), ("first", 1), ("second", 1)]
