"""PSI triggers, and the error where the kernel offers none."""

import os
import select
from contextlib import closing
from pathlib import Path

import pytest

from evictd.errors import NodeError
from evictd.observe.threshold_watch.psi_trigger import UNPRIVILEGED_WINDOW_US, WINDOW_US, PressureTrigger

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
