"""A notifier follows its file: it comes, goes, and is opened anew with it."""

from pathlib import Path

import pytest

from evictd.errors import NodeError
from evictd.observe.kept_notifier import KeptNotifier


class Bell:
    """A notifier without a kernel."""

    name = "bell"
    events = 0

    def __init__(self) -> None:
        self.closed = False

    def fileno(self) -> int:
        return -1

    def drain(self) -> None:
        pass

    def close(self) -> None:
        self.closed = True


class Bells:
    """An opener that keeps what it gave out, and refuses when told to."""

    def __init__(self) -> None:
        self.given: list[Bell] = []
        self.refusal = ""

    def open(self, path: Path) -> Bell:
        if self.refusal:
            raise NodeError(f"{path.name}: {self.refusal}")
        self.given.append(Bell())
        return self.given[-1]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    file = tmp_path / "memory.events"
    file.write_text("1")
    return file


def replace(file: Path) -> None:
    fresh = file.with_name("fresh")
    fresh.write_text("2")
    fresh.rename(file)


def test_nothing_is_opened_before_it_is_looked_for(file: Path) -> None:
    bells = Bells()
    kept = KeptNotifier(lambda: file, bells.open, print)
    assert kept.current is None
    kept.renew()
    assert kept.current is bells.given[0]


def test_the_same_file_stays_open(file: Path) -> None:
    bells = Bells()
    kept = KeptNotifier(lambda: file, bells.open, print)
    for _ in range(3):
        kept.renew()
    assert len(bells.given) == 1
    assert not bells.given[0].closed


def test_another_file_of_the_same_name_is_opened_anew(file: Path) -> None:
    bells = Bells()
    kept = KeptNotifier(lambda: file, bells.open, print)
    kept.renew()
    replace(file)
    kept.renew()
    assert [bell.closed for bell in bells.given] == [True, False]
    assert kept.current is bells.given[1]


def test_a_file_that_goes_takes_the_notifier_along(file: Path) -> None:
    bells = Bells()
    kept = KeptNotifier(lambda: file, bells.open, print)
    kept.renew()
    file.unlink()
    kept.renew()
    assert kept.current is None
    assert bells.given[0].closed


def test_what_was_refused_is_tried_again_and_told_once_for_each_file(file: Path) -> None:
    bells, told = Bells(), list[str]()
    kept = KeptNotifier(lambda: file, bells.open, told.append)
    bells.refusal = "too many"
    kept.renew()
    kept.renew()
    assert told == ["memory.events: too many"]
    replace(file)
    kept.renew()
    assert len(told) == 2
    bells.refusal = ""
    kept.renew()
    assert kept.current is bells.given[0]


def test_one_that_failed_is_given_back_told_once_and_opened_anew(file: Path) -> None:
    bells, told = Bells(), list[str]()
    kept = KeptNotifier(lambda: file, bells.open, told.append)
    for _ in range(2):
        kept.renew()
        kept.failed("refused a level")
        assert kept.current is None
    assert [bell.closed for bell in bells.given] == [True, True]
    assert told == ["refused a level"]


def test_one_that_failed_because_its_file_is_gone_says_nothing(file: Path) -> None:
    bells, told = Bells(), list[str]()
    kept = KeptNotifier(lambda: file, bells.open, told.append)
    kept.renew()
    file.unlink()
    kept.failed("no such device")
    assert bells.given[0].closed
    assert told == []
