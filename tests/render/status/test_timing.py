"""When thresholds act, and how long conditions stay."""

from evictd.core.units.duration import MINUTE, SECOND
from evictd.render.status.remedy.remedies import remedies
from evictd.render.status.times.timing import approaches, as_before, conditions, slowed, time_lines
from evictd.world.behaviours import Burst, Hold, Usage
from evictd.world.loop import play as world_play
from evictd.world.model import Disk, NodeSpec, WorldPod
from tests.daemon.status import status_of
from tests.daemon.world import GI
from tests.playbook import config, pod
from tests.render.partial_status import entry_with
from tests.render.shown_nodes import play
from tests.render.snapshots import incident_snapshot, snapshot_at
from tests.world.worlds import MI, hog, world


def test_a_grace_period_says_when_it_ends_and_what_would_end_it_early() -> None:
    soft = play([3 * GI // 2])
    status = status_of(soft, soft.at)
    assert (
        "memory.available (1.5Gi left): the soft threshold acts in 1m30s at the latest, unless 512Mi come back"
        in tuple(time_lines(status))
    )
    assert next(conditions(status)).startswith("MemoryPressure stays for at least 5m0s; it ends when no threshold")


def test_a_hard_threshold_that_is_met_when_the_soft_one_acts_is_not_before_it() -> None:
    """It said `in 1m30s, before its soft threshold acts (in 1m30s)`."""
    even = play([6 * GI - number * GI // 4 for number in range(18)])
    (text,) = time_lines(status_of(even, even.at))
    assert text == (
        "memory.available reaches its hard threshold 1Gi in 1m30s at the present rate, when its soft threshold acts as well"
    )


def test_the_next_threshold_of_a_signal_that_falls_is_told_with_its_time() -> None:
    falling = play([5 * GI, 9 * GI // 2, 4 * GI])
    status = status_of(falling, falling.at)
    assert tuple(time_lines(status)) == ("memory.available reaches its soft threshold 2Gi in 2m0s at the present rate",)
    assert approaches(status, within=60) == []


def test_a_threshold_that_is_far_away_in_time_is_told_nowhere_but_beside_the_headline() -> None:
    """`status` said `in 46m23s` after one minute of readings, and the page says such times as the nearest one only."""
    slow = play([6 * GI, 6 * GI - (32 << 20), 6 * GI - (64 << 20)])
    status = status_of(slow, slow.at)
    assert approaches(status) == []
    assert approaches(status, within=7200) != []
    assert list(time_lines(status)) == []


def test_a_time_is_no_promise_where_the_fall_is_slower_than_that_of_the_minute() -> None:
    """`Hard threshold in 5.9s` was the headline of a level that hardly fell, `met in 17s` stood beside a flat line."""
    flat = incident_snapshot("25-budget-of-zero", 305)
    assert list(time_lines(status_of(flat, flat.at))) == []
    nearly = incident_snapshot("25-budget-of-zero", 292)
    status = status_of(nearly, nearly.at)
    (text,) = time_lines(status)
    assert text.endswith(
        "in 14s at the rate of the last minute, but fell by only 2.91Mi a second in the last 11s (at that rate in 1m18s)"
    )
    # Where nothing watches, two readings are ten seconds apart.
    still = {"fillRate": 0, "overSeconds": 10.0}
    status = {**status, "signals": [{**each, "lately": each["lately"] and still} for each in status["signals"]]}
    (text,) = time_lines(status)
    assert text == "memory.available is 228Mi above its hard threshold 300Mi and did not fall in the last 10s"
    (stopped,) = approaches(status)
    assert stopped.acts == "if it is met"
    soft = stopped._replace(threshold={**stopped.threshold, "kind": "soft", "gracePeriodSeconds": 60.0})
    assert soft.acts == "1m0s after it is met"
    assert soft._replace(entry={**stopped.entry, "waitsForPages": 1 << 20}).acts == ""
    slow = incident_snapshot("37-control-thrashing-reader", 60)
    (grace, hard) = time_lines(status_of(slow, slow.at))
    assert "left): the soft threshold acts in 10s at the latest" in grace
    lower = "but fell by only 17.6Mi a second in the last 10s (at that rate in "
    assert f" in 7.9s at the rate of the last minute, {lower}" in hard
    assert slowed(entry_with()) == ""


def test_the_start_of_a_pod_is_no_trend_beside_the_rate_since_then() -> None:
    """A pod came back with 1.46Gi: for a minute another `would be evicted in about 2m47s`, and nothing fell like that."""
    hard = {
        "kind": "hard", "limit": 1000 << 20, "met": False, "origin": "set", "secondsToThreshold": 170.0,
        "gracePeriodSeconds": 0.0,
    }  # fmt: skip
    soft = {**hard, "kind": "soft", "limit": 1500 << 20, "secondsToThreshold": 150.0, "gracePeriodSeconds": 90.0}
    entry = entry_with(
        signal="memory.available", observed=True, available=6000 << 20, fillRate=30 << 20,
        lately={"overSeconds": 10.0, "fillRate": 5 << 20}, thresholds=[hard, soft],
    )  # fmt: skip
    (near,) = approaches({"signals": [entry]})
    assert near.text == (
        "memory.available would reach its soft threshold 1.46Gi in 2m30s at the rate of the last minute, but fell by only 5Mi "
        "a second in the last 10s (at that rate in 15m0s)"
    )
    assert near.acts == "in about 2m50s, at the hard threshold 1000Mi, or in about 16m30s at the lower rate"
    waits = near._replace(entry={**entry, "waitsForPages": 1 << 30})
    assert waits.acts.endswith(" or in about 16m40s at the lower rate")
    steep = near._replace(threshold={**soft, "secondsAtLastFall": 20.0})
    assert "lower" not in steep.acts


def test_a_steep_last_interval_gives_the_time_of_the_hard_threshold_that_acts_first() -> None:
    """`Acts in about 1m54s` was said of a fall of 200Mi a second; the pod was evicted 17 s later at the hard threshold."""
    grows = Burst(of=Usage.MEMORY, amount=6800 * MI, start=120 * SECOND, duration=MINUTE, rate=200 * MI)
    batch = WorldPod(pod=pod("batch", memory="1Gi"), behaviours=(Hold(of=Usage.MEMORY, amount=2072 * MI), grows))
    node = world(batch, memory=8 * GI)
    thresholds = config(hard={"memory.available": "200Mi"}, soft={"memory.available": ("1500Mi", "90s")})
    burst = snapshot_at(world_play(node, thresholds), 138)
    (approach, *_) = approaches(status_of(burst, burst.at))
    assert approach.acts == "in about 20s to 1m58s, at the hard threshold 200Mi"


def test_a_hard_threshold_that_only_the_last_readings_foresee_stands_beside_a_grace_period() -> None:
    """Only the end of the grace period was said."""
    snapshot = incident_snapshot("34-control-burst-within-grace", 80)
    status = status_of(snapshot, snapshot.at)
    (memory,) = (each for each in status["signals"] if each["signal"] == "memory.available")
    memory.update(lately=None, lastFall={"overSeconds": 10.0, "fillRate": 1})
    (hard,) = (each for each in memory["thresholds"] if each["kind"] == "hard")
    hard.update(secondsToThreshold=300.0, secondsAtLastFall=19.0)
    assert next(time_lines(status)) == (
        "memory.available reaches its hard threshold 200Mi in 19s at the rate of the last 10s, in 5m0s at that of the last "
        "minute, and its soft threshold acts in 1m20s at the latest"
    )


def test_a_steep_last_interval_gives_the_time_at_its_rate_first() -> None:
    """`In 42s` was said of a fall of 100Mi a second since the last reading, and the threshold was met 7 s later."""
    burst = incident_snapshot("44-limit-of-evictions", 310)
    status = status_of(burst, burst.at)
    (approach, *_) = approaches(status)
    at_rates = "in 6.9s at the rate of the last 10s, in 42s at that of the last minute"
    assert approach.text == f"memory.available reaches its soft threshold 2.38Gi {at_rates}"
    assert approach.acts == "in about 1m7s to 1m42s (grace period 1m0s)"
    later = incident_snapshot("44-limit-of-evictions", 320)
    assert later.at < 317 * SECOND, "the threshold was met then"
    assert later.state.thresholds_first_observed_at


def test_after_an_eviction_the_rate_before_it_counts_where_no_pod_grew() -> None:
    """`Did not fall in the last 12s` was said where an evicted pod's memory hid a fall of 20Mi a second that went on."""
    kernel = incident_snapshot("07-kernel-memory", 285)
    status = status_of(kernel, kernel.at)
    (approach,) = as_before(status)
    assert (
        approach.as_before
        == "at the rate before (20Mi a second) memory.available reaches its hard threshold 500Mi in 12s"
    )
    assert approaches(status) == []
    (advice,) = remedies(status)
    assert advice.startswith("free memory outside pods")
    leak = incident_snapshot("24-unmeasured-hog", 282)
    assert as_before(status_of(leak, leak.at)) == [], "its end has ended the fall"
    reader = incident_snapshot("37-control-thrashing-reader", 70)
    after = status_of(reader, reader.at)
    assert as_before(after) == [], "the pod that took it was evicted"
    assert remedies(after) == []


def test_a_threshold_that_is_met_at_any_moment_has_no_time() -> None:
    """It was said to be met in 0.0s."""
    falling = play([5 * GI, 9 * GI // 2, 4 * GI])
    status = status_of(falling, falling.at)
    for each in status["signals"][0]["thresholds"]:
        each["secondsToThreshold"] = 0.0 if each["kind"] == "soft" else each["secondsToThreshold"]
    (said,) = time_lines(status)
    assert said == "memory.available reaches its soft threshold 2Gi at any moment at the present rate"


def test_what_is_missing_is_not_named_where_it_is_less_than_scatter() -> None:
    """`unless 20.5Ki come back` of 960Mi (world 25)."""
    soft = play([3 * GI // 2])
    status = status_of(soft, soft.at)
    status["signals"][0]["available"] = 2 * GI - 20_000
    assert next(time_lines(status)).endswith(" left): the soft threshold acts in 1m30s at the latest")


def test_a_hard_threshold_that_a_slower_fall_still_meets_first_is_not_left_out() -> None:
    """Only the end of the grace period was said, 1m20s ahead, where the hard threshold was 19 s away (world 34)."""
    snapshot = incident_snapshot("34-control-burst-within-grace", 80)
    status = status_of(snapshot, snapshot.at)
    early = (
        "memory.available reaches its hard threshold 200Mi in 19s at the rate of the last 10s, before its soft threshold acts "
        "(in 1m20s)"
    )
    assert next(time_lines(status)) == early
    (memory,) = (each for each in status["signals"] if each["signal"] == "memory.available")
    memory["lately"]["fillRate"] = 1 << 20
    assert "left): the soft threshold acts in 1m20s at the latest" in next(time_lines(status))
    memory["lately"]["fillRate"] = 0
    assert "left): the soft threshold acts in 1m20s at the latest" in next(time_lines(status))


def test_of_the_signals_of_one_disk_the_time_of_the_first_one_is_said() -> None:
    disk = world(
        hog(of=Usage.LAYER, rate=50 * MI), duration=MINUTE, node=NodeSpec(memory=4 * GI, nodefs=Disk(capacity=10 * GI))
    )
    run = world_play(disk, config(hard={"nodefs.available": "10%", "imagefs.available": "15%"}))
    snapshot = snapshot_at(run, 50)
    status = status_of(snapshot, snapshot.at)
    assert {each.entry["signal"] for each in approaches(status)} == {"nodefs.available", "imagefs.available"}
    (line,) = time_lines(status)
    assert line.startswith("imagefs.available reaches its hard threshold 1.5Gi")
