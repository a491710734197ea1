"""Notifications of a real cgroup v1: armed, moved, fired, closed."""

import os
import resource
import select
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from evictd.errors import NodeError
from evictd.observe.threshold_watch.memory_notify_v1 import MemcgNotifier
from tests.observe.threshold_watch.memcg_v1 import fill, finish, real_cgroup

MI = 1 << 20

pytestmark = pytest.mark.root


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


def test_a_level_out_of_reach_causes_no_event(cgroup: Path) -> None:
    with closing(MemcgNotifier(cgroup)) as notifier:
        notifier.set_level(1 << 40)
        process = fill(cgroup, 16 * MI)
        finish(process)
        assert not fired(notifier, 0)


def test_a_level_moves_only_beyond_its_tolerance(cgroup: Path) -> None:
    with closing(MemcgNotifier(cgroup)) as notifier:
        assert notifier.set_level(100 * MI)
        assert not notifier.set_level(101 * MI, tolerance=2 * MI)
        assert notifier.level == 100 * MI
        assert notifier.set_level(101 * MI)
        assert notifier.level == 101 * MI


def test_every_descriptor_is_given_back(cgroup: Path) -> None:
    before = open_descriptors()
    with closing(MemcgNotifier(cgroup)) as notifier:
        for level in range(1, 5):
            notifier.set_level(level * MI)
    assert open_descriptors() == before


def test_a_cgroup_without_notification_is_one_clear_error(tmp_path: Path) -> None:
    with pytest.raises(NodeError, match="unavailable"):
        MemcgNotifier(tmp_path)


def test_a_cgroup_that_is_gone_refuses_and_leaves_the_old_level(cgroup: Path) -> None:
    pod = cgroup / "pod"
    pod.mkdir()
    with closing(MemcgNotifier(pod)) as notifier:
        notifier.set_level(32 * MI)
        pod.rmdir()
        with pytest.raises(NodeError, match="refused"):
            notifier.set_level(64 * MI)
        assert notifier.level == 32 * MI


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
