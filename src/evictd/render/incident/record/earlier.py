"""Finds the evictions before one that growth of the same pod caused, however long before, and what limit would spare each.

The pod grew on while it took what each victim gave back, so a limit that bounds only what it held last spares none of them. As
the growth of a pod counts that of one of the same owner that was evicted for it. A victim of the evicted pod's own owner counts
where another owner's pod grew: else the evicted pod may be what came in its place.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import field, replace
from itertools import pairwise
from typing import NamedTuple

from evictd.codec.records.journal_record import JournalRecord, RecordedHoldings, uid_of
from evictd.core.frozen import frozen
from evictd.core.model.signal import MEMORY_SIGNALS, SIGNALS, Resource, Signal
from evictd.render.attribution import recorded_attribution
from evictd.render.history.cause.recorded import ranking_of, ranking_rows
from evictd.render.history.evictions import signal_of
from evictd.render.history.history import EventKind, HistoryEvent
from evictd.render.incident.record.aftermath import siblings_of
from evictd.render.incident.record.readings import levels_of
from evictd.render.incident.record.verdict import is_notable
from evictd.render.text import clean

_NOTABLE = 10
"""What belongs to no pod grew notably if it made this part of all growth."""
_LESS = 10
"""The growth goes on while the pod holds less than before by no more than this part."""


class HeldThen(NamedTuple):
    """What one of several pods that grew held at an eviction."""

    pod: str
    """`namespace/name` of the pod, or of the one that came in its place until the incident."""
    owner: str
    held: int
    request: int


@frozen
class Earlier:
    """An eviction before the one of an incident, for the same resource."""

    event: HistoryEvent
    missing: int
    """What was missing to the highest limit that was not reached."""
    grower: str = ""
    """`namespace/name` of the pod that took most then and grew on; empty where the journal does not say which it was."""
    now: str = ""
    """The same pod, or the one that came in its place until the incident."""
    held: Mapping[str, int] = field(default_factory=dict)
    """By `namespace/name`, what `grower` held then, as that of `now`; without one, what each pod held that grew on."""
    together: tuple[HeldThen, ...] = ()
    """The pods beyond their requests that grew notably then and grew on, if there were several."""


def earlier_evictions(
    records: Sequence[JournalRecord], evictions: Iterable[HistoryEvent], event: HistoryEvent
) -> tuple[Earlier, ...]:
    """Return the evictions that growth caused which went on until that of `event`, the last of `records`."""
    signal = signal_of(event)
    if signal is None or not records:
        return ()
    places = {(record.wall, uid_of(each)): n for n, record in enumerate(records) for each in record.decisions}
    same = [each for each in evictions if evicted_for(each, SIGNALS[signal].resource) and (each.at, each.uid) in places]
    ended = {each.uid: places[each.at, each.uid] for each in same if each.uid != event.uid}
    others = [each for each in same if each.uid in ended]
    usages = {
        each: [recorded_usages(record, each) for record in records] for each in {*map(signal_of, others)} - {None}
    }
    found = [
        _Grown(records=records, usages=usages[signal_of(each)], place=places[each.at, each.uid], ended=ended).earlier(
            each
        )
        for each in others
    ]
    kin = siblings_of(records[-1], event) | {event.pod}
    return tuple(
        each for earlier in found if earlier is not None and _counts(each := _of_others(earlier, event, kin), kin)
    )


def _of_others(found: Earlier, event: HistoryEvent, kin: Collection[str]) -> Earlier:
    """Return of an eviction of the same owner's pod only what pods of other owners held; others stay as they are."""
    if not of_one_owner(found.event, event):
        return found
    return replace(found, held={pod: held for pod, held in found.held.items() if pod not in kin})


def _counts(found: Earlier, kin: Collection[str]) -> bool:
    return bool(found.held) or any(each.pod in kin for each in found.together)


def evicted_for(event: HistoryEvent, resource: Resource | None) -> bool:
    """Whether a pod was evicted, not in a dry run, because a resource of the node was short."""
    if event.kind is not EventKind.EVICTED or event.dry_run:
        return False
    signal = signal_of(event)
    return signal is not None and SIGNALS[signal].resource is resource


def of_one_owner(event: HistoryEvent, other: HistoryEvent) -> bool:
    """Whether the pods of two evictions have the same owner."""
    namespaces = {each.pod.partition("/")[0] for each in (event, other)}
    return bool(event.owner) and event.owner == other.owner and len(namespaces) == 1


@frozen
class _Grown:
    """What grew from an earlier eviction on."""

    records: Sequence[JournalRecord]
    usages: Sequence[Mapping[str, int]]
    """Of each record, what the pods held by uid."""
    place: int
    """The number of the record of that eviction."""
    ended: Mapping[str, int]
    """By uid, the number of the record in which a pod was evicted for the same resource."""

    def earlier(self, event: HistoryEvent) -> Earlier | None:
        """Return what the record of an eviction knows; `None` where no pod took most of what was short."""
        record = self.records[self.place]
        seen, taken = levels_of(record, signal_of(event)), recorded_attribution(record.findings)
        if seen.available is None:
            return None
        missing = max((limit - seen.available for _, limit in seen.levels), default=0)
        found = Earlier(event=event, missing=max(missing, 0), together=self._together(event))
        there = _names(self.records[-1])
        if taken is None or taken.outdated or not (taken.main_grower or taken.grown_elsewhere):
            grew = {
                there[uid]: held for uid, held in self._held() if uid in there and uid != event.uid and self._grew(uid)
            }
            return replace(found, held=grew) if grew else None
        if taken.of_pods * 2 < taken.filled:
            return None
        names = _names(record)
        uid, held = next((each for each in self._held() if names.get(each[0]) == taken.main_grower), ("", 0))
        now = there.get(uid) or (_in_its_place(uid, record, self.records[-1]) if uid in self.ended else "")
        if not now or uid == event.uid or not self._grew(uid):
            return found if found.together else None
        return replace(found, grower=taken.main_grower, now=now, held={now: held})

    def _together(self, event: HistoryEvent) -> tuple[HeldThen, ...]:
        """Return the pods whose growth made the node short together; empty where the record does not show several."""
        record, signal, last = self.records[self.place], signal_of(event), self.records[-1]
        holdings = None if signal is None else record.holdings.get(signal.value)
        if holdings is None or _outside_grew(holdings):
            return ()
        grown = {uid: used - holdings.lowest_of_both(uid) for uid, used in holdings.used.items()}
        rows = {row.pod: row for row in ranking_rows(record, signal, event.uid) if not row.protected}
        names, there, found = _names(record), _names(last), list[HeldThen]()
        for uid, by in grown.items():
            row = rows.get(names.get(uid, ""))
            if row is None or row.usage is None or row.usage <= row.request:
                continue
            if by <= 0 or not is_notable(by, grown.values()):
                continue
            if uid == event.uid or self._grew(uid):
                owner, now = _owner(uid, record), there.get(uid) or _in_its_place(uid, record, last)
                if now or owner:  # else it is gone for good
                    found.append(HeldThen(now or row.pod, owner, row.usage, row.request))
        return tuple(found) if len(found) > 1 else ()

    def _held(self) -> Iterable[tuple[str, int]]:
        return self.usages[self.place].items()

    def _grew(self, uid: str) -> bool:
        """Whether a pod held more at last than at that eviction, and never much less than in the record before."""
        end = self.ended.get(uid, len(self.usages) - 1)
        amounts = [each[uid] for each in self.usages[self.place : end + 1] if uid in each]
        steady = all(later * _LESS >= before * (_LESS - 1) for before, later in pairwise(amounts))
        return steady and len(amounts) > 1 and amounts[-1] > amounts[0]


def _outside_grew(holdings: RecordedHoldings) -> bool:
    """Whether what belongs to no pod grew notably as well: limits of the pods together do not bound that."""
    level = holdings.elsewhere
    outside = 0 if level is None else level.used - level.lowest_of_both
    pods = sum(used - holdings.lowest_of_both(uid) for uid, used in holdings.used.items())
    return outside * _NOTABLE >= outside + pods and outside > 0


def _owner(uid: str, record: JournalRecord) -> str:
    """Return the owner of a pod of a record, `Kind/name`."""
    return next((clean(each.owner) for each in record.observation.pods if each.metadata.uid == uid), "")


def _names(record: JournalRecord) -> dict[str, str]:
    """Return the pods of a record: their `namespace/name` by uid."""
    return {each.metadata.uid: clean(each.full_name) for each in record.observation.pods}


def recorded_usages(record: JournalRecord, signal: Signal | None) -> dict[str, int]:
    """Return what the pods held in a record by uid: the ranking has the first twenty, and of memory the record has all."""
    rows = ranking_of(record, signal)["rows"]
    ranked = {str(row.get("uid")): row["usage"] for row in rows if isinstance(row.get("usage"), int)}
    return {**(record.observation.memory if signal in MEMORY_SIGNALS else {}), **ranked}


def _in_its_place(uid: str, then: JournalRecord, now: JournalRecord) -> str:
    """Return a pod of the same owner that is there instead; empty for none."""
    pod = next((each for each in then.observation.pods if each.metadata.uid == uid), None)
    if pod is None or not pod.owner:
        return ""
    owner = (pod.metadata.namespace, pod.owner)
    kin = (each for each in now.observation.pods if (each.metadata.namespace, each.owner) == owner)
    return next((clean(each.full_name) for each in kin), "")
