"""The state written down; tests/laws holds it to every step of every story."""

import json
from pathlib import Path
from typing import Any

import pytest

from evictd.codec.state import VERSION, decode_state, encode_state
from evictd.core.model.holdings import SupplyHoldings
from evictd.core.model.observation import Observation
from evictd.core.model.signal import Filesystem, Signal
from evictd.core.model.state import (
    Backoff,
    BudgetRefusal,
    CleaningUp,
    Collection,
    OwnerBackoff,
    Reclaiming,
    State,
    Victim,
)
from evictd.errors import InputError
from tests.codec.plain_values import assert_holds
from tests.playbook import DEDICATED, node, pod, threshold

DATA = Path(__file__).parents[1] / "data" / "earlier"
"""A state and a journal line, written by the last evictd whose form was written out field by field."""
ONE = threshold("memory.available", "10%", grace="1m", min_reclaim="1Gi")


@pytest.mark.parametrize(
    "state",
    [
        State(),
        State(
            phase=CleaningUp(until=7),
            in_flight=(
                Victim(uid="u", cause=Signal.PID_AVAILABLE, since=1, until=7, owed={Signal.MEMORY_AVAILABLE: 5}),
                Victim(
                    uid="v",
                    owner="d/ReplicaSet/x",
                    siblings=frozenset({"v", "w"}),
                    gone_at=3,
                    counted=True,
                    available_before={Signal.PID_AVAILABLE: 9},
                ),
            ),
        ),
        State(
            phase=Reclaiming(
                threshold=ONE, due=(ONE,), before=Observation(node=node(memory="1 of 2"), pods=(pod("p"),))
            ),
            collections={
                Filesystem.NODEFS: Collection(begun=1, until=9),
                Filesystem.IMAGEFS: Collection(begun=1, until=9, available_before=3, ended_at=4, freed=5),
            },
            backoff=Backoff(
                owners={"o": OwnerBackoff(level=1, evicted_at=2, until=3, siblings=frozenset({"b", "a"}))},
                budgets={"u": BudgetRefusal(first_at=1, last_at=2, until=3, held_until=4)},
            ),
            filesystems=DEDICATED,
            thresholds_first_observed_at={ONE: 5},
            thresholds_met=(ONE,),
            last_cycle_at=8,
            started_at=6,
            reported=True,
            dry_run=True,
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
        {"lastSeen": {"memory.available": {"available": "1GB", "capacity": "1", "time": None}}},
        {"inFlight": [{}]},
        {"collections": {"tmpfs": {}}},
        {"collections": {"nodefs": {"begun": 1}}},
        {"backoff": {"owners": []}},
        {"backoff": {"owners": {"o": {"level": 1}}, "budgets": {}}},
        {"thresholdsFirstObservedAt": [[1]]},
        {"holdings": {"memory.available": {"used": {"a": 1}, "lowest": {"a": 1}, "lowestBefore": {"b": 1}}}},
    ],
    ids=lambda damage: next(iter(damage)),
)
def test_a_damaged_or_foreign_state_is_refused_in_one_line(damage: dict[str, Any]) -> None:
    """Never half read."""
    with pytest.raises(InputError, match=r"^state: ") as caught:
        decode_state({**encode_state(State()), **damage})
    assert "\n" not in str(caught.value)


def test_a_state_of_an_earlier_evictd_is_read() -> None:
    """An update does not forget the victims in flight: fields that came later may be missing."""
    plain = encode_state(State(last_cycle_at=1, started_at=2, dry_run=True))
    earlier = {key: value for key, value in plain.items() if key not in {"lastCycleAt", "startedAt"}}
    assert decode_state(earlier) == State(dry_run=True)


def test_holdings_of_a_development_version_begin_anew() -> None:
    """They had an object for each pod."""
    earlier = {"memory.available": {"pods": {"a": {"at": 1, "used": 2}}, "grownCritical": 3}}
    state = decode_state({**encode_state(State()), "holdings": earlier})
    assert state.holdings == {Signal.MEMORY_AVAILABLE: SupplyHoldings(grown_critical=3)}


def test_a_state_of_a_later_evictd_is_read() -> None:
    """A return to the version before keeps the victims in flight: fields that it does not know are left out."""
    assert decode_state({**encode_state(State(dry_run=True)), "ofTomorrow": [1]}) == State(dry_run=True)


def test_a_file_written_before_the_form_followed_the_types_is_read() -> None:
    """With every part in it; what is written now has every key of it, and the same values."""
    earlier = json.loads((DATA / "state.json").read_text())
    state = decode_state(earlier)
    assert [(each.full_name, each.cause, each.owed) for each in state.in_flight] == [
        ("default/web-1", Signal.PID_AVAILABLE, {Signal.PID_AVAILABLE: 3}),
        ("", None, {}),
    ]
    assert list(state.thresholds_first_observed_at.values()) == [5]
    assert_holds(json.loads(json.dumps(encode_state(state))), earlier)
