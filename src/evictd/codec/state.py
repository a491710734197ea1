"""The core's state as plain values, so that a restart in between changes nothing.

Everything is written: timers, thresholds met, conditions, the last observations and the phase with what it waits for. The
format has a version; a state of another version is refused, never half read.
"""

from collections.abc import Mapping
from typing import Any

from evictd.codec.observation import decode_filesystems, decode_observation, encode_filesystems, encode_observation
from evictd.codec.threshold import (
    decode_signal_observation,
    decode_threshold,
    encode_signal_observation,
    encode_threshold,
)
from evictd.core.signal import NodeCondition, Signal
from evictd.core.state import CleaningUp, Phase, PhaseName, Reclaiming, Release, State, Watching
from evictd.errors import InputError

VERSION = 1

Plain = dict[str, Any]


def encode_state(state: State) -> Plain:
    """Write the state as plain values fit for JSON."""
    return {
        "version": VERSION,
        "phase": _encode_phase(state.phase),
        "releases": [_encode_release(release) for release in state.releases],
        "filesystems": None if state.filesystems is None else encode_filesystems(state.filesystems),
        "thresholdsFirstObservedAt": [
            [encode_threshold(threshold), at] for threshold, at in state.thresholds_first_observed_at.items()
        ],
        "thresholdsMet": [encode_threshold(threshold) for threshold in state.thresholds_met],
        "nodeConditions": [condition.value for condition in state.node_conditions],
        "nodeConditionsLastObservedAt": {
            condition.value: at for condition, at in state.node_conditions_last_observed_at.items()
        },
        "lastObservations": {
            signal.value: encode_signal_observation(observation)
            for signal, observation in state.last_observations.items()
        },
        "reported": state.reported,
    }


def decode_state(plain: Mapping[str, Any]) -> State:
    """Read a state back; raises `InputError` for anything that `encode_state` would not have written."""
    try:
        if plain["version"] != VERSION:
            raise InputError(f"state: version {plain['version']!r}: not known; this evictd writes version {VERSION}")
        return _decode(plain)
    except (KeyError, ValueError, TypeError, AttributeError, OverflowError) as error:
        raise InputError(f"state: {type(error).__name__}: {error}; it is damaged or not ours") from error


def _decode(plain: Mapping[str, Any]) -> State:
    filesystems = plain["filesystems"]
    return State(
        phase=_decode_phase(plain["phase"]),
        releases=tuple(_decode_release(release) for release in plain["releases"]),
        filesystems=None if filesystems is None else decode_filesystems(filesystems),
        thresholds_first_observed_at={
            decode_threshold(threshold): int(at) for threshold, at in plain["thresholdsFirstObservedAt"]
        },
        thresholds_met=tuple(decode_threshold(threshold) for threshold in plain["thresholdsMet"]),
        node_conditions=tuple(NodeCondition(condition) for condition in plain["nodeConditions"]),
        node_conditions_last_observed_at={
            NodeCondition(condition): int(at) for condition, at in plain["nodeConditionsLastObservedAt"].items()
        },
        last_observations={
            Signal(signal): decode_signal_observation(observation)
            for signal, observation in plain["lastObservations"].items()
        },
        reported=bool(plain["reported"]),
    )


def _encode_phase(phase: Phase) -> Plain:
    plain: Plain = {"name": phase.name.value}
    if isinstance(phase, Reclaiming):
        plain |= {
            "threshold": encode_threshold(phase.threshold),
            "due": [encode_threshold(threshold) for threshold in phase.due],
            "before": encode_observation(phase.before),
            "until": phase.until,
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
            until=int(plain["until"]),
        )
    return CleaningUp(until=int(plain["until"])) if name is PhaseName.CLEANING_UP else Watching()


def _encode_release(release: Release) -> Plain:
    return {
        "uid": release.uid,
        "fullName": release.full_name,
        "signal": None if release.signal is None else release.signal.value,
        "gracePeriodSeconds": release.grace_period_seconds,
        "until": release.until,
        "availableBefore": release.available_before,
        "expected": release.expected,
        "goneAt": release.gone_at,
        "collected": release.collected,
    }


def _decode_release(plain: Mapping[str, Any]) -> Release:
    return Release(
        uid=plain["uid"],
        full_name=plain["fullName"],
        signal=None if plain["signal"] is None else Signal(plain["signal"]),
        grace_period_seconds=plain["gracePeriodSeconds"],
        until=plain["until"],
        available_before=plain["availableBefore"],
        expected=plain["expected"],
        gone_at=plain["goneAt"],
        collected=plain["collected"],
    )
