"""Modifications of a file as events to poll."""

import os
import resource
import select
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from evictd.errors import NodeError
from evictd.observe.threshold_watch.kernel_notifiers import (
    UNPRIVILEGED_WINDOW_US,
    WINDOW_US,
    FileWatch,
    MemcgNotifier,
    PressureTrigger,
)
from tests.observe.threshold_watch.memcg_v1 import fill, finish, real_cgroup


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
from evictd.observe.threshold_watch.kernel_notifiers import FileWatch
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


PRESSURE = Path("/proc/pressure/memory")


@pytest.mark.root
def test_the_kernel_takes_a_trigger_with_the_shortest_window_it_allows() -> None:
    if os.geteuid() != 0 or not PRESSURE.exists():
        pytest.skip("needs root and a kernel with pressure stall information")
    with closing(PressureTrigger(PRESSURE)) as trigger:
        assert trigger.window_us in {WINDOW_US, UNPRIVILEGED_WINDOW_US}
        poll = select.poll()
        poll.register(trigger.fileno(), trigger.events)
        assert not any(event & select.POLLERR for _, event in poll.poll(0))


def test_no_pressure_file_is_one_clear_error(tmp_path: Path) -> None:
    with pytest.raises(NodeError, match="pressure triggers are unavailable"):
        PressureTrigger(tmp_path / "memory.pressure")


def test_nothing_is_left_open_after_a_refusal(tmp_path: Path) -> None:
    before = len(list(Path("/proc/self/fd").iterdir()))
    with pytest.raises(NodeError):
        PressureTrigger(tmp_path / "memory.pressure")
    assert len(list(Path("/proc/self/fd").iterdir())) == before


MI = 1 << 20


@pytest.fixture
def cgroup() -> Iterator[Path]:
    with real_cgroup() as path:
        yield path


def open_descriptors() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


def fired(notifier: MemcgNotifier, milliseconds: int) -> bool:
    poll = select.poll()
    poll.register(notifier.fileno(), notifier.events)
    return bool(poll.poll(milliseconds))


@pytest.mark.root
def test_a_level_that_is_crossed_fires(cgroup: Path) -> None:
    with closing(MemcgNotifier(cgroup)) as notifier:
        notifier.set_level(32 * MI)
        assert not fired(notifier, 0)
        process = fill(cgroup, 64 * MI)
        try:
            assert fired(notifier, 10_000)
            notifier.drain()
            notifier.drain()  # nothing more to take is no error
        finally:
            finish(process)


@pytest.mark.root
def test_a_level_out_of_reach_causes_no_event(cgroup: Path) -> None:
    with closing(MemcgNotifier(cgroup)) as notifier:
        notifier.set_level(1 << 40)
        process = fill(cgroup, 16 * MI)
        finish(process)
        assert not fired(notifier, 0)


@pytest.mark.root
def test_a_level_moves_only_beyond_its_tolerance(cgroup: Path) -> None:
    with closing(MemcgNotifier(cgroup)) as notifier:
        assert notifier.set_level(100 * MI)
        assert not notifier.set_level(101 * MI, tolerance=2 * MI)
        assert notifier.level == 100 * MI
        assert notifier.set_level(101 * MI)
        assert notifier.level == 101 * MI


@pytest.mark.root
def test_every_descriptor_is_given_back(cgroup: Path) -> None:
    before = open_descriptors()
    with closing(MemcgNotifier(cgroup)) as notifier:
        for level in range(1, 5):
            notifier.set_level(level * MI)
    assert open_descriptors() == before


@pytest.mark.root
def test_a_cgroup_without_notification_is_one_clear_error(tmp_path: Path) -> None:
    with pytest.raises(NodeError, match="unavailable"):
        MemcgNotifier(tmp_path)


@pytest.mark.root
def test_a_cgroup_that_is_gone_refuses_and_leaves_the_old_level(cgroup: Path) -> None:
    pod = cgroup / "pod"
    pod.mkdir()
    with closing(MemcgNotifier(pod)) as notifier:
        notifier.set_level(32 * MI)
        pod.rmdir()
        with pytest.raises(NodeError, match="refused"):
            notifier.set_level(64 * MI)
        assert notifier.level == 32 * MI


@pytest.mark.root
def test_a_process_without_a_descriptor_left_keeps_the_old_level(cgroup: Path) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    with closing(MemcgNotifier(cgroup)) as notifier:
        notifier.set_level(32 * MI)
        lowest_free = os.dup(notifier.fileno())
        try:
            resource.setrlimit(resource.RLIMIT_NOFILE, (lowest_free, hard))
            with pytest.raises(NodeError, match="Too many open files"):
                notifier.set_level(64 * MI)
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
            os.close(lowest_free)
        assert notifier.level == 32 * MI
