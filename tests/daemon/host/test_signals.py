"""The one pipe that ends the loop's wait."""

import os
import select
import signal
from pathlib import Path

from evictd.daemon.host.signals import Arrivals, WakeUp


def waiting(wake: WakeUp) -> bool:
    return bool(select.select([wake.fd], [], [], 0)[0])


def test_waking_ends_the_wait_once() -> None:
    with WakeUp() as wake:
        assert not waiting(wake)
        wake.wake()
        wake.wake()
        assert waiting(wake)
        assert wake.take() == Arrivals(woken=True)
        assert not waiting(wake)


def test_signals_arrive_by_number_and_the_old_handlers_come_back() -> None:
    before = signal.getsignal(signal.SIGHUP)
    with WakeUp() as wake:
        wake.listen([signal.SIGHUP])
        os.kill(os.getpid(), signal.SIGHUP)
        assert wake.take() == Arrivals(signals=frozenset({signal.SIGHUP}))
    assert signal.getsignal(signal.SIGHUP) is before


def test_a_burst_of_wake_ups_displaces_no_signal() -> None:
    """A signal whose byte found the pipe full was lost: evictd went on after SIGTERM."""
    with WakeUp() as wake:
        wake.listen([signal.SIGHUP])
        for _ in range(70_000):
            wake.wake()
        os.kill(os.getpid(), signal.SIGHUP)
        assert wake.take() == Arrivals(signals=frozenset({signal.SIGHUP}), woken=True)
        assert not waiting(wake)
        wake.wake()
        assert wake.take() == Arrivals(woken=True), "the next one is noticed again"


def test_a_burst_of_changes_of_pods_is_one_notice_and_displaces_no_wake_up() -> None:
    with WakeUp() as wake:
        for _ in range(70_000):
            wake.pods_changed()
        wake.wake()
        assert wake.take() == Arrivals(woken=True, pods_changed=True)
        assert not waiting(wake)
        wake.pods_changed()
        assert wake.take() == Arrivals(pods_changed=True), "the next change is noticed again"


def test_nothing_is_left_open() -> None:
    before = len(list(Path("/proc/self/fd").iterdir()))
    WakeUp().close()
    assert len(list(Path("/proc/self/fd").iterdir())) == before


def test_waking_a_loop_that_has_ended_is_no_error_and_writes_to_no_other_file() -> None:
    wake = WakeUp()
    wake.close()
    with WakeUp() as heir:  # gets the same numbers
        wake.wake()
        assert not waiting(heir)
