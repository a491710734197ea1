"""Modifications of a file as events to poll."""

import select
import shutil
import subprocess
import sys
from contextlib import closing
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
    with closing(FileWatch(file)) as watch:
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


USED_UP = """
import sys
from pathlib import Path
from evictd.observe.threshold_watch.inotify import FileWatch
from evictd.observe.threshold_watch.renewing_notifier import RenewingNotifier
limit = Path("/proc/sys/user/max_inotify_instances")
limit.write_text("0")

class Errors:
    def report_error(self, source, detail):
        print(source, "|", detail)

file = Path(sys.argv[1])
kept = RenewingNotifier(lambda: file, FileWatch, Errors())
kept.renew()
kept.renew()
limit.write_text("100")
kept.renew()
print("then", kept.current)
kept.close()
"""


def test_used_up_instances_are_reported_once_and_tried_again(tmp_path: Path) -> None:
    """Any process of the user can use them up; a namespace of users has a number of its own."""
    unshare = [str(shutil.which("unshare")), "--user", "--map-root-user"]
    if subprocess.run([*unshare, "true"], check=False, capture_output=True, timeout=60).returncode:
        pytest.skip("no namespace of users here")
    (tmp_path / "memory.events").write_text("oom 0\n")
    argv = [*unshare, sys.executable, "-c", USED_UP, str(tmp_path / "memory.events")]
    ended = subprocess.run(argv, capture_output=True, text=True, timeout=60, check=False)
    assert ended.stderr == ""
    reported, then = ended.stdout.splitlines()
    assert "inotify: Too many open files" in reported
    assert then.startswith("then ")
    assert "None" not in then
