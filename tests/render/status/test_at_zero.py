"""What happens when nothing is left, and whether that comes before a soft threshold acts."""

from typing import Any

import pytest

from evictd.core.model.signal import Signal
from evictd.core.units.duration import MINUTE
from evictd.render.status.at_zero import at_zero, zero_before
from evictd.render.status.headline import headline
from evictd.render.status.timing import ends
from evictd.world.behaviours import Grow, Usage
from evictd.world.loop import play
from evictd.world.model import HostUse
from tests.daemon.status import status_of
from tests.playbook import config
from tests.render.snapshots import snapshot_at
from tests.world.worlds import MI, hog, holder, world


def test_a_soft_threshold_that_acts_too_late_says_when_nothing_is_left() -> None:
    """The headline told a reader that the threshold acts in 1m10s; the kernel killed in 23 s."""
    of = world(hog(rate=20 * MI), holder("db", 1000 * MI), memory=4000 * MI, duration=4 * MINUTE)
    run = play(of, config(soft={"memory.available": ("1000Mi", "90s")}))
    near, met = snapshot_at(run, 70), snapshot_at(run, 110)
    assert "(grace period 1m30s; memory.available reaches 0 in 1m20s)" in headline(status_of(near, near.at)).text
    text = headline(status_of(met, met.at)).text
    assert "before that it reaches 0 in 50s: the kernel's OOM killer kills processes. default/hog" in text


def test_the_last_rate_counts() -> None:
    entry: dict[str, Any] = {"signal": "memory.available", "available": 600, "fillRate": 10}
    assert zero_before(entry, 61) == " reaches 0 in 1m0s"
    assert zero_before(entry, 60) == ""
    assert zero_before({**entry, "lately": {"fillRate": 0}}, 61) == ""
    assert zero_before({**entry, "fillRate": None}, 61) == ""


@pytest.mark.parametrize(
    ("signal", "then"), [(Signal.PID_AVAILABLE, "no process can be started"), (Signal.PODS_MEMORY_FULL_10, "")]
)
def test_a_stall_is_no_supply(signal: Signal, then: str) -> None:
    assert at_zero(signal) == then


def test_it_is_said_while_evictions_for_a_soft_threshold_pause() -> None:
    """`No pod would be evicted until 22:27:03`; the kernel killed half a minute later."""
    host = HostUse(name="host", behaviours=(Grow(of=Usage.MEMORY, rate=5 * MI),))
    pods = (holder(f"p{number}", 100 * MI) for number in range(4))
    of = world(*pods, host=(host,), memory=2000 * MI, duration=6 * MINUTE)
    run = play(of, config(soft={"memory.available": ("1000Mi", "30s")}))
    late = snapshot_at(run, 300)
    status = status_of(late, late.at)
    text = headline(status, falls=ends(status)).text
    assert text.startswith("memory.available reaches 0 in "), text
    assert "soft threshold 1000Mi). No pod would be evicted until" in text
