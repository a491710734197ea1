"""What a stopped pod leaves is removed once, on another thread; what cannot be removed is reported and tried again."""

import threading
from collections.abc import Callable
from functools import partial

import pytest

from evictd.act.stop.cleanup import FIRST_DELAY, MAX_FAILURES, Cleanup
from evictd.act.trees import UnfinishedError
from evictd.core.model.observation import Problem
from evictd.core.units.duration import SECOND
from evictd.errors import NodeError
from evictd_testnode.tool import wait_for
from tests.recorded_errors import NoErrors, RecordedErrors


def test_asking_whether_it_is_done_begins_nothing() -> None:
    removed: list[str] = []
    cleanup = Cleanup(removed.append, NoErrors(), lambda: None)
    assert not cleanup.done("a")
    cleanup.close()
    assert removed == []


def test_leftovers_are_removed_once_and_the_loop_is_woken() -> None:
    removed: list[str] = []
    woken = threading.Event()
    cleanup = Cleanup(removed.append, NoErrors(), woken.set)
    cleanup.begin("a")
    cleanup.begin("a")
    assert woken.wait(60)
    assert cleanup.done("a")
    cleanup.close()
    assert removed == ["a"]


def test_a_failure_is_reported_and_does_not_keep_the_pod_from_counting_as_gone() -> None:
    errors = RecordedErrors()
    woken = threading.Event()

    def refuse(uid: str) -> None:
        raise NodeError(f"{uid}: Read-only file system")

    cleanup = Cleanup(refuse, errors, woken.set)
    cleanup.begin("a")
    assert woken.wait(60)
    assert cleanup.done("a")
    assert errors == [("volumes", "a: Read-only file system")]
    cleanup.close()


def test_a_pod_that_is_forgotten_would_be_cleaned_again() -> None:
    removed: list[str] = []
    cleanup = Cleanup(removed.append, NoErrors(), lambda: None)
    cleanup.begin("a")
    cleanup.retain(frozenset())
    cleanup.begin("a")
    cleanup.close()
    assert removed == ["a", "a"]


def test_a_pod_that_is_forgotten_while_it_is_cleaned_leaves_no_record() -> None:
    go_on, woken = threading.Event(), threading.Event()
    cleanup = Cleanup(lambda _: go_on.wait(30), NoErrors(), woken.set)
    cleanup.begin("a")
    assert not cleanup.done("a")
    cleanup.retain(frozenset({"b"}))
    go_on.set()
    assert woken.wait(60)
    cleanup.close()
    assert cleanup._done == cleanup._begun == set()


def test_a_pod_that_ends_after_it_is_forgotten_can_be_cleaned_once_more() -> None:
    """The thread that kills pods begins it then; a static pod keeps its uid, and may be evicted again."""
    removed: list[str] = []
    cleanup = Cleanup(removed.append, NoErrors(), lambda: None)
    cleanup.retain(frozenset())
    killing = threading.Thread(target=cleanup.begin, args=("a",))
    killing.start()
    killing.join()
    cleanup.retain(frozenset())
    assert cleanup._begun == set()
    cleanup.begin("a")
    cleanup.close()
    assert removed == ["a", "a"]


class Stuck:
    """A remover that refuses as often as it is made to."""

    def __init__(self, times: int) -> None:
        self.times = times
        self.attempts = 0
        self.errors = RecordedErrors()
        self.cleanup = Cleanup(self.remove, self.errors, lambda: None)

    def remove(self, uid: str) -> None:
        self.attempts += 1
        if self.attempts <= self.times:
            raise NodeError(f"{uid}: busy")

    def attempted(self, times: int) -> bool:
        return wait_for(lambda: self.attempts == times)


def test_what_could_not_be_removed_is_tried_again_later_until_it_is_gone() -> None:
    """Reported once, a problem of every cycle until then, also when the core no longer waits for the pod."""
    stuck = Stuck(times=2)
    cleanup = stuck.cleanup
    cleanup.begin("a")
    assert wait_for(lambda: cleanup.done("a"))
    cleanup.retain(frozenset())
    assert cleanup.problems() == (Problem(source="volumes of pod a", detail="a: busy"),)
    now, due = 5 * SECOND, 5 * SECOND + FIRST_DELAY
    for early in (now, due - 1):
        cleanup.retry(early, ())
    assert stuck.attempts == 1
    cleanup.retry(due, ())
    assert stuck.attempted(2)
    assert wait_for(lambda: not cleanup._failures["a"].under_way)
    cleanup.retry(due, ())
    cleanup.retry(due + 2 * FIRST_DELAY - 1, ())
    assert stuck.attempts == 2
    cleanup.retry(due + 2 * FIRST_DELAY, ())
    assert stuck.attempted(3)
    cleanup.close()
    assert cleanup.problems() == ()
    assert stuck.errors.details == ["a: busy"]
    assert cleanup._begun == cleanup._done == set()


def test_what_is_left_of_a_pod_that_runs_again_is_its_own() -> None:
    """A static pod keeps its uid."""
    stuck = Stuck(times=1)
    stuck.cleanup.begin("a")
    assert wait_for(lambda: stuck.cleanup.done("a"))
    stuck.cleanup.retry(0, ())
    stuck.cleanup.retry(FIRST_DELAY, {"a"})
    stuck.cleanup.retry(3 * FIRST_DELAY, ())
    stuck.cleanup.close()
    assert stuck.attempts == 1
    assert stuck.cleanup.problems() == ()


def test_the_problem_of_each_pod_has_a_source_of_its_own() -> None:
    """What is logged is told apart by its source."""

    def refuse(uid: str) -> None:
        raise NodeError(f"volumes of pod {uid}: Read-only file system")

    cleanup = Cleanup(refuse, RecordedErrors(), lambda: None)
    for uid in ("a", "b"):
        cleanup.begin(uid)
    cleanup.close()
    assert [str(problem.source) for problem in cleanup.problems()] == ["volumes of pod a", "volumes of pod b"]
    assert {problem.detail for problem in cleanup.problems()} == {"Read-only file system"}


@pytest.mark.slow
def test_the_number_of_leftovers_that_are_retried_is_bounded() -> None:
    stuck = Stuck(times=10 * MAX_FAILURES)
    for number in range(MAX_FAILURES + 3):
        stuck.cleanup.begin(str(number))
        assert wait_for(partial(stuck.cleanup.done, str(number)))
    assert len(stuck.cleanup.problems()) == MAX_FAILURES
    stuck.cleanup.close()


def test_leftovers_that_the_queue_refuses_are_bounded_too() -> None:
    cleanup = Cleanup(lambda _: None, RecordedErrors(), lambda: None)
    cleanup.close()
    for number in range(MAX_FAILURES + 3):
        cleanup.begin(str(number))
    assert len(cleanup.problems()) == MAX_FAILURES


class InParts:
    """A remover that gives way after each part of pod `a`; the first part ends when the other pods have been begun."""

    def __init__(self, parts: int) -> None:
        self.parts = parts
        self.calls: list[str] = []
        self.go_on = threading.Event()
        self.errors = RecordedErrors()
        self.cleanup = Cleanup(self.remove, self.errors, lambda: None)

    def remove(self, uid: str) -> None:
        assert self.go_on.wait(60)
        self.calls.append(uid)
        if uid == "a" and self.calls.count("a") < self.parts:
            raise UnfinishedError


def test_a_pod_with_a_million_entries_does_not_delay_the_others() -> None:
    """Its volume took forty seconds, and the next victim, dead for long, held up the eviction of the one after it."""
    parts = InParts(3)
    for uid in ("a", "b", "c"):
        parts.cleanup.begin(uid)
    parts.go_on.set()
    assert wait_for(lambda: parts.cleanup.done("a"))
    assert parts.calls == ["a", "b", "c", "a", "a"]
    parts.cleanup.close()
    assert parts.errors == []


def test_a_removal_in_parts_goes_on_while_the_queue_is_closed() -> None:
    """The parts are not put into the queue any more, and that is no error."""
    parts = InParts(50)
    parts.cleanup.begin("a")
    parts.cleanup.begin("b")
    closing = threading.Thread(target=parts.cleanup.close)
    closing.start()
    assert wait_for(lambda: parts.cleanup._worker._queue._closing)
    parts.go_on.set()
    closing.join(30)
    assert parts.cleanup.done("a")
    assert parts.cleanup.done("b")
    assert parts.errors == []


def test_what_is_tried_again_gives_way_too_and_is_a_problem_until_it_is_gone() -> None:
    left = ["busy", "unfinished", "unfinished"]
    steps: list[str] = []
    cleanup: Cleanup

    def remove(uid: str) -> None:
        steps.append(uid)
        assert (cleanup.problems() == ()) == (len(steps) == 1)
        match left.pop(0) if left else "":
            case "busy":
                raise NodeError("busy")
            case "unfinished":
                raise UnfinishedError

    cleanup = Cleanup(remove, RecordedErrors(), lambda: None)
    cleanup.begin("a")
    assert wait_for(lambda: cleanup.done("a"))
    cleanup.retry(0, ())
    cleanup.retry(FIRST_DELAY, ())
    assert wait_for(lambda: cleanup.problems() == ())
    assert steps == ["a"] * 4
    cleanup.close()


def test_an_attempt_that_fails_before_the_loop_goes_on_is_not_the_last(monkeypatch: pytest.MonkeyPatch) -> None:
    """The thread may be done with it before `submit` returns."""
    stuck = Stuck(times=3)
    stuck.cleanup.begin("a")
    assert wait_for(lambda: stuck.cleanup.done("a"))

    def at_once(source: str, job: Callable[[], None]) -> bool:
        job()
        return True

    monkeypatch.setattr(stuck.cleanup._worker, "submit", at_once)
    for now in (0, FIRST_DELAY, FIRST_DELAY + 1, 3 * FIRST_DELAY + 1):
        stuck.cleanup.retry(now, ())
    assert stuck.attempts == 3
    stuck.cleanup.close()
