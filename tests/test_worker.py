"""Bounded queues with their threads, and the back-off of work that fails."""

import linecache
import threading

import pytest

from evictd.core.units.duration import SECOND
from evictd.errors import NodeError
from evictd.worker import FIRST_REST, LAST_REST, STDERR, ErrorBackoff, JobQueue, WorkQueue, describe
from tests.recorded_errors import RecordedErrors
from tests.threads import REFUSAL, no_thread_to_give


def boom() -> str:
    raise KeyError("lost")


def test_a_result_is_returned() -> None:
    guard = ErrorBackoff("thread", errors := RecordedErrors())
    assert guard.run("a", lambda: "done", 0, otherwise="") == "done"
    assert (errors, guard.rests("a", 0), guard.wait(0)) == ([], False, None)


def test_a_failure_is_reported_once_and_rests_longer_each_time() -> None:
    guard, now, rests = ErrorBackoff("thread", errors := RecordedErrors()), 0, []
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
    ((source, detail),) = errors
    assert source == "thread"
    assert detail.startswith("unforeseen: KeyError: 'lost' (test_worker.py:")


def test_a_node_without_a_free_pid_is_one_clear_error() -> None:
    """It ended `evictd run` with a traceback."""
    with no_thread_to_give(), pytest.raises(NodeError, match=f"thread evictd-log: {REFUSAL}"):
        WorkQueue("evictd-log", lambda _: None, capacity=1)


def test_an_error_is_described_without_reading_a_source_file(monkeypatch: pytest.MonkeyPatch) -> None:
    """The loop describes errors too, and a disk that hangs may have the file."""
    read, described = list[object](), ""
    with monkeypatch.context() as patched:
        patched.setattr(linecache, "checkcache", read.append)
        try:
            boom()
        except KeyError as error:
            described = describe(error)
    assert described.startswith("unforeseen: KeyError: 'lost' (test_worker.py:")
    assert read == []


def test_each_piece_has_its_own_back_off_and_success_ends_it() -> None:
    guard = ErrorBackoff("thread", errors := RecordedErrors())
    guard.run("a", boom, 0, otherwise="")
    assert not guard.rests("b", 0)
    assert guard.failure("a").startswith("unforeseen: KeyError")
    guard.run("a", lambda: "", SECOND, otherwise="")
    assert guard.failure("a") == ""
    guard.run("a", boom, 2 * SECOND, otherwise="")
    assert guard.wait(2 * SECOND) == FIRST_REST
    assert len(errors) == 2


def test_a_piece_that_is_not_run_again_is_forgotten() -> None:
    guard = ErrorBackoff("thread", RecordedErrors())
    for number in range(50):
        guard.run(number, boom, number * 3600 * SECOND, otherwise="")
    assert len(guard._failed) == 1


def test_errors_without_telemetry_go_to_standard_error(capsys: pytest.CaptureFixture[str]) -> None:
    STDERR.report_error("thread", "detail")
    assert capsys.readouterr().err == "evictd: thread: detail\n"


def test_a_queue_is_bounded_by_the_sizes_of_what_waits() -> None:
    taken, release, worked = threading.Event(), threading.Event(), list[str]()

    def work(item: str) -> None:
        taken.set()
        assert release.wait(60)
        worked.append(item)

    queue = WorkQueue("test", work, capacity=10)
    assert queue.put("first", 10)
    assert taken.wait(60)
    assert queue.put("second", 10)
    assert not queue.put("third", 1)
    release.set()
    assert queue.close(30)
    assert worked == ["first", "second"]
    assert not queue.put("fourth", 1)


def test_jobs_run_in_order_and_all_of_them_before_the_end() -> None:
    done: list[int] = []
    jobs = JobQueue(RecordedErrors())
    for number in range(50):
        assert jobs.submit("test", lambda number=number: done.append(number))  # type: ignore[misc]
    assert jobs.close()
    assert done == list(range(50))


def test_an_error_of_a_job_is_reported_and_the_next_job_runs() -> None:
    errors, done = RecordedErrors(), threading.Event()
    jobs = JobQueue(errors)

    def refuse() -> None:
        raise OSError(28, "No space left on device", "/full/journal.jsonl")

    jobs.submit("journal", refuse)
    jobs.submit("journal", done.set)
    assert jobs.close()
    assert done.is_set()
    assert errors == [("journal", "/full/journal.jsonl: No space left on device")]


def test_an_error_that_repeats_is_reported_once_until_a_job_of_its_source_succeeds() -> None:
    """Each cycle submits the failed job again."""
    errors = RecordedErrors()
    jobs = JobQueue(errors)

    def refuse() -> None:
        raise OSError(28, "No space left on device", "/full/state.json")

    for job in (refuse, refuse, lambda: None, refuse):
        jobs.submit("state", job)
    assert jobs.close()
    assert [source for source, _ in errors] == ["state", "state"]


def test_an_unforeseen_error_of_a_job_is_reported_and_the_next_job_runs() -> None:
    errors, done = RecordedErrors(), threading.Event()
    jobs = JobQueue(errors)

    def stumble() -> None:
        raise LookupError("no such thing")

    jobs.submit("journal", stumble)
    jobs.submit("journal", done.set)
    assert jobs.close()
    assert done.is_set()
    assert [(source, detail.partition(" (")[0]) for source, detail in errors] == [
        ("journal", "unforeseen: LookupError: no such thing")
    ]


def test_a_job_that_hangs_never_blocks_submit() -> None:
    errors, hanging, release = RecordedErrors(), threading.Event(), threading.Event()
    jobs = JobQueue(errors, capacity=2)

    def hang() -> None:
        hanging.set()
        release.wait(30)

    jobs.submit("journal", hang)
    assert hanging.wait(60)
    assert jobs.submit("journal", lambda: None)
    assert jobs.submit("journal", lambda: None)
    assert not jobs.submit("journal", lambda: None)
    assert errors[0][0] == "journal"
    release.set()
    assert jobs.close()


def test_close_gives_up_on_a_job_that_hangs() -> None:
    hanging, release = threading.Event(), threading.Event()
    jobs = JobQueue(RecordedErrors(), capacity=1)

    def hang() -> None:
        hanging.set()
        release.wait(30)

    jobs.submit("state", hang)
    assert hanging.wait(60)
    assert not jobs.close(timeout_seconds=0.05)
    release.set()
