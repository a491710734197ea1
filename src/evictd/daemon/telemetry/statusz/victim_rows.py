"""Makes the part of `/statusz` that lists the pods that are being evicted, and those that have ended and owe what they held."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from evictd.core.eviction.accounts.release import (
    POD_CLEANUP_TIMEOUT,
    is_held_by_volumes,
    released_by,
    supply_released_at,
)
from evictd.core.model.signal import signal_named
from evictd.core.model.state import Victim
from evictd.core.units.duration import SECOND
from evictd.daemon.telemetry.snapshot import Snapshot
from evictd.render.status.leaving_pods import awaited_pods, awaited_seconds

Document = Mapping[str, Any]


def victim_rows(snapshot: Snapshot, asked: Collection[str], now: int) -> list[dict[str, Any]]:
    """Return a row for each victim, but for those that are only asked for."""
    return [
        {
            "pod": victim.full_name,
            "signal": signal_left_for(victim, snapshot),
            "supply": "" if victim.cause is None else victim.cause.value,
            "gracePeriodSeconds": victim.grace_period_seconds,
            "gone": victim.gone_at is not None,
            "endsInSeconds": None if victim.gone_at is not None else round((victim.until - now) / SECOND, 1),
            "awaitedForSeconds": _awaited_for(victim, snapshot.at, now),
            "held": None if victim.cause is None else victim.owed.get(victim.cause),
            "missing": victim.missing,
        }
        for victim in snapshot.state.in_flight
        if victim.uid not in asked
    ]


def signal_left_for(victim: Victim, snapshot: Snapshot) -> str:
    """Return the signal that a victim was chosen for; where no decision says it, the one of its supply. Empty for none.

    Where nodefs and imagefs are one disk, they have one supply, and the threshold of imagefs is mostly met first.
    """
    if victim.cause is None:
        return ""
    chosen = (each.signal for each in reversed(snapshot.recent) if each.uid == victim.uid)
    return (signal_named(next(chosen, "")) or victim.cause).value


def _awaited_for(victim: Victim, at: int, now: int) -> float | None:
    """Return for how long at most evictd waits for what a victim held; `None` before its end. `at` is the last cycle.

    While its volumes are seen, the time of that cycle counts as the one at which they were seen last.
    """
    if victim.gone_at is None:
        return None
    ends = [
        victim.gone_at + POD_CLEANUP_TIMEOUT
        if victim.volumes_at == at and is_held_by_volumes(victim, supply)
        else released_by(victim, supply, released)
        for supply, owed in victim.owed.items()
        if owed != 0 and (released := supply_released_at(victim, supply)) is not None
    ]
    return max(round((max(ends) - now) / SECOND, 1), 0.0) if ends else None


def without_awaited(entries: Sequence[Document], leaving: Sequence[Document]) -> list[Document]:
    """Return the signals without the times to a threshold that end after what an ended pod held has come back.

    The rate of the last minute is that of the pod that has ended, and what it held moves the threshold away.
    """
    status = {"leaving": leaving}
    return [
        {**entry, "thresholds": [_unforeseen(each, awaited_seconds(status, entry)) for each in entry["thresholds"]]}
        if entry["observed"] and awaited_pods(status, entry)
        else entry
        for entry in entries
    ]


def _unforeseen(threshold: Document, awaited: float) -> Document:
    seconds = threshold["secondsToThreshold"]
    if seconds is None or seconds < awaited:
        return threshold
    return {**threshold, "secondsToThreshold": None, "secondsAtLastFall": None}
