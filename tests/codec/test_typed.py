"""Every part of a value is checked against its declared type."""

from dataclasses import replace
from typing import Any

import pytest

from evictd.codec.typed import check_types
from evictd.core.model.observation import Filesystems, Observation, SignalObservation
from evictd.core.model.signal import NodeCondition, Signal
from evictd.core.model.state import CleaningUp, Reclaiming, State, Victim
from evictd.core.model.stats import DiskUsage, PodStats
from evictd.core.units.quantity import of_bytes
from evictd.errors import InputError
from tests.playbook import DEDICATED, node, pod, threshold

ONE = threshold("memory.available", "10%", grace="1m", min_reclaim="1Gi")
USED = SignalObservation(available=of_bytes(1), capacity=of_bytes(2), time=3)
X_TIME = replace(USED, time="x")  # type: ignore[arg-type] # that is the damage
FULL = State(
    phase=Reclaiming(
        threshold=ONE,
        due=(ONE,),
        before=Observation(
            node=node(memory="1 of 2"),
            pods=(pod("p"),),
            pod_stats={"p": PodStats(name="p", namespace="n", uid="p", ephemeral_storage=DiskUsage(1, None))},
        ),
    ),
    in_flight=(Victim(uid="u", cause=Signal.PID_AVAILABLE, until=7, owed={Signal.PID_AVAILABLE: 3}),),
    filesystems=DEDICATED,
    thresholds_first_observed_at={ONE: 5},
    thresholds_met=(ONE,),
    node_conditions=(NodeCondition.MEMORY_PRESSURE,),
    node_conditions_last_observed_at={NodeCondition.MEMORY_PRESSURE: 7},
    last_seen={Signal.MEMORY_AVAILABLE: USED},
    reported=True,
)


def test_a_value_of_its_declared_types_passes() -> None:
    check_types(FULL, State, "state")


@pytest.mark.parametrize(
    ("change", "path"),
    [
        ({"last_seen": {Signal.MEMORY_AVAILABLE: X_TIME}}, r"last_seen\[...\].time"),
        ({"last_seen": {Signal.MEMORY_AVAILABLE: replace(USED, time=True)}}, "time"),
        ({"phase": CleaningUp(until=1 << 63)}, "phase.until"),
        ({"phase": 7}, "phase"),
        ({"in_flight": (Victim(uid=5),)}, r"in_flight\[...\].uid"),  # type: ignore[arg-type] # that is the damage
        ({"in_flight": (Victim(uid="\ud800"),)}, "uid"),
        ({"in_flight": [Victim(uid="")]}, "in_flight"),
        ({"filesystems": Filesystems(dedicated_image_fs="no")}, "dedicated_image_fs"),  # type: ignore[arg-type]
        ({"thresholds_first_observed_at": {ONE: 1.5}}, "thresholds_first_observed_at"),
        ({"thresholds_met": (replace(ONE, value=replace(ONE.value, fraction=float("inf"))),)}, "fraction"),
        ({"reported": 1}, "reported"),
    ],
)
def test_a_part_of_another_type_is_named(change: dict[str, Any], path: str) -> None:
    with pytest.raises(InputError, match=path):
        check_types(replace(FULL, **change), State, "state")
