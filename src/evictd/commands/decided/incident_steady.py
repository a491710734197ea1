"""Finds what grew before an eviction, and grew on at the end of the journal or no more."""

from collections.abc import Mapping
from dataclasses import replace

from evictd.codec.records.journal import JournalEntry, decode_entry
from evictd.codec.times import parse_time, rfc3339
from evictd.commands.decided.incident_holdings import growth_outside, holdings_of
from evictd.commands.decided.incident_request import DAMAGED
from evictd.core.eviction.accounts.holdings import WINDOW
from evictd.core.model.observation import signal_observation
from evictd.core.units.duration import HOUR, SECOND
from evictd.render.attribution import clock_text
from evictd.render.history.history import EventKind
from evictd.render.incident.record.aftermath import time_of
from evictd.render.incident.record.grows_on import GrowsOn
from evictd.render.incident.record.incident import Incident
from evictd.render.incident.record.verdict import Grower
from evictd.render.status.times.depletion import FORESEEN_SECONDS
from evictd.render.text import clean

_LITTLE = 10
"""A pod grows no more where it grows by less than this part of what it did; and has no part in a fall that is more than this
many times as fast."""
_OF_PODS = 12 * HOUR // SECOND
"""A pod that grows is a fault also where the node is short only hours later; the use of a host drifts as slowly."""


def last_entry(line: bytes) -> JournalEntry | None:
    """Return the last entry of a journal; `None` where it is damaged."""
    try:
        return decode_entry(line)
    except DAMAGED:
        return None


def steady_growers(last: JournalEntry | None, found: Incident) -> frozenset[str]:
    """Return the pods that grew no more, as `namespace/name`, by the journal's last entry; none where that is too early."""
    try:
        rates = {} if last is None else _rates(last, found)
    except DAMAGED:
        return frozenset()
    return frozenset(each.pod for each, rate in rates.items() if each.pod and rate * _LITTLE < each.rate)


def growth_on(last: JournalEntry | None, found: Incident) -> GrowsOn | None:
    """Return what grew on; `None` where that does not make the node short within the hour, or pods within half a day."""
    try:
        return None if last is None else _growth_on(last, found)
    except DAMAGED:
        return None


def is_quiet(last: JournalEntry | None, found: Incident) -> bool:
    """Whether nothing of what was short had grown for a minute at its end, or so little that an hour of it fits.

    Unless the last eviction was in that minute: what the pod took ended with it.
    """
    try:
        return last is not None and _is_quiet(last, found)
    except DAMAGED:
        return False


def _is_quiet(entry: JournalEntry, found: Incident) -> bool:
    node, held = entry.observation.node, None if found.signal is None else holdings_of(entry.state, found.signal)
    seen = None if node is None or found.signal is None else signal_observation(node, found.signal)
    evicted = (each for each in (found.event, *found.after, *found.evicted_later) if each.kind is EventKind.EVICTED)
    since = time_of(entry.wall) - max(time_of(each.at) for each in evicted)
    if seen is None or held is None or since < WINDOW + entry.now - held.at:
        return False
    rest = growth_outside(held)
    grows = sum(each.rate for each in (*held.growing.values(), *(() if rest is None else (rest,))) if each.rate > 0)
    before, grows = max(found.rate or 0, sum(each.rate for each in found.growers)), max(grows, seen.fill_rate or 0)
    return bool(grows * _LITTLE < before and grows * FORESEEN_SECONDS < seen.available.value())


def _growth_on(entry: JournalEntry, found: Incident) -> GrowsOn | None:
    node, limit = entry.observation.node, max((each for _, each in found.levels), default=None)
    seen = None if node is None or found.signal is None else signal_observation(node, found.signal)
    if seen is None or limit is None or (fall := seen.fill_rate or 0) <= 0:
        return None
    left = seen.available.value() - limit
    growing = [
        replace(each, rate=rate)
        for each, rate in _rates(entry, found).items()
        if rate * _LITTLE >= max(each.rate, fall)
        and (each.pod in found.running if each.pod else left <= fall * FORESEEN_SECONDS)
    ]
    grown = sum(each.rate for each in growing)
    if not growing or not 0 < left <= grown * _OF_PODS:
        return None
    short_at = clock_text(rfc3339(parse_time(entry.wall) + left * SECOND // grown))
    return GrowsOn(growers=tuple(sorted(growing, key=lambda each: -each.rate)), short_at=short_at)


def _rates(entry: JournalEntry, found: Incident) -> Mapping[Grower, int]:
    """Return by how much a second grew what grew before the eviction; empty where that is not measured, or not for a minute."""
    held = None if found.signal is None else holdings_of(entry.state, found.signal)
    if found.verdict is None or held is None:
        return {}
    if time_of(entry.wall) - time_of(found.event.at) < WINDOW + entry.now - held.at:
        return {}
    uids = {clean(each.full_name): each.uid for each in entry.observation.pods}
    measured = {each: uids[each.pod] for each in found.verdict.growers if uids.get(each.pod) in held.used}
    rates = {each: held.growing[uid].rate if uid in held.growing else 0 for each, uid in measured.items()}
    rest = growth_outside(held)
    return rates | {each: rest.rate for each in found.verdict.growers if not each.pod and rest is not None}
