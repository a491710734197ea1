"""A thread's work that fails: told once, tried again later and later, and nobody else's business."""

import pytest

from evictd.core.duration import SECOND
from evictd.guard import FIRST_REST, LAST_REST, Guard, to_stderr


def boom() -> str:
    raise KeyError("lost")


class Complaints:
    def __init__(self) -> None:
        self.told: list[tuple[str, str]] = []

    def __call__(self, source: str, detail: str) -> None:
        self.told.append((source, detail))


def test_what_works_is_handed_through() -> None:
    guard = Guard("thread", complaints := Complaints())
    assert guard.run("a", lambda: "done", 0, otherwise="") == "done"
    assert (complaints.told, guard.rests("a", 0), guard.wait(0)) == ([], False, None)


def test_a_failure_is_told_once_and_rests_longer_each_time() -> None:
    guard, now, rests = Guard("thread", complaints := Complaints()), 0, []
    for _ in range(9):
        assert guard.run("a", boom, now, otherwise="nothing") == "nothing"
        rest = guard.wait(now)
        assert rest is not None
        assert guard.rests("a", now)
        assert not guard.rests("a", now + rest)
        rests.append(rest)
        now += rest
    assert rests[:3] == [FIRST_REST, 2 * FIRST_REST, 4 * FIRST_REST]
    assert rests[-1] == LAST_REST
    ((source, detail),) = complaints.told
    assert source == "thread"
    assert detail.startswith("unforeseen: KeyError: 'lost' (test_guard.py:")


def test_other_pieces_are_not_concerned_and_success_begins_anew() -> None:
    guard = Guard("thread", complaints := Complaints())
    guard.run("a", boom, 0, otherwise="")
    assert not guard.rests("b", 0)
    guard.run("a", lambda: "", SECOND, otherwise="")
    guard.run("a", boom, 2 * SECOND, otherwise="")
    assert guard.wait(2 * SECOND) == FIRST_REST
    assert len(complaints.told) == 2


def test_what_failed_long_ago_and_never_came_again_is_forgotten() -> None:
    guard = Guard("thread", Complaints())
    for number in range(50):
        guard.run(number, boom, number * 3600 * SECOND, otherwise="")
    assert len(guard._failed) == 1


def test_where_nobody_was_named_it_goes_to_standard_error(capsys: pytest.CaptureFixture[str]) -> None:
    to_stderr("thread", "detail")
    assert capsys.readouterr().err == "evictd: thread: detail\n"
