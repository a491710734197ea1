"""Order and pace of what goes to the API server."""

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field

import pytest

from evictd.act.cluster.request_queue import Call, Clocks, RequestQueue, RequestQueues
from evictd.core.units.duration import MILLISECOND, MINUTE, SECOND
from evictd.errors import ApiRefusedError, ApiUnavailableError
from tests.kube.waiting import eventually
from tests.recorded_errors import RecordedErrors


@dataclass
class Names:
    """A source that sends names; an error in the list is raised instead, once."""

    log: list[str]
    todo: list[str | Exception] = field(default_factory=list)
    due: int | None = None
    refusals: list[str] = field(default_factory=list)

    def call(self, _now: int, /) -> Call | None:
        return self._send if self.todo else None

    def _send(self) -> None:
        first = self.todo[0]
        if isinstance(first, Exception):
            if not isinstance(first, ApiUnavailableError):
                self.todo.pop(0)
            raise first
        self.log.append(first)
        self.todo.pop(0)

    def due_at(self, _now: int, /) -> int | None:
        return self.due

    def refused(self, error: ApiRefusedError, _now: int, /) -> None:
        self.refusals.append(str(error))


def clocks(now: Callable[[], int] = lambda: 0) -> Clocks:
    return Clocks(now=now, wall=now, random=lambda: 0.5)


def queue_of(*sources: Names) -> RequestQueue:
    return RequestQueue(sources, clocks())


def test_the_first_source_goes_first() -> None:
    """However long the others have waited."""
    log: list[str] = []
    first, second = Names(log), Names(log, ["event", "event"])
    queue = queue_of(first, second)
    queue.step(0)
    first.todo.append("conditions")
    queue.step(1)
    queue.step(2)
    assert log == ["event", "conditions", "event"]


def test_never_more_than_five_in_a_second() -> None:
    """Five at once, then one each time that the oldest of five is a second old."""
    log: list[str] = []
    source = Names(log, ["x"] * 20)
    queue, now, times = queue_of(source), 0, []
    while source.todo:
        wait = queue.step(now)
        if wait == 0:
            times.append(now)
        now += wait or 0
    assert max(sum(1 for other in times if at <= other < at + SECOND) for at in times) == 5
    assert now == 3 * SECOND


def test_an_outage_lets_one_request_try_at_a_time_with_growing_pauses() -> None:
    """Everything waits behind it; when it works all goes on in order."""
    log: list[str] = []
    down = ApiUnavailableError("down")
    first, second = Names(log, [down]), Names(log, ["event"])
    now = 0
    queue = RequestQueue([first, second], clocks(lambda: now))
    pauses = []
    for _ in range(4):
        queue.step(now)
        pause = queue.step(now)
        assert pause is not None
        pauses.append(pause)
        now += pause
    assert [pause // (500 * MILLISECOND) for pause in pauses] == [1, 2, 4, 8]
    assert (log, queue.problem) == ([], "down")
    first.todo = ["conditions"]
    queue.step(now)
    queue.step(now)
    assert (log, queue.problem) == (["conditions", "event"], "")


def test_retry_after_is_honoured() -> None:
    """Not earlier than the server asked for."""
    source = Names([], [ApiUnavailableError("busy", retry_after_seconds=9)])
    queue = queue_of(source)
    queue.step(0)
    pause = queue.step(0)
    assert pause is not None
    assert pause >= 9 * SECOND


def test_a_refusal_concerns_its_source_alone() -> None:
    """But a conflict is tried again."""
    log: list[str] = []
    first = Names(log, [ApiRefusedError("no", status=403)])
    second = Names(log, ["event"])
    queue = queue_of(first, second)
    queue.step(0)
    queue.step(0)
    assert (log, first.refusals) == (["event"], ["no"])
    first.todo = [ApiRefusedError("conflict", status=409)]
    queue.step(0)
    assert first.refusals == ["no"]


def test_a_server_that_refuses_is_back() -> None:
    """Nothing else may be sent for long, or ever: what a role forbids must not look like an outage until then."""
    source = Names([], [ApiUnavailableError("connection refused")])
    queue = queue_of(source)
    queue.step(0)
    assert queue.problem == "connection refused"
    source.todo = [ApiRefusedError("no", status=403)]
    queue.step(MINUTE)
    assert (queue.problem, source.refusals) == ("", ["no"])


@pytest.mark.parametrize("due", [None, 7 * SECOND])
def test_an_idle_queue_sleeps_until_something_is_due(due: int | None) -> None:
    """Or until it is notified."""
    assert queue_of(Names([], due=due)).step(2 * SECOND) == (None if due is None else 5 * SECOND)


def test_an_unforeseen_exception_of_one_source_is_reported_once_and_delays_no_other() -> None:
    """The source rests, is tried again, and goes on when it can."""
    log: list[str] = []
    errors = RecordedErrors()
    broken, other = Names(log, ["conditions"]), Names(log, ["event"])
    broken.todo.insert(0, KeyError("lost"))
    broken.todo.insert(0, KeyError("lost"))
    queue = RequestQueue(
        [broken, other],
        clocks(),
        errors=errors,
    )
    assert queue.step(0) == 0
    assert (log, queue.step(0)) == (["event"], 500 * MILLISECOND)
    assert queue.step(500 * MILLISECOND) == SECOND
    ((source, detail),) = errors
    assert source == "api-requests"
    assert detail.startswith("unforeseen: KeyError")
    assert queue.step(1500 * MILLISECOND) == 0
    assert log == ["event", "conditions"]


def test_the_thread_outlives_whatever_is_raised() -> None:
    """Also between the sources, where no back-off applies."""
    log: list[str] = []
    failures = [KeyError("lost")]

    class Failing:
        def advance(self, _: int, /) -> None:
            if failures:
                raise failures.pop()

    source = Names(log)
    queue = RequestQueue([source], clocks(time.monotonic_ns), polled=Failing(), errors=RecordedErrors())
    queue.start()
    eventually(lambda: not failures)
    source.todo.append("a")
    queue.notify()
    eventually(lambda: log == ["a"])
    queue.close()
    assert not queue._thread.is_alive()


def test_the_thread_sends_drains_and_ends() -> None:
    """Start, notify, drain, close."""
    log: list[str] = []
    source = Names(log)
    queue = queue_of(source)
    queue.start()
    source.todo.append("a")
    queue.notify()
    eventually(lambda: log == ["a"])
    source.todo += ["b", "c"]
    queue.drain(10)
    assert log == ["a", "b", "c"]
    queue.close()
    assert not queue._thread.is_alive()


def test_a_request_that_hangs_does_not_keep_the_queue_from_closing() -> None:
    """What was not sent is dropped; the thread ends with its request."""
    sent, answered = threading.Event(), threading.Event()

    def hang() -> None:
        sent.set()
        answered.wait(20)

    class Hanging(Names):
        def call(self, _now: int, /) -> Call | None:
            return None if sent.is_set() else hang

    queue = queue_of(Hanging([]))
    queue.start()
    assert sent.wait(60)
    queue.close()
    assert queue._thread.is_alive()
    answered.set()
    queue._thread.join()


def test_what_the_server_cannot_do_for_one_source_delays_no_other() -> None:
    """It is tried again with growing pauses, at least the server's Retry-After."""
    log: list[str] = []
    busy = ApiUnavailableError("busy", retry_after_seconds=9, reached=True)
    first, second = Names(log, [busy]), Names(log, ["event"])
    queue = queue_of(first, second)
    queue.step(0)
    assert queue.step(0) == 0
    assert (log, queue.problem, queue.away) == (["event"], "busy", False)
    wait = queue.step(0)
    assert wait is not None
    assert wait >= 9 * SECOND
    first.todo = ["conditions"]
    queue.step(wait)
    assert (log, queue.problem) == (["event", "conditions"], "")


def test_a_lane_waits_for_no_other_and_ends_its_pause_when_another_hears_of_the_server() -> None:
    """Conditions are not the last to be sent after an outage."""
    log: list[str] = []
    down = ApiUnavailableError("down")
    conditions, pods = Names(log, [down]), Names(log, [down])
    queues = RequestQueues(queue_of(conditions), queue_of(pods), clocks=clocks())
    for queue in queues.queues:
        queue.step(0)
    assert queues.away
    conditions.todo, pods.todo = ["conditions"], ["pod"]
    pause = queues.queues[1].step(0)
    assert pause is not None
    assert pause > 0
    queues.queues[1].retry()
    queues.queues[1].step(0)
    queues.queues[0].step(0)
    assert (log, queues.away) == (["pod", "conditions"], False)
