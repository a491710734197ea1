"""Moves a state on the time axis: a scenario counts its times from its first reading, a journal from the boot."""

from collections.abc import Mapping
from dataclasses import fields, is_dataclass, replace
from typing import Any

from evictd.core.model.attribution import Crossing
from evictd.core.model.holdings import Effect, MeasuredLevel, Pause, SupplyHoldings
from evictd.core.model.observation import Observation, SignalObservation
from evictd.core.model.state import (
    BudgetRefusal,
    CleaningUp,
    Collection,
    Comeback,
    OwnerBackoff,
    State,
    Victim,
)

TIMES: Mapping[type, frozenset[str]] = {
    BudgetRefusal: frozenset({"first_at", "last_at", "until", "held_until"}),
    CleaningUp: frozenset({"until"}),
    Collection: frozenset({"begun", "until", "ended_at"}),
    Comeback: frozenset({"evicted_at"}),
    Crossing: frozenset({"at"}),
    Effect: frozenset({"chosen_at", "until"}),
    MeasuredLevel: frozenset({"at", "begun", "since"}),
    OwnerBackoff: frozenset({"evicted_at", "until"}),
    Pause: frozenset({"until"}),
    State: frozenset(
        {
            "clear_since",
            "evicted_at",
            "thresholds_first_observed_at",
            "node_conditions_last_observed_at",
            "last_cycle_at",
            "started_at",
        }
    ),
    SupplyHoldings: frozenset({"at", "last_measured", "begun", "since", "arrived"}),
    Victim: frozenset({"chosen_at", "since", "until", "gone_at", "stopped_at", "volumes_at"}),
}
"""The fields that hold times of the clock of `now`, by class."""


def moved_in_time(state: State, by: int) -> State:
    """Return the state with `by` nanoseconds added to its times; those at which something was measured stay as they are."""
    moved: State = _moved(state, by)
    return moved


def _moved(value: Any, by: int) -> Any:
    if isinstance(value, Observation | SignalObservation):
        return value
    if isinstance(value, Mapping):
        return {key: _moved(each, by) for key, each in value.items()}
    if isinstance(value, MeasuredLevel):
        return value._replace(**_changes(value, value._fields, by))
    if isinstance(value, tuple):
        return tuple(_moved(each, by) for each in value)
    if is_dataclass(value) and not isinstance(value, type):
        changes = _changes(value, [each.name for each in fields(value) if each.init], by)
        return replace(value, **changes) if changes else value
    return value


def _changes(value: Any, names: Any, by: int) -> dict[str, Any]:
    times = TIMES.get(type(value), frozenset())
    found = {}
    for name in names:
        old = getattr(value, name)
        new = _later(old, by) if name in times else _moved(old, by)
        if new != old:
            found[name] = new
    return found


def _later(value: Any, by: int) -> Any:
    """Return a time, several times or times by key, later; `None` stays."""
    if isinstance(value, Mapping):
        return {key: time + by for key, time in value.items()}
    if isinstance(value, tuple):
        return tuple(time + by for time in value)
    return None if value is None else value + by
