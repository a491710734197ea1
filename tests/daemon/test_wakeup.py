"""The one pipe that ends the loop's wait."""

import os
import select
import signal
from pathlib import Path

from evictd.daemon.wakeup import WakeUp


def waiting(wake: WakeUp) -> bool:
    return bool(select.select([wake.fd], [], [], 0)[0])


def test_waking_ends_the_wait_once() -> None:
    with WakeUp() as wake:
        assert not waiting(wake)
        wake.wake()
        wake.wake()
        assert waiting(wake)
        assert wake.take() == frozenset()
        assert not waiting(wake)


def test_signals_arrive_by_number_and_the_old_handlers_come_back() -> None:
    before = signal.getsignal(signal.SIGHUP)
    with WakeUp() as wake:
        wake.listen([signal.SIGHUP])
        os.kill(os.getpid(), signal.SIGHUP)
        assert wake.take() == frozenset({signal.SIGHUP})
    assert signal.getsignal(signal.SIGHUP) is before


def test_a_full_pipe_loses_no_wake_up() -> None:
    with WakeUp() as wake:
        for _ in range(70_000):
            wake.wake()
        assert waiting(wake)
        wake.take()
        assert not waiting(wake)


def test_nothing_is_left_open() -> None:
    before = len(list(Path("/proc/self/fd").iterdir()))
    WakeUp().close()
    assert len(list(Path("/proc/self/fd").iterdir())) == before


def test_waking_a_loop_that_is_gone_is_no_error_and_reaches_nobody_else() -> None:
    wake = WakeUp()
    wake.close()
    with WakeUp() as heir:  # gets the same numbers
        wake.wake()
        assert not waiting(heir)
