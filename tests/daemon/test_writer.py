"""The one thread that touches the disk: in order, bounded, and never in the loop's way."""

import threading

from evictd.daemon.writer import Writer


class Complaints(list[tuple[str, str]]):
    """Collects what the writer complains about."""

    def __call__(self, source: str, detail: str) -> None:
        self.append((source, detail))


def test_jobs_run_in_order_and_all_of_them_before_the_end() -> None:
    done: list[int] = []
    writer = Writer(Complaints())
    for number in range(50):
        assert writer.submit("test", lambda number=number: done.append(number))  # type: ignore[misc]
    assert writer.close()
    assert done == list(range(50))


def test_a_refusing_disk_is_complained_about_and_the_next_job_runs() -> None:
    complaints, done = Complaints(), threading.Event()
    writer = Writer(complaints)

    def refuse() -> None:
        raise OSError(28, "No space left on device", "/full/journal.jsonl")

    writer.submit("journal", refuse)
    writer.submit("journal", done.set)
    assert writer.close()
    assert done.is_set()
    assert complaints == [("journal", "/full/journal.jsonl: No space left on device")]


def test_a_job_that_raises_what_nobody_foresaw_is_told_of_and_the_next_one_runs() -> None:
    complaints, done = Complaints(), threading.Event()
    writer = Writer(complaints)

    def stumble() -> None:
        raise LookupError("no such thing")

    writer.submit("journal", stumble)
    writer.submit("journal", done.set)
    assert writer.close()
    assert done.is_set()
    assert [(source, detail.partition(" (")[0]) for source, detail in complaints] == [
        ("journal", "unforeseen: LookupError: no such thing")
    ]


def test_a_disk_that_hangs_never_blocks_who_hands_over() -> None:
    complaints, hanging, release = Complaints(), threading.Event(), threading.Event()
    writer = Writer(complaints, capacity=2)

    def hang() -> None:
        hanging.set()
        release.wait(30)

    writer.submit("journal", hang)
    assert hanging.wait(30)
    assert writer.submit("journal", lambda: None)
    assert writer.submit("journal", lambda: None)
    assert not writer.submit("journal", lambda: None)
    assert complaints[0][0] == "journal"
    release.set()
    assert writer.close()


def test_the_end_does_not_wait_for_a_dead_disk_for_ever() -> None:
    hanging, release = threading.Event(), threading.Event()
    writer = Writer(Complaints(), capacity=1)

    def hang() -> None:
        hanging.set()
        release.wait(30)

    writer.submit("state", hang)
    assert hanging.wait(30)
    assert not writer.close(timeout_seconds=0.05)
    release.set()
