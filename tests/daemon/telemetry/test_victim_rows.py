"""The pods in `/statusz` that are being evicted, and the thresholds that wait for what ended ones held."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from evictd.core.units.duration import SECOND
from evictd.daemon.telemetry.statusz.victim_rows import victim_rows, without_awaited
from tests.daemon.status import status_of
from tests.render.snapshots import incident_snapshot

_ROW = {"pod": "etl/importer", "signal": "nodefs.available", "gone": True, "held": 20, "missing": 5}


def times(**changed: Any) -> Iterator[float | None]:
    """The times to a threshold in 12 s and one in 72 s, while the pod is awaited for 26 s at most."""
    limits = [{"secondsToThreshold": left, "secondsAtLastFall": left} for left in (12.0, 72.0, None)]
    entry = {"signal": "nodefs.available", "observed": True, "attribution": None, "thresholds": limits}
    (found,) = without_awaited([entry], [{**_ROW, "awaitedForSeconds": 26.0, **changed}])
    for each in found["thresholds"]:
        assert each["secondsAtLastFall"] == each["secondsToThreshold"]
        yield each["secondsToThreshold"]


def test_a_threshold_that_is_met_after_the_wait_is_not_foreseen() -> None:
    """It said that a threshold is met in 1m12s at the rate of a pod that had ended, and advised to end an innocent one."""
    assert list(times()) == [12.0, None, None]
    assert list(times(gone=False)) == [12.0, 72.0, None]
    assert list(times(held=4)) == [12.0, 72.0, None], "too little comes back"


def test_it_is_said_for_how_long_what_an_ended_pod_held_is_awaited() -> None:
    ended = incident_snapshot("12-container-log", 471)
    (row,) = victim_rows(ended, (), ended.at)
    assert row["awaitedForSeconds"] == 9.5
    assert victim_rows(ended, {each.uid for each in ended.state.in_flight}, ended.at) == []
    (later,) = victim_rows(ended, (), ended.at + 60 * SECOND)
    assert later["awaitedForSeconds"] == 0, "no time is negative"
    (victim,) = ended.state.in_flight
    seen = replace(ended, state=replace(ended.state, in_flight=(replace(victim, volumes_at=ended.at),)))
    (longer,) = victim_rows(seen, (), ended.at)
    assert longer["awaitedForSeconds"] == 29.5, "its volumes are still there, so the kubelet has its whole time"


def test_a_pod_that_has_not_ended_has_a_time_until_its_end() -> None:
    leaves = incident_snapshot("16-long-grace-period", 281)
    (row,) = status_of(leaves, leaves.at)["leaving"]
    assert row["awaitedForSeconds"] is None
    assert row["endsInSeconds"] > 0
