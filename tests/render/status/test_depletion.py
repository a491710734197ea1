"""What happens when nothing is left, and whether that comes before a soft threshold acts."""

from typing import Any

import pytest

from evictd.core.model.signal import Signal
from evictd.core.units.duration import MINUTE, SECOND
from evictd.render.status.headline import headline
from evictd.render.status.times.depletion import Depletion, at_zero, depletions, without_repeated, zero_before
from evictd.world.behaviours import Grow, Usage
from evictd.world.loop import play as play_world
from evictd.world.model import HostUse
from tests.daemon.status import status_of
from tests.daemon.world import GI
from tests.playbook import config
from tests.render.shown_nodes import blocked, calm, play, pressed, rehearsed
from tests.render.snapshots import incident_snapshot, snapshot_at
from tests.world.worlds import MI, hog, holder, world


def test_a_soft_threshold_that_acts_too_late_says_when_nothing_is_left() -> None:
    """The headline told a reader that the threshold acts in 1m10s; the kernel killed in 23 s."""
    of = world(hog(rate=20 * MI), holder("db", 1000 * MI), memory=4000 * MI, duration=4 * MINUTE)
    run = play_world(of, config(soft={"memory.available": ("1000Mi", "90s")}))
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
    run = play_world(of, config(soft={"memory.available": ("1000Mi", "30s")}))
    late = snapshot_at(run, 300)
    status = status_of(late, late.at)
    text = headline(status, falls=depletions(status)).text
    assert text.startswith("memory.available reaches 0 in "), text
    assert "soft threshold 1000Mi). No pod would be evicted until" in text


def test_beside_the_time_of_a_fall_that_may_be_one_step_stands_the_one_of_the_last_minute() -> None:
    """`reaches 0 in 3.3s at this rate` stood there after one step of a pod that took no more."""
    short = blocked()
    status = status_of(short, short.at)
    (memory,) = [each for each in status["signals"] if each["signal"] == "memory.available"]

    def reaches(mean: int, over: float = 60.0) -> str:
        entry = {**memory, "fillRate": mean, "overSeconds": over}
        return depletions({**status, "signals": [entry]})["memory.available"].reaches("memory.available")

    step = "memory.available reaches 0 in 3.3s at the rate of the last 30s"
    assert reaches(32 * MI) == f"{step}, in 16s at that of the last minute"
    assert reaches(32 * MI, 40.0) == f"{step}, in 16s at that of the last 40s"
    assert reaches(-MI) == f"{step}, but did not fall in the last minute as a whole"
    assert reaches(60 * MI) == "memory.available reaches 0 in 3.3s at this rate"


def test_below_a_hard_threshold_it_is_said_when_nothing_is_left_and_what_happens_then() -> None:
    short = blocked()
    status = status_of(short, short.at)
    killed = "nothing is left of memory.available in 3.3s; then the kernel's OOM killer kills processes"
    (end,) = depletions(status).values()
    assert end.text == f"At the rate of the last 30s (154Mi a second) {killed}", "the mean is 93.9Mi"
    assert end.then == "At 0 the kernel's OOM killer kills processes; the rate: 154Mi a second in the last 30s"
    assert end.reaches("memory.available") == "memory.available reaches 0 in 3.3s at this rate"
    (later,) = depletions(status_of(short, short.at + 2 * SECOND)).values()
    assert later.reaches("memory.available") == "memory.available reaches 0 in 1.3s at this rate", "time goes on"
    (over,) = depletions(status_of(short, short.at + 9 * SECOND)).values()
    assert over.reaches("memory.available") == "memory.available reaches 0 now at this rate"
    (memory,) = [each for each in status["signals"] if each["signal"] == "memory.available"]
    slow = {**memory["lastChange"], "fillRate": 1}
    assert depletions({**status, "signals": [{**memory, "fillRate": 1, "lastChange": slow}]}) == {}
    assert depletions({**status, "signals": [{**memory, "fillRate": None}]}) == {}, "the readings are old"
    assert depletions({**status, "signals": [{**memory, "lastChange": None}]}) == {}, "of an older daemon"
    assert depletions(status_of(calm(), calm().at)) == {}


def test_a_pod_that_is_being_evicted_has_to_end_before_nothing_is_left() -> None:
    """`Last 8.4s` stood beside `waits for its end for at most 38s`."""
    status = status_of(pressed(), pressed().at)
    (end,) = depletions(status).values()
    assert "in 8.4s; unless default/hog has ended by then, the kernel's OOM killer" in end.text
    assert end.then == (
        "At 0 the kernel's OOM killer kills processes, unless default/hog has ended by then; the rate: 61.2Mi a second in "
        "the last 30s"
    )
    gone = {**status, "leaving": [{**row, "gone": True} for row in status["leaving"]]}
    assert depletions(gone) == {}, "what it held comes back"


def test_the_time_until_nothing_is_left_follows_the_last_readings() -> None:
    """Half a minute after the fall had ended the page still said that the rest lasts 16 s."""
    flat = rehearsed()
    assert depletions(status_of(flat, flat.at)) == {
        "memory.available": Depletion("memory.available did not fall in the last 30s")
    }
    slows = status_of(play([4 * GI, 2 * GI, GI - 1]), 0)
    (memory,) = [each for each in slows["signals"] if each["signal"] == "memory.available"]
    over = {"overSeconds": 2.1, "agoSeconds": 0.0}
    rises = {**memory, "fillRate": GI // 8, "lastChange": {**over, "fillRate": 0}}
    assert depletions({**slows, "signals": [rises]}) == {}
    falls = {**memory, "fillRate": GI, "lastChange": {**over, "fillRate": GI // 4}}
    (end,) = depletions({**slows, "signals": [falls]}).values()
    assert end.text.startswith(
        "At the rate of the last minute (1Gi a second) nothing is left of memory.available in 1.0s"
    )


def test_what_happens_at_0_is_said_once_for_signals_of_one_resource() -> None:
    node, pods = Depletion("", 22.0, "the OOM killer"), Depletion("", 25.0, "the OOM killer")
    disk, still = Depletion("", 60.0, "writes fail"), Depletion("memory.available did not fall in the last 30s")
    found = {"allocatableMemory.available": pods, "memory.available": node, "nodefs.available": disk}
    assert without_repeated(found) == {"memory.available": node, "nodefs.available": disk}
    assert without_repeated({"memory.available": still, "allocatableMemory.available": pods}) == {
        "memory.available": still, "allocatableMemory.available": pods
    }  # fmt: skip


def test_one_step_is_no_rate_of_minutes() -> None:
    """A pod that took 50Mi when it started was said to fill the disk in ten minutes (world 13)."""
    snapshot = incident_snapshot("13-pinned-deployment", 15)
    status = status_of(snapshot, snapshot.at)
    (disk,) = (each for each in status["signals"] if each["signal"] == "nodefs.available")
    assert disk["lastChange"]["fillRate"] > 0
    assert depletions(status) == {}
    disk["available"] = disk["lastChange"]["fillRate"] * 30
    assert depletions(status)["nodefs.available"].seconds == 30


def test_memory_that_does_not_fall_because_the_kernel_kills_is_said_to() -> None:
    """It was said not to fall, between one kill and the next (world 07)."""
    snapshot = incident_snapshot("07-kernel-memory", 340)
    status = status_of(snapshot, snapshot.at)
    (end,) = depletions(status).values()
    assert end.text == "memory.available did not fall in the last 10s, because the kernel kills"
    (end,) = depletions({**status, "kernelKills": []}).values()
    assert end.text == "memory.available did not fall in the last 10s"


def test_a_pod_that_another_component_deleted_may_end_before_nothing_is_left() -> None:
    """Its end was not named, though 3Gi were about to come back (world 11)."""
    snapshot = incident_snapshot("11-leaving-pod", 124)
    (end,) = depletions(status_of(snapshot, snapshot.at)).values()
    assert "unless default/old has ended by then, the kernel's OOM killer kills processes" in end.text


def test_a_steady_slow_fall_between_short_readings_says_when_nothing_is_left() -> None:
    """A disk that lost 20Mi a second was full 8 minutes later, during a pause of evictions, and no sentence said so."""
    pause = incident_snapshot("45-host-path-beside-large-layers", 1560)
    status = status_of(pause, pause.at)
    (end,) = depletions(status).values()
    assert end.reaches("nodefs.available") == "nodefs.available reaches 0 in 8m9s at this rate"
    assert end.then == (
        "At 0, before evictd evicts a pod, writes to the disk fail; the rate: 20Mi a second in the last minute"
    )
    (disk,) = [each for each in status["signals"] if each["signal"] == "nodefs.available"]
    step = {**disk, "fillRate": disk["fillRate"] // 4}
    assert depletions({**status, "signals": [step]}) == {}, "one step is no rate"
    over = {**disk, "stopEndsInSeconds": 400}
    assert "At 0 writes to the disk fail" in depletions({**status, "signals": [over]})["nodefs.available"].then
