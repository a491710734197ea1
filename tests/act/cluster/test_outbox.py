"""Order and pace of what goes to the API server."""

import time
from dataclasses import dataclass, field

import pytest

from evictd.act.cluster.outbox import Call, Outbox
from evictd.core.duration import MILLISECOND, MINUTE, SECOND
from evictd.errors import ApiRefusedError, ApiUnavailableError
from tests.kube.waiting import eventually


@dataclass
class Names:
    """A lane that sends names; an error in the list is raised instead, once."""

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


def outbox(*lanes: Names) -> Outbox:
    return Outbox(lanes, clock=lambda: 0, random=lambda: 0.5)


def test_the_first_lane_goes_first() -> None:
    """However long the others have waited."""
    log: list[str] = []
    first, second = Names(log), Names(log, ["event", "event"])
    box = outbox(first, second)
    box.step(0)
    first.todo.append("conditions")
    box.step(1)
    box.step(2)
    assert log == ["event", "conditions", "event"]


def test_never_more_than_five_in_a_second() -> None:
    """Five at once, then one each time that the oldest of five is a second old."""
    log: list[str] = []
    lane = Names(log, ["x"] * 20)
    box, now, times = outbox(lane), 0, []
    while lane.todo:
        wait = box.step(now)
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
    box = Outbox([first, second], clock=lambda: now, random=lambda: 0.5)
    pauses = []
    for _ in range(4):
        box.step(now)
        pause = box.step(now)
        assert pause is not None
        pauses.append(pause)
        now += pause
    assert [pause // (500 * MILLISECOND) for pause in pauses] == [1, 2, 4, 8]
    assert (log, box.problem) == ([], "down")
    first.todo = ["conditions"]
    box.step(now)
    box.step(now)
    assert (log, box.problem) == (["conditions", "event"], "")


def test_retry_after_is_honoured() -> None:
    """Not earlier than the server asked for."""
    lane = Names([], [ApiUnavailableError("busy", retry_after_seconds=9)])
    box = outbox(lane)
    box.step(0)
    pause = box.step(0)
    assert pause is not None
    assert pause >= 9 * SECOND


def test_a_refusal_is_the_lanes_own_business_and_holds_nobody_up() -> None:
    """But a conflict is tried again."""
    log: list[str] = []
    first = Names(log, [ApiRefusedError("no", status=403)])
    second = Names(log, ["event"])
    box = outbox(first, second)
    box.step(0)
    box.step(0)
    assert (log, first.refusals) == (["event"], ["no"])
    first.todo = [ApiRefusedError("conflict", status=409)]
    box.step(0)
    assert first.refusals == ["no"]


def test_a_server_that_refuses_is_back() -> None:
    """Nothing else may be sent for long, or ever: what a role forbids must not look like an outage until then."""
    lane = Names([], [ApiUnavailableError("connection refused")])
    box = outbox(lane)
    box.step(0)
    assert box.problem == "connection refused"
    lane.todo = [ApiRefusedError("no", status=403)]
    box.step(MINUTE)
    assert (box.problem, lane.refusals) == ("", ["no"])


@pytest.mark.parametrize("due", [None, 7 * SECOND])
def test_an_idle_box_sleeps_until_something_is_due(due: int | None) -> None:
    """Or until it is stirred."""
    assert outbox(Names([], due=due)).step(2 * SECOND) == (None if due is None else 5 * SECOND)


def test_what_nobody_foresaw_in_one_lane_is_told_once_and_holds_no_other_up() -> None:
    """The lane rests, is tried again, and goes on when it can."""
    log: list[str] = []
    told: list[str] = []
    broken, other = Names(log, ["conditions"]), Names(log, ["event"])
    broken.todo.insert(0, KeyError("lost"))
    broken.todo.insert(0, KeyError("lost"))
    box = Outbox(
        [broken, other], clock=lambda: 0, random=lambda: 0.5, complain=lambda source, what: told.append(source + what)
    )
    assert box.step(0) == 0
    assert (log, box.step(0)) == (["event"], 500 * MILLISECOND)
    assert box.step(500 * MILLISECOND) == SECOND
    (once,) = told
    assert once.startswith("api-outboxunforeseen: KeyError")
    assert box.step(1500 * MILLISECOND) == 0
    assert log == ["event", "conditions"]


def test_the_thread_outlives_whatever_is_raised() -> None:
    """Also between the lanes, where nobody rests."""
    log: list[str] = []
    failures = [KeyError("lost")]

    def each_step(_: int) -> None:
        if failures:
            raise failures.pop()

    lane = Names(log)
    box = Outbox([lane], clock=time.monotonic_ns, random=lambda: 0.5, each_step=each_step, complain=lambda *_: None)
    box.start()
    eventually(lambda: not failures)
    lane.todo.append("a")
    box.stir()
    eventually(lambda: log == ["a"])
    box.close()
    assert not box._thread.is_alive()


def test_the_thread_sends_drains_and_ends() -> None:
    """Start, stir, drain, close."""
    log: list[str] = []
    lane = Names(log)
    box = outbox(lane)
    box.start()
    lane.todo.append("a")
    box.stir()
    eventually(lambda: log == ["a"])
    lane.todo += ["b", "c"]
    box.drain(10)
    assert log == ["a", "b", "c"]
    box.close()
    assert not box._thread.is_alive()
