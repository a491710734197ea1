"""Says what grew before the kernel killed processes for want of memory, and that evictd has no threshold of memory."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from evictd.codec.journal_record import JournalRecord
from evictd.core.frozen import frozen
from evictd.core.model.signal import MEMORY_SIGNALS, Resource, signal_named
from evictd.core.units.duration import MINUTE, SECOND
from evictd.render.attribution import clock_text
from evictd.render.incident.aftermath import seconds_between
from evictd.render.text import amount_text, clean, first_of

_APART = 15 * MINUTE // SECOND
"""Seconds without a kill after which the next one is of another shortage."""
_MUCH = 10
"""A pod that grew by less than this part of the node's memory is not named: the pod that was killed may have grown more."""
_NAMED = 3
_NO_THRESHOLD = "evictd has no threshold of memory, so it evicts no pod for it: set `memory.available` (`evictd check`)"


@frozen
class KillCause:
    """The kills of the last shortage at which the kernel killed for want of memory, and what grew before the first."""

    at: str
    """RFC 3339 time of the first kill."""
    killed: tuple[str, ...]
    """Pods, `namespace/name`, and other cgroups that lost processes."""
    grower: str = ""
    """`namespace/name` of the pod that grew most; empty where none is known to have grown much."""
    since: str = ""
    """RFC 3339 time of the reading before."""
    before: int = 0
    after: int = 0
    """Bytes of memory that it held at that reading, and at the kill."""
    has_threshold: bool = True
    """Whether evictd had a threshold of memory."""


def kill_cause(records: Sequence[JournalRecord]) -> KillCause | None:
    """Return the cause of the last kills of the records, oldest first; `None` without a kill."""
    kills = [number for number, each in enumerate(records) if each.extra.kernel_killed]
    if not kills:
        return None
    place = len(kills) - 1
    while place and seconds_between(records[kills[place - 1]], records[kills[place]]) <= _APART:
        place -= 1
    first = records[kills[place]]
    thresholds = first.config.thresholds
    killed = (clean(each.where) for number in kills[place:] for each in records[number].extra.kernel_killed)
    found = KillCause(
        at=first.wall,
        killed=tuple(dict.fromkeys(killed)),
        has_threshold=not thresholds or any(signal_named(each.signal) in MEMORY_SIGNALS for each in thresholds),
    )
    return _with_grower(found, records[: kills[place]], first)


def _with_grower(found: KillCause, earlier: Sequence[JournalRecord], first: JournalRecord) -> KillCause:
    """Return the cause with the pod that grew most between the last reading before the first kill and the kill."""
    before = next((each for each in reversed(earlier) if each.observation.memory), None)
    if before is None or before.now > first.now:  # none, or of another boot
        return found
    then, now = before.observation.memory, first.observation.memory
    grown = {uid: used - then.get(uid, 0) for uid, used in now.items()}
    uid = max(grown, key=lambda each: grown[each], default="")
    if not uid or grown[uid] * _MUCH < first.observation.whole_memory or grown[uid] <= 0:
        return found
    names = (clean(each.full_name) for each in first.observation.pods if each.metadata.uid == uid)
    return replace(found, grower=next(names, ""), since=before.wall, before=then.get(uid, 0), after=now[uid])


def kill_lines(found: KillCause | None, pod: str = "") -> Iterator[str]:
    """Write what is known of a cause; of a pod that is named only where it was killed or grew."""
    if found is None or (pod and pod not in {*found.killed, found.grower}):
        return
    if found.grower:
        before, after = (amount_text(each, Resource.MEMORY) for each in (found.before, found.after))
        who = "it" if found.grower == pod else found.grower
        of = "its processes" if pod in found.killed else f"processes of {first_of(found.killed, _NAMED)}"
        yield (
            f"{who} grew most before the kernel killed {of}, first at {clock_text(found.at)}: "
            f"from {before} to {after} since {clock_text(found.since)}"
        )
    if not found.has_threshold:
        yield _NO_THRESHOLD
