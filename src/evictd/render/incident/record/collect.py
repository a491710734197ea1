"""Collects what a journal knows of one eviction.

The journal has one record for each cycle that decided anything; an eviction's record also has the readings of the minutes before
it (`extra.trend`). A damaged part of a record is left out, without an error.
"""

from collections.abc import Iterable, Sequence

from evictd.codec.records.journal_record import JournalRecord, uid_of
from evictd.core.model.attribution import Attribution
from evictd.core.model.signal import SIGNALS, Signal
from evictd.render.history.cause.recorded import ranked_pods, ranking_rows
from evictd.render.history.cause.suspects import suspects_of
from evictd.render.history.evictions import find_eviction, signal_of
from evictd.render.history.history import EventKind, HistoryEvent, events_by_record
from evictd.render.incident.cause.host_suspect import host_suspect
from evictd.render.incident.events import events_written
from evictd.render.incident.record.aftermath import (
    AFTER,
    clear_after,
    freed_after,
    met_after,
    met_since,
    says_met,
    seconds_between,
    siblings_of,
    successors_of,
    time_of,
)
from evictd.render.incident.record.arrivals import arrivals_after
from evictd.render.incident.record.earlier import earlier_evictions, evicted_for
from evictd.render.incident.record.filled import fills_host, outside_pods_held, pods_filled_again, who_filled
from evictd.render.incident.record.incident import Incident
from evictd.render.incident.record.journal_end import (
    also_short,
    clear_text,
    ends_before_relief,
    is_met_at_end,
    pause_clause,
    running_at_end,
    stands_at_end,
)
from evictd.render.incident.record.read_together import read_together
from evictd.render.incident.record.readings import (
    BEFORE,
    allocatable_met,
    levels_of,
    min_reclaim,
    points_of,
    threshold_findings,
)
from evictd.render.incident.record.step_before import step_before
from evictd.render.text import clean

_OWN = {EventKind.REQUESTED, EventKind.REFUSED, EventKind.KERNEL}
"""What the report has of the evicted pod itself before its eviction."""


def incident_of(records: Sequence[JournalRecord], evictions: Sequence[HistoryEvent], wanted: str) -> Incident:
    """Collect what the records know of the eviction that is meant (`find_eviction`); `evictions` are `evictions_of` them."""
    number = _place_of(records, event := find_eviction(evictions, wanted))
    record, later, at = records[number], records[number + 1 :], time_of(event.at)
    signal, held = signal_of(event), who_filled(record)
    around = [n for n, each in enumerate(records) if -_begun(held) <= time_of(each.wall) - at <= AFTER]
    before, after = _events_around(records, around, number)
    together, seen = read_together(records, number, signal, event.uid), levels_of(record, signal)
    return Incident(
        event=event,
        signal=signal,
        available=seen.available,
        capacity=seen.capacity,
        levels=seen.levels,
        soft=seen.soft,
        soft_grace=seen.soft_grace,
        grace_left=seen.grace_left,
        points=(points := points_of(records, signal, record, before=_begun(held))),
        step=step_before(records[: number + 1], signal, points, seen.capacity),
        arrivals=arrivals_after(record, later, event),
        ranking=tuple(ranking_rows(record, signal, event.uid)),
        pods=ranked_pods(record, signal),
        before=tuple(each for each in before if each.uid != event.uid or each.kind in _OWN),
        earlier=earlier_evictions(records[: number + 1], evictions, event),
        after=tuple(each for each in after if each.kind is not EventKind.BOOT),
        evicted_later=_evicted_later(evictions, event),
        gone_after=_gone_after(record, (records[n] for n in around if n >= number), event.uid),
        leaves=not event.dry_run and _leaves(records[number:], event.uid),
        successors=successors_of(record, later, event),
        events=tuple(events_written(record, event)),
        node=clean(record.observation.node_name),
        clear=(clear := clear_after(record, later, signal)),
        met=met_after(record, later, _met_since(record, later, signal), event.uid, clear),
        freed=freed_after(later, signal, event.uid),
        next_eviction=together.next_eviction,
        beside=together.beside,
        known_for=max((seconds_between(record, each) for each in later), default=0),
        stalled=record.observation.stalled,
        allocatable_met=allocatable_met(record),
        measured=_is_measured(record, event),
        siblings=siblings_of(record, event),
        owners={clean(each.full_name): clean(each.owner) for each in record.observation.pods if each.owner},
        of_owner=_of_owner(evictions, event),
        min_reclaim=min_reclaim(event, seen.capacity),
        host_filled=fills_host(held) and not pods_filled_again(records[: number + 1], evictions, event),
        outside=outside_pods_held(held, event),
        elsewhere=None if held is None else held.elsewhere.held,
        unallocatable=record.observation.unallocatable,
        host_suspect=host_suspect(records),
        suspects=suspects_of(record, event.because.get("signal", "")),
        pods_filled=held is not None and held.of_pods * 2 >= held.filled > 0,
        main_grower="" if held is None else held.main_grower,
        pressed=stands_at_end(records, signal),
        also_short=also_short(record, later, signal),
        still_met=is_met_at_end(records[-1], signal),
        ends_before_relief=ends_before_relief(records, evictions, signal),
        clear_text=clear_text(records[-1], signal),
        paused=pause_clause(records[-1], signal),
        running=running_at_end(records[-1], evictions),
    )


def _begun(held: Attribution | None) -> int:
    """Return how long before the eviction the incident begins."""
    return BEFORE if held is None else max(BEFORE, held.over or 0)


def _events_around(
    records: Sequence[JournalRecord], around: Sequence[int], number: int
) -> tuple[list[HistoryEvent], list[HistoryEvent]]:
    """Return the events of the records around one, up to it and after it."""
    before, after = list[HistoryEvent](), list[HistoryEvent]()
    for place, events in zip(around, events_by_record(records[n] for n in around), strict=True):
        (before if place <= number else after).extend(events)
    return before, after


def _place_of(records: Sequence[JournalRecord], event: HistoryEvent) -> int:
    found = (n for n, each in enumerate(records) if each.wall == event.at and _evicts(each, event.uid))
    return next(found, len(records) - 1)


def _met_since(record: JournalRecord, later: Iterable[JournalRecord], signal: Signal | None) -> list[float | None]:
    return [
        met_since(record, each, signal) if any(map(says_met, threshold_findings(each, signal))) else None
        for each in later
    ]


def _gone_after(record: JournalRecord, later: Iterable[JournalRecord], uid: str) -> float | None:
    """Return after how many seconds the first of these records saw the end of a pod; `None` where none did."""
    gone = next((each for each in later if uid in each.observation.cleaned_up), None)
    return None if gone is None else seconds_between(record, gone)


def _leaves(records: Sequence[JournalRecord], uid: str) -> bool:
    """Return whether a pod runs in the last of the records from its eviction on, and none has its end."""
    ended = any(uid in each.observation.cleaned_up for each in records)
    return not ended and any(each.metadata.uid == uid for each in records[-1].observation.pods)


def _evicts(record: JournalRecord, uid: str) -> bool:
    return any(uid_of(each) == uid for each in record.decisions if each.get("kind") == "EvictPod")


def _is_measured(record: JournalRecord, event: HistoryEvent) -> bool:
    """Whether the usage of the evicted pod is of this cycle: its own, or the rest of the pods' cgroup, which has no age."""
    missing = (each for each in record.findings if each.get("kind") == "StatsMissing")
    if not any(uid_of({"pod": pod}) == event.uid for each in missing for pod in each.get("pods", ())):
        return True
    return event.because.get("usage") is not None and event.because.get("usageAgeNanoseconds") is None


def _of_owner(evictions: Iterable[HistoryEvent], event: HistoryEvent) -> int:
    """Return how many pods of the evicted pod's owner are among the evictions."""
    namespace = event.pod.partition("/")[0]
    kin = (each for each in evictions if event.owner and each.owner == event.owner)
    return len({each.uid for each in kin if each.pod.partition("/")[0] == namespace})


def _evicted_later(evictions: Iterable[HistoryEvent], event: HistoryEvent) -> tuple[HistoryEvent, ...]:
    """Return the evictions for the same resource that are too late to belong to the incident."""
    signal, end = signal_of(event), time_of(event.at) + AFTER
    resource = None if signal is None else SIGNALS[signal].resource
    return tuple(
        each for each in evictions if resource is not None and time_of(each.at) > end and evicted_for(each, resource)
    )
