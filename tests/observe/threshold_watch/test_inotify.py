"""Modifications of a file as events to poll."""

import select
from pathlib import Path

import pytest

from evictd.errors import NodeError
from evictd.observe.threshold_watch.inotify import FileWatch


def ready(watch: FileWatch) -> bool:
    poll = select.poll()
    poll.register(watch.fileno(), watch.events)
    return bool(poll.poll(0))


def test_a_change_can_be_polled_and_taken(tmp_path: Path) -> None:
    file = tmp_path / "memory.events"
    file.write_text("oom 0\n")
    with FileWatch(file) as watch:
        assert not ready(watch)
        file.write_text("oom 1\n")
        assert ready(watch)
        watch.drain()
        assert not ready(watch)
        watch.drain()  # nothing more to take is no error


def test_a_file_that_is_not_there_is_one_clear_error(tmp_path: Path) -> None:
    before = len(list(Path("/proc/self/fd").iterdir()))
    with pytest.raises(NodeError, match="cannot be watched"):
        FileWatch(tmp_path / "memory.events")
    assert len(list(Path("/proc/self/fd").iterdir())) == before
