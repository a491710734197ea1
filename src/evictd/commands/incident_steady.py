"""Finds which pods that grew before an eviction grew no more at the end of the journal."""

from evictd.codec.journal import decode_entry
from evictd.commands.incident_holdings import holdings_of
from evictd.core.eviction.holdings import WINDOW
from evictd.errors import EvictdError
from evictd.render.incident.aftermath import time_of
from evictd.render.incident.incident import Incident
from evictd.render.text import clean

_LITTLE = 10
"""A pod grows no more where it grows by less than this part of what it did."""


def steady_growers(last: bytes, found: Incident) -> frozenset[str]:
    """Return them as `namespace/name`, from the last line of the journal; none where it follows within a minute."""
    if found.verdict is None or found.signal is None:
        return frozenset()
    try:
        entry = decode_entry(last)
        held = holdings_of(entry.state, found.signal)
        if held is None or time_of(entry.wall) - time_of(found.event.at) < WINDOW + entry.now - held.at:
            return frozenset()
        names = {clean(each.full_name): each.uid for each in entry.observation.pods}
        before = {names[each.pod]: each for each in found.verdict.growers if each.pod in names}
        now = {uid: held.growing[uid].rate if uid in held.growing else 0 for uid in before if uid in held.used}
        return frozenset(before[uid].pod for uid, rate in now.items() if rate * _LITTLE < before[uid].rate)
    except (EvictdError, ArithmeticError, LookupError, ValueError):  # a damaged record
        return frozenset()
