"""The nearest threshold of a node, by time or by distance."""

from evictd.render.status.headline import (
    headline,
)
from evictd.render.status.times.nearest import nearest
from tests.daemon.status import status_of
from tests.daemon.world import GI
from tests.render.shown_nodes import calm, play
from tests.render.snapshots import incident_snapshot


def test_where_nothing_falls_the_nearest_threshold_is_that_of_the_least_distance() -> None:
    still = play([6 * GI] * 5, memory=8 * GI)
    assert nearest(status_of(still, still.at)) == (
        "Nearest by distance: nodefs.available, 40Gi above its hard threshold 50Gi; "
        "no threshold would be met within an hour at the present rates."
    )
    stopped = status_of(still, still.at)
    (memory, *others) = stopped["signals"]
    times = [{**each, "secondsToThreshold": 60.0} for each in memory["thresholds"]]
    entry = {**memory, "thresholds": times, "lately": {"overSeconds": 10.0, "fillRate": 0}}
    assert nearest({**stopped, "signals": [entry, *others]}).startswith("Nearest by distance: "), (
        "it does not fall any more"
    )
    begun = play([6 * GI], memory=8 * GI)
    assert nearest(status_of(begun, begun.at)).endswith("50Gi; no rate is known yet.")


def test_signals_that_fall_as_before_are_named_where_another_is_the_nearest() -> None:
    falling = calm()
    status = status_of(falling, falling.at)
    (memory,) = [each for each in status["signals"] if each["signal"] == "memory.available"]
    (disk,) = [each for each in status["signals"] if each["signal"] == "nodefs.available"]
    assert memory["fillRate"] > 0
    near = {**disk, "available": disk["thresholds"][0]["limit"] + 1}
    assert nearest({**status, "signals": [memory, near]}).endswith(
        "; memory.available falls, but was as low within the last hour and rose again."
    )


def test_below_a_soft_threshold_the_headline_has_the_time_to_the_hard_one() -> None:
    """It stood in the legend only, beside the budget that holds the eviction up."""
    slow = incident_snapshot("25-budget-of-zero", 292)
    status = status_of(slow, slow.at)
    assert "hard threshold" not in headline(status).text, "it hardly falls any more"
    falls = {**status, "signals": [{**each, "lately": None} for each in status["signals"]]}
    assert headline(falls).text.startswith(
        "memory.available is below its soft threshold (528Mi left, limit 960Mi); memory.available reaches its hard threshold "
        "300Mi in 14s at the present rate. No pod is evicted at present: "
    )
    above = [{**each, "secondsToThreshold": None, "met": False} for each in status["signals"][0]["thresholds"]]
    assert "rose again" not in nearest({**status, "signals": [{**status["signals"][0], "thresholds": above}]})
