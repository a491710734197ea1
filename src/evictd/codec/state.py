"""Encodes and decodes the core's state as plain values, so that a restart does not change decisions.

The format has a version (docs/formats.md). A state of an earlier one is brought to this one; any other is refused as a whole. A
field that is added to the state and has a default needs neither another version nor code here (`codec.plain`).
"""

from collections.abc import Callable, Mapping
from typing import Any

from evictd.codec.config.eviction_config import THRESHOLD_VIEWS
from evictd.codec.observation import decode_observation, encode_observation
from evictd.codec.plain import Form, View
from evictd.codec.scalars import Plain
from evictd.core.eviction.accounts.ledger import supply_of, victim_until
from evictd.core.eviction.reclaim import Layout, layout_of
from evictd.core.model.observation import Filesystems, Observation
from evictd.core.model.signal import Signal
from evictd.core.model.state import CleaningUp, Reclaiming, State, Watching
from evictd.errors import InputError

VERSION = 3

STATE_FORM = Form(
    {
        **THRESHOLD_VIEWS,
        Observation: View(encode=encode_observation, decode=decode_observation),
        **{phase: View(tag=("name", phase.name.value)) for phase in (Watching, Reclaiming, CleaningUp)},
    }
)


def encode_state(state: State) -> Plain:
    """Encode the state as plain values for JSON."""
    return {"version": VERSION, **STATE_FORM.encode(State, state)}


def decode_state(plain: Any) -> State:
    """Decode a state; raises `InputError` for anything that no version of `encode_state` would have written.

    Every part is checked against its declared type: a state that is damaged and still JSON must fail here, not in the core.
    """
    version = plain.get("version") if isinstance(plain, dict) else None
    if type(version) is int and version in MIGRATIONS:
        plain = _migrated(plain, MIGRATIONS[version])
    elif type(version) is not int or version != VERSION:
        raise InputError(f"state: version {str(version)[:20]!r}: not known; this evictd writes version {VERSION}")
    state: State = STATE_FORM.decode(State, plain, "state")
    for supply, each in state.holdings.items():
        if not each.used.keys() == each.lowest.keys() == each.lowest_before.keys():
            raise InputError(f"state: holdings of {supply.value}: not of the same pods; it is damaged or not ours")
    return state


def _migrated(plain: Plain, migration: Callable[[Plain], Plain]) -> Plain:
    try:
        return migration(plain)
    except (KeyError, ValueError, TypeError, AttributeError) as error:
        raise InputError(f"state: {type(error).__name__}: {error}; it is damaged or not ours") from error


# --- earlier versions -------------------------------------------------------------------------------------------------


def _of_version_1(plain: Plain) -> Plain:
    """Bring a state of 0.1 to this version: timers and conditions stay; its releases become the victims of the ledger.

    Its phase is dropped: the collectors that it waited for have ended with their process, and each victim has a bound of its own.
    """
    found = plain["filesystems"] or {"dedicatedImageFs": False, "splitContainerFs": False}
    layout = layout_of(
        Filesystems(dedicated_image_fs=found["dedicatedImageFs"], split_container_fs=found["splitContainerFs"])
    )
    kept = (
        "filesystems",
        "thresholdsFirstObservedAt",
        "thresholdsMet",
        "nodeConditions",
        "nodeConditionsLastObservedAt",
    )
    return {
        **{key: plain[key] for key in (*kept, "reported")},
        "lastSeen": plain["lastObservations"],
        "inFlight": [_victim_of_release(each, layout) for each in plain["releases"] if each["uid"]],
    }


def _victim_of_release(release: Mapping[str, Any], layout: Layout) -> Plain:
    grace, until = release["gracePeriodSeconds"], release["until"]
    since = until - victim_until(grace, 0)
    kept = {key: release[key] for key in ("uid", "fullName", "gracePeriodSeconds", "until", "goneAt")}
    supply = supply_of(Signal(release["signal"]), layout).value if release["signal"] else None
    amounts = {"owed": release["expected"], "availableBefore": release["availableBefore"]}
    known = {key: {supply: amount} for key, amount in amounts.items() if supply and amount is not None}
    return {**kept, **known, "cause": supply, "since": since, "chosenAt": since, "counted": True}


MIGRATIONS: Mapping[int, Callable[[Plain], Plain]] = {1: _of_version_1}
"""Conversions of earlier versions of the state to the present one. Version 2 was never released."""
