"""The state written down; tests/laws holds it to every step of every story."""

import json
from typing import Any

import pytest

from evictd.codec.state import VERSION, decode_state, encode_state
from evictd.core.observation import Observation
from evictd.core.signal import Signal
from evictd.core.state import CleaningUp, Reclaiming, Release, State
from evictd.errors import InputError
from tests.playbook import DEDICATED, node, pod, threshold

ONE = threshold("memory.available", "10%", grace="1m", min_reclaim="1Gi")


@pytest.mark.parametrize(
    "state",
    [
        State(),
        State(phase=CleaningUp(until=7), releases=(Release(uid="u", signal=Signal.PID_AVAILABLE, until=7),)),
        State(
            phase=Reclaiming(
                threshold=ONE, due=(ONE,), before=Observation(node=node(memory="1 of 2"), pods=(pod("p"),)), until=9
            ),
            filesystems=DEDICATED,
            thresholds_first_observed_at={ONE: 5},
            thresholds_met=(ONE,),
            reported=True,
        ),
    ],
    ids=["fresh", "cleaning up", "reclaiming"],
)
def test_states_survive(state: State) -> None:
    """Through JSON text."""
    assert decode_state(json.loads(json.dumps(encode_state(state)))) == state


@pytest.mark.parametrize(
    "damage",
    [
        {"version": VERSION + 1},
        {"phase": {"name": "Sleeping"}},
        {"phase": None},
        {"thresholdsMet": [{"signal": "disk"}]},
        {"nodeConditions": ["Hungry"]},
        {"lastObservations": {"memory.available": {"available": "1GB", "capacity": "1", "time": None}}},
        {"releases": [{}]},
        {"thresholdsFirstObservedAt": [[1]]},
    ],
    ids=lambda damage: next(iter(damage)),
)
def test_a_damaged_or_foreign_state_is_refused_in_one_line(damage: dict[str, Any]) -> None:
    """Never half read."""
    with pytest.raises(InputError, match=r"^state: ") as caught:
        decode_state({**encode_state(State()), **damage})
    assert "\n" not in str(caught.value)


def test_a_missing_field_is_refused() -> None:
    """Cut short is damaged."""
    plain = encode_state(State())
    for name in plain:
        with pytest.raises(InputError):
            decode_state({key: value for key, value in plain.items() if key != name})
