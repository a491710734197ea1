"""Encodes and decodes the core's state as plain values, so that a restart does not change decisions.

All fields are encoded: timers, thresholds met, conditions, the last observations, victims, collections, back-offs and the phase.
The format has a version; a state of another version is refused as a whole.
"""

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from evictd.codec.observation import decode_filesystems, decode_observation, encode_filesystems, encode_observation
from evictd.codec.threshold import (
    decode_signal_observation,
    decode_threshold,
    encode_signal_observation,
    encode_threshold,
)
from evictd.codec.typed import check_types
from evictd.core.model.backoff import Backoff, BudgetRefusal, OwnerBackoff
from evictd.core.model.decision import PodCondition
from evictd.core.model.signal import Filesystem, NodeCondition, Resource, Signal
from evictd.core.model.state import CleaningUp, Collection, Phase, PhaseName, Reclaiming, State, Victim, Watching
from evictd.errors import InputError

VERSION = 3

Plain = dict[str, Any]


def encode_state(state: State) -> Plain:
    """Encode the state as plain values for JSON."""
    return {
        "version": VERSION,
        "phase": _encode_phase(state.phase),
        "inFlight": [_encode_victim(victim) for victim in state.in_flight],
        "collections": {device.value: _encode_fields(each) for device, each in state.collections.items()},
        "backoff": {
            "owners": {name: _encode_fields(each) for name, each in state.backoff.owners.items()},
            "budgets": {uid: _encode_fields(each) for uid, each in state.backoff.budgets.items()},
        },
        "filesystems": None if state.filesystems is None else encode_filesystems(state.filesystems),
        "thresholdsFirstObservedAt": [
            [encode_threshold(threshold), at] for threshold, at in state.thresholds_first_observed_at.items()
        ],
        "thresholdsMet": [encode_threshold(threshold) for threshold in state.thresholds_met],
        "announced": [resource.value for resource in state.announced],
        "nodeConditions": [condition.value for condition in state.node_conditions],
        "nodeConditionsLastObservedAt": {
            condition.value: at for condition, at in state.node_conditions_last_observed_at.items()
        },
        "lastSeen": {
            signal.value: encode_signal_observation(observation) for signal, observation in state.last_seen.items()
        },
        "lastCycleAt": state.last_cycle_at,
        "startedAt": state.started_at,
        "reported": state.reported,
        "dryRun": state.dry_run,
    }


def decode_state(plain: Mapping[str, Any]) -> State:
    """Decode a state; raises `InputError` for anything that `encode_state` would not have written.

    Every part is checked against its declared type: a state that is damaged and still JSON must fail here, not in the core.
    """
    try:
        if plain["version"] != VERSION:
            raise InputError(f"state: version {plain['version']!r}: not known; this evictd writes version {VERSION}")
        state = _decode(plain)
    except (KeyError, ValueError, TypeError, AttributeError, OverflowError, RecursionError) as error:
        raise InputError(f"state: {type(error).__name__}: {error}; it is damaged or not ours") from error
    check_types(state, State, "state")
    return state


def _decode(plain: Mapping[str, Any]) -> State:
    filesystems = plain["filesystems"]
    return State(
        phase=_decode_phase(plain["phase"]),
        in_flight=tuple(_decode_victim(victim) for victim in plain["inFlight"]),
        collections={Filesystem(device): Collection(**_snake(each)) for device, each in plain["collections"].items()},
        backoff=Backoff(
            owners={name: _owner(each) for name, each in plain["backoff"]["owners"].items()},
            budgets={uid: BudgetRefusal(**_snake(each)) for uid, each in plain["backoff"]["budgets"].items()},
        ),
        filesystems=None if filesystems is None else decode_filesystems(filesystems),
        thresholds_first_observed_at={
            decode_threshold(threshold): at for threshold, at in plain["thresholdsFirstObservedAt"]
        },
        thresholds_met=tuple(decode_threshold(threshold) for threshold in plain["thresholdsMet"]),
        announced=tuple(Resource(resource) for resource in plain["announced"]),
        node_conditions=tuple(NodeCondition(condition) for condition in plain["nodeConditions"]),
        node_conditions_last_observed_at={
            NodeCondition(condition): at for condition, at in plain["nodeConditionsLastObservedAt"].items()
        },
        last_seen={
            Signal(signal): decode_signal_observation(observation) for signal, observation in plain["lastSeen"].items()
        },
        last_cycle_at=plain.get("lastCycleAt"),  # an earlier evictd wrote neither
        started_at=plain.get("startedAt"),
        reported=plain["reported"],
        dry_run=plain["dryRun"],
    )


def _encode_phase(phase: Phase) -> Plain:
    plain: Plain = {"name": phase.name.value}
    if isinstance(phase, Reclaiming):
        plain |= {
            "threshold": encode_threshold(phase.threshold),
            "due": [encode_threshold(threshold) for threshold in phase.due],
            "before": encode_observation(phase.before),
        }
    elif isinstance(phase, CleaningUp):
        plain["until"] = phase.until
    return plain


def _decode_phase(plain: Mapping[str, Any]) -> Phase:
    name = PhaseName(plain["name"])
    if name is PhaseName.RECLAIMING:
        return Reclaiming(
            threshold=decode_threshold(plain["threshold"]),
            due=tuple(decode_threshold(threshold) for threshold in plain["due"]),
            before=decode_observation(plain["before"]),
        )
    return CleaningUp(until=plain["until"]) if name is PhaseName.CLEANING_UP else Watching()


_SIGNAL_MAPS = ("owed", "available_before")


def _encode_fields(value: Any) -> Plain:
    """Write a flat dataclass: its fields in camelCase, sets as sorted lists."""
    plain = {}
    for field in fields(value):
        item = getattr(value, field.name)
        plain[_camel(field.name)] = sorted(item) if isinstance(item, frozenset) else item
    return plain


def _encode_victim(victim: Victim) -> Plain:
    plain = _encode_fields(victim)
    plain["cause"] = None if victim.cause is None else victim.cause.value
    for name in _SIGNAL_MAPS:
        plain[_camel(name)] = {signal.value: amount for signal, amount in getattr(victim, name).items()}
    plain["condition"] = None if victim.condition is None else _encode_fields(victim.condition)
    return plain


def _decode_victim(plain: Mapping[str, Any]) -> Victim:
    values = _snake(plain)
    values["siblings"] = frozenset(values["siblings"])
    values["cause"] = None if values["cause"] is None else Signal(values["cause"])
    for name in _SIGNAL_MAPS:
        values[name] = {Signal(signal): amount for signal, amount in values[name].items()}
    values["condition"] = None if values["condition"] is None else PodCondition(**_snake(values["condition"]))
    return Victim(**values)


def _owner(plain: Mapping[str, Any]) -> OwnerBackoff:
    values = _snake(plain)
    return OwnerBackoff(**{**values, "siblings": frozenset(values["siblings"])})


def _camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(part.title() for part in rest)


def _snake(plain: Mapping[str, Any]) -> Plain:
    return {"".join(f"_{c.lower()}" if c.isupper() else c for c in key): value for key, value in plain.items()}
