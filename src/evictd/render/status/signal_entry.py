"""Selects and judges the signals' entries in the document of `/statusz`, for `evictd status` and the page alike."""

from collections.abc import Iterable, Mapping
from typing import Any

from evictd.core.model.signal import SIGNALS, Signal

_LITTLE = 10
"""What belongs to no pod has not made a supply fall by ten times as much."""


def is_pressed(threshold: Mapping[str, Any]) -> bool:
    """Whether a threshold is met, or was met and its minimum reclaim is not reached yet."""
    return bool(threshold["met"] or threshold["keptByMinReclaim"])


def missing(entry: Mapping[str, Any]) -> int:
    """Return what is missing to the threshold that is met; below 1 where it is met no more, or none is."""
    limits = [each["limit"] for each in entry["thresholds"] if is_pressed(each)]
    return int(max(limits, default=0) - entry["available"])


def supply_name(entry: Mapping[str, Any]) -> str:
    """Return the first signal that observes the same supply: nodefs and imagefs may be one disk."""
    return str((entry.get("attribution") or {}).get("signal", entry["signal"]))


def by_disk(entries: Iterable[Mapping[str, Any]]) -> list[list[Mapping[str, Any]]]:
    """Return the entries in their order, those of one disk's bytes or inodes in one list: nodefs and imagefs may be one disk."""
    found: dict[tuple[object, ...], list[Mapping[str, Any]]] = {}
    for entry in entries:
        on_disk = SIGNALS[Signal(entry["signal"])].filesystem is not None
        found.setdefault((supply_name(entry) if on_disk else entry["signal"], entry["capacity"]), []).append(entry)
    return list(found.values())


def has_stopped(entry: Mapping[str, Any]) -> bool:
    """Whether a signal fell in the last minute, and no more in its last readings."""
    lately = entry.get("lately")
    return lately is not None and lately["fillRate"] <= 0


def has_two_readings(status: Mapping[str, Any]) -> bool:
    """Whether any signal was read twice: before that, as after a start of evictd, no rate is known."""
    return any(each.get("lastChange") is not None for each in status["signals"])


def is_due(entry: Mapping[str, Any]) -> bool:
    """Whether a threshold of this signal is met and has no grace period left, so that it acts now."""
    return any(
        each["met"] and not each["graceLeftSeconds"] and each["origin"] != "derived" for each in entry["thresholds"]
    )


def fell_elsewhere(entry: Mapping[str, Any]) -> bool:
    """Whether most of what grew before the last jump belongs to no pod; what an evicted pod took is part of the fall alone."""
    growing = entry["growing"] or {"elsewhere": None, "ofPods": 0, "overSeconds": 0}
    elsewhere, fell = growing["elsewhere"] or 0, entry["fellBefore"] * growing["overSeconds"]
    return bool(elsewhere > growing["ofPods"] and elsewhere * _LITTLE > fell)


def shown_entries(document: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return the signals' entries without those that only repeat another one.

    A derived containerfs signal repeats nodefs or imagefs: always while its thresholds are not met, and while they are if an
    entry of the same amount is under the same pressure.
    """
    entries = document["signals"]
    own = {_situation(entry) for entry in entries if not _is_derived(entry)}
    return [entry for entry in entries if not _is_derived(entry) or (_pressure(entry) and _situation(entry) not in own)]


def _is_derived(entry: Mapping[str, Any]) -> bool:
    thresholds = entry["thresholds"]
    return bool(thresholds) and all(each["origin"] == "derived" for each in thresholds)


def _pressure(entry: Mapping[str, Any]) -> frozenset[str]:
    return frozenset(each["kind"] for each in entry["thresholds"] if is_pressed(each))


def _situation(entry: Mapping[str, Any]) -> tuple[object, ...]:
    return entry.get("available"), entry.get("capacity"), _pressure(entry)
