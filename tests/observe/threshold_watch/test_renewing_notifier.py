"""A notifier is opened, closed and reopened as its file appears, disappears or is replaced."""

from pathlib import Path

import pytest

from evictd.errors import NodeError
from evictd.observe.threshold_watch.renewing_notifier import RenewingNotifier
from tests.recorded_errors import NoErrors, RecordedErrors


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
    """An opener that records its notifiers, and can refuse."""

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


def test_nothing_is_opened_before_renew(file: Path) -> None:
    bells = Bells()
    kept = RenewingNotifier(lambda: file, bells.open, NoErrors())
    assert kept.current is None
    kept.renew()
    assert kept.current is bells.given[0]


def test_the_same_file_stays_open(file: Path) -> None:
    bells = Bells()
    kept = RenewingNotifier(lambda: file, bells.open, NoErrors())
    for _ in range(3):
        kept.renew()
    assert len(bells.given) == 1
    assert not bells.given[0].closed


def test_another_file_of_the_same_name_is_opened_anew(file: Path) -> None:
    bells = Bells()
    kept = RenewingNotifier(lambda: file, bells.open, NoErrors())
    kept.renew()
    replace(file)
    kept.renew()
    assert [bell.closed for bell in bells.given] == [True, False]
    assert kept.current is bells.given[1]


def test_a_file_that_goes_takes_the_notifier_along(file: Path) -> None:
    bells = Bells()
    kept = RenewingNotifier(lambda: file, bells.open, NoErrors())
    kept.renew()
    file.unlink()
    kept.renew()
    assert kept.current is None
    assert bells.given[0].closed


def test_a_refused_notifier_is_retried_and_reported_once_per_file(file: Path) -> None:
    bells, errors = Bells(), RecordedErrors()
    kept = RenewingNotifier(lambda: file, bells.open, errors)
    bells.refusal = "too many"
    kept.renew()
    kept.renew()
    assert errors.details == ["memory.events: too many"]
    replace(file)
    kept.renew()
    assert len(errors) == 2
    bells.refusal = ""
    kept.renew()
    assert kept.current is bells.given[0]


def test_a_failed_notifier_is_closed_reported_once_and_opened_again(file: Path) -> None:
    bells, errors = Bells(), RecordedErrors()
    kept = RenewingNotifier(lambda: file, bells.open, errors)
    for _ in range(2):
        kept.renew()
        kept.failed("refused a level")
        assert kept.current is None
    assert [bell.closed for bell in bells.given] == [True, True]
    assert errors.details == ["refused a level"]


def test_a_notifier_whose_file_was_removed_is_not_reported(file: Path) -> None:
    bells, errors = Bells(), RecordedErrors()
    kept = RenewingNotifier(lambda: file, bells.open, errors)
    kept.renew()
    file.unlink()
    kept.failed("no such device")
    assert bells.given[0].closed
    assert errors.details == []
