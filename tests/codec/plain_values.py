"""A full state, and the comparison of plain JSON values of two versions."""

from evictd.core.model.observation import Observation, SignalObservation
from evictd.core.model.signal import NodeCondition, Signal
from evictd.core.model.state import Reclaiming, State, Victim
from evictd.core.model.stats import DiskUsage, PodStats
from evictd.core.units.quantity import of_bytes
from tests.playbook import DEDICATED, node, pod, threshold

ONE = threshold("memory.available", "10%", grace="1m", min_reclaim="1Gi")
USED = SignalObservation(available=of_bytes(1), capacity=of_bytes(2), time=3)
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
"""A state with something in most of its parts."""


def assert_holds(later: object, earlier: object, path: str = "") -> None:
    """Check that a value has every part of an earlier one; objects may have more keys."""
    if isinstance(earlier, dict):
        assert isinstance(later, dict), path
        assert earlier.keys() <= later.keys(), path
        for key, value in earlier.items():
            assert_holds(later[key], value, f"{path}.{key}")
    elif isinstance(earlier, list):
        assert isinstance(later, list), path
        assert len(later) == len(earlier), path
        for index, value in enumerate(earlier):
            assert_holds(later[index], value, f"{path}[{index}]")
    else:
        assert later == earlier, path
