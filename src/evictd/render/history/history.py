"""The history of a node as a list of events, from the records of its journal.

One event for each eviction, refusal, collection and change of the node's conditions, and for each victim that is gone. A journal
goes on over restarts and boots, so the history does as well. Damaged parts of a record give fewer events, never an error.

Theory of operation: `_Reader` goes through the records once, the oldest first, and makes the events of each from it and from what
is kept of those before. What only a later record tells is added by three passes over all events: an eviction that was refused was
only asked for (`_mark_refused`), a condition for which no pod was evicted has a cause (`_name_causes`), a deletion of images gave
back inodes (`_name_inodes`).
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from itertools import chain
from typing import Any

from evictd.codec.records.journal_record import JournalRecord
from evictd.core.frozen import frozen
from evictd.core.model.finding import NoActionReason
from evictd.core.units.approximate import bytes_text
from evictd.render.attribution import recorded_filled_text
from evictd.render.deciding import evicted_because
from evictd.render.history.cause.came_before import came_before
from evictd.render.history.cause.condition_cause import filled_at_begin
from evictd.render.history.cause.found_reasons import BlindReason, blind_reasons, found_reasons
from evictd.render.history.cause.freed_by_reclaim import after_reclaim, held_by_unused, inodes_freed
from evictd.render.history.cause.recorded import between_readings
from evictd.render.history.cause.recorded_reason import recorded_reason_text
from evictd.render.kernel_kills import kill_text
from evictd.render.past_budget import past_budget
from evictd.render.replay.replayed import recorded_text
from evictd.render.text import capital, chosen_because, clean

Plain = Mapping[str, Any]
_Where = tuple[int, int] | None


class EventKind(Enum):
    """The kind of event."""

    EVICTED = "Evicted"
    """A pod was chosen and asked to go."""
    REQUESTED = "Requested"
    """A pod was chosen, and its eviction was refused (`Refused`)."""
    SHORTENED = "Shortened"
    """The grace period of a victim became shorter."""
    REFUSED = "Refused"
    """A disruption budget refused an eviction; the pod stayed."""
    WITHDRAWN = "Withdrawn"
    """An eviction was not wanted any more before it was agreed to; the pod stayed."""
    GONE = "Gone"
    """A victim has ended."""
    RECLAIM = "Reclaim"
    """Unused containers or images were to be deleted."""
    RECLAIMED = "Reclaimed"
    """A collection ended."""
    CONDITIONS = "Conditions"
    """The node's pressure conditions changed."""
    NO_ACTION = "NoAction"
    """No pod is evicted, and something else has to be done (`docs/findings.md`)."""
    RESUMED = "Resumed"
    """What kept evictd from comparing thresholds has ended."""
    KUBELET = "KubeletEvicted"
    """The kubelet evicted a pod."""
    KERNEL = "KernelKilled"
    """The kernel killed processes for want of memory of the node."""
    BOOT = "Boot"
    """The machine was started again: the clock of the records began anew."""


@frozen
class HistoryEvent:
    """One event; `at` is an RFC 3339 time."""

    at: str
    kind: EventKind
    pod: str = ""
    """`namespace/name`; empty where the event is the node's."""
    uid: str = ""
    owner: str = ""
    """An eviction: `Kind/name` of the pod's controlling owner; empty without one."""
    dry_run: bool = False
    text: str
    why: str = ""
    """An eviction for pressure: why this pod and not another."""
    filled: str = ""
    """Who took what was short: of an eviction for pressure or a shortened grace period, or as a condition began."""
    signal: str = ""
    """The signal for which no pod is evicted, where it is known."""
    begun: tuple[str, ...] = ()
    """The types of the node conditions that begin with it."""
    ended: tuple[str, ...] = ()
    """The types of those that end with it."""
    past_budget: bool = False
    """An eviction of a pod that a disruption budget refused for `evictionTimeout`, and that goes by either answer."""
    unless_reclaim: bool = False
    """An eviction of a dry run after a reclaim, which may free enough: how much is not known."""
    evidence: Plain = field(default_factory=dict)
    """Numbers behind it, as the journal has them."""

    @property
    def because(self) -> Plain:
        """An eviction: the threshold or limit for which the pod went, with the amounts; empty where it is not recorded."""
        return self.evidence.get("because") or {}

    @property
    def killed(self) -> str:
        """Of what the kernel killed processes: the pod, or else the cgroup."""
        return self.pod or clean(str(self.evidence.get("where", "")))


@dataclass(slots=True)
class _Reader:
    """The state carried from record to record."""

    conditions: tuple[str, ...] | None = None
    rehearsed: bool = False
    """Whether the record that these conditions are of is of a dry run, which reports none."""
    now: int = 0
    gone: frozenset[str] = frozenset()
    names: dict[str, str] = field(default_factory=dict)
    by_kubelet: set[str] = field(default_factory=set)
    evicted: set[str] = field(default_factory=set)
    evicted_owners: set[tuple[str, str]] = field(default_factory=set)
    """Namespace and owner of the evicted pods that have one."""
    blind: tuple[BlindReason, ...] = ()
    """The reasons for which the record before did not compare thresholds."""
    before: tuple[str, frozenset[str]] = ("", frozenset())
    """Time and pods of the record before."""

    def events(self, record: JournalRecord) -> Iterator[HistoryEvent]:
        if record.now < self.now:
            yield HistoryEvent(at=record.wall, kind=EventKind.BOOT, text="the machine was started again")
        self.now = record.now
        if self.conditions is None:
            self.conditions, self.rehearsed = record.state.node_conditions, record.extra.dry_run
        self.names |= {victim.uid: victim.full_name for victim in record.state.in_flight}
        yield from self._gone(record)
        yield from _refused(record)
        yield from _reclaimed(record)
        yield from self._by_kubelet(record)
        yield from _by_kernel(record)
        for decision in record.decisions:
            try:
                event = self._decided(record, decision)
            except (KeyError, TypeError, AttributeError, ValueError):
                continue
            if event is not None:
                yield event
        yield from self._blind(record)
        for text, evidence in found_reasons(record):
            event = _event(record, EventKind.NO_ACTION, text, evidence=evidence)
            yield replace(event, signal=clean(str(evidence["signal"])))
        self.before = record.wall, frozenset(each.full_name for each in record.observation.pods)

    def _blind(self, record: JournalRecord) -> Iterator[HistoryEvent]:
        found = blind_reasons(record, self.blind)
        for each in found:
            if each not in self.blind:
                yield _event(record, EventKind.NO_ACTION, each.text, evidence=each.evidence)
        for each in self.blind:
            if each not in found:
                yield _event(record, EventKind.RESUMED, each.ended_text, evidence=each.evidence)
        self.blind = found

    def _gone(self, record: JournalRecord) -> Iterator[HistoryEvent]:
        now_gone = frozenset(record.observation.cleaned_up)
        for uid in sorted(now_gone - self.gone):
            if self.names.get(uid):
                name = clean(self.names[uid])
                yield HistoryEvent(at=record.wall, kind=EventKind.GONE, text=f"{name} is gone", pod=name, uid=uid)
        self.gone = now_gone

    def _by_kubelet(self, record: JournalRecord) -> Iterator[HistoryEvent]:
        """Yield the evictions of the kubelet; each start of the daemon records those of the hour before again."""
        for each in record.extra.kubelet_evicted:
            if each.uid in self.by_kubelet:
                continue
            self.by_kubelet.add(each.uid)
            name = clean(each.pod)
            text = f"the kubelet evicted {name}: {clean(each.message)}".removesuffix(": ")
            evidence = {"at": each.at, "message": each.message, "earlier": each.earlier}
            yield _event(record, EventKind.KUBELET, text, pod=name, uid=each.uid, evidence=evidence)

    def _decided(self, record: JournalRecord, decision: Plain) -> HistoryEvent | None:
        match decision.get("kind"):
            case "EvictPod":
                return self._eviction(record, decision)
            case "WithdrawEviction":
                pod = decision["pod"]
                name = clean(f"{pod['namespace']}/{pod['name']}")
                text = recorded_text(decision)
                return _event(record, EventKind.WITHDRAWN, text, pod=name, uid=pod["uid"], evidence=decision)
            case "ReclaimNode":
                return _event(record, EventKind.RECLAIM, recorded_text(decision), evidence=decision)
            case "ReportConditions":
                return self._conditions(record, decision)
            case "RecordEvent" if decision["reason"] in _NO_ACTIONS:
                return _no_action(record, decision, self.evicted_owners)
            case _:
                return None

    def _eviction(self, record: JournalRecord, decision: Plain) -> HistoryEvent:
        pod = decision["pod"]
        name = clean(f"{pod['namespace']}/{pod['name']}")
        self.names[pod["uid"]] = name
        kind = EventKind.SHORTENED if decision["shortens"] else EventKind.EVICTED
        last_words = record.extra.last_words.get(pod["uid"], {})
        evidence = {**decision, **({"lastWords": last_words} if last_words else {})}
        event = _event(record, kind, recorded_text(decision), pod=name, uid=pod["uid"], evidence=evidence)
        because = evicted_because(decision, record.findings, dry_run=record.extra.dry_run)
        past = past_budget(record, decision)
        chosen = self.evicted | {
            each.uid for each in record.state.in_flight
        }  # the journal may begin after its eviction
        leaves = kind is EventKind.SHORTENED and pod["uid"] not in chosen
        why = " ".join(filter(None, (because, past, _DELETED_BEFORE if leaves else "")))
        owner = next((each.owner for each in record.observation.pods if each.metadata.uid == pod["uid"]), "")
        wall, pods = self.before
        because_of = evidence.get("because") or {}
        filled = recorded_filled_text(record.findings, record.wall, because_of, before=wall, pods_before=pods)
        filled = filled or came_before(record, because_of)
        self.evicted |= {pod["uid"]} if kind is EventKind.EVICTED else set()
        self.evicted_owners |= {(pod["namespace"], owner)} if owner else set()
        event = replace(event, unless_reclaim=record.extra.dry_run and after_reclaim(record, because_of))
        return replace(event, why=why, filled=filled if why else "", owner=clean(owner), past_budget=bool(past))

    def _conditions(self, record: JournalRecord, decision: Plain) -> HistoryEvent | None:
        before, after = self.conditions or (), tuple(str(each) for each in decision["conditions"])
        goes_live = self.rehearsed and not record.extra.dry_run
        self.conditions, self.rehearsed = after, record.extra.dry_run
        if before == after and not (goes_live and after):
            return None
        begun = tuple(clean(each) for each in after if goes_live or each not in before)
        ended = tuple(clean(each) for each in before if each not in after)
        text = ", ".join((*(f"{each} begins" for each in begun), *(f"{each} ends" for each in ended)))
        return replace(_event(record, EventKind.CONDITIONS, text, evidence=decision), begun=begun, ended=ended)


def _no_action(record: JournalRecord, decision: Plain, owners: Collection[tuple[str, str]]) -> HistoryEvent:
    """Return the event of a reason for which no pod is evicted, with the pod that is the cause and until when, if known."""
    same = (
        each for each in record.findings if each.get("kind") == "NoAction" and each.get("why") == decision["reason"]
    )
    finding = next(same, {})
    pod, signal = finding.get("pod") or {}, str(finding.get("signal") or "")
    text = recorded_reason_text(record, decision, finding, owners)
    name = clean(f"{pod['namespace']}/{pod['name']}") if pod else ""
    event = _event(record, EventKind.NO_ACTION, text, pod=name, uid=pod.get("uid", ""), evidence=decision)
    return replace(event, signal=clean(signal))


def _event(
    record: JournalRecord, kind: EventKind, text: str, *, pod: str = "", uid: str = "", evidence: Plain
) -> HistoryEvent:
    dry_run = record.extra.dry_run
    return HistoryEvent(at=record.wall, kind=kind, text=text, pod=pod, uid=uid, dry_run=dry_run, evidence=evidence)


def _by_kernel(record: JournalRecord) -> Iterator[HistoryEvent]:
    for each in record.extra.kernel_killed:
        text = kill_text(each.where, each.uid, each.count) + between_readings(record)
        pod, evidence = clean(each.where) if each.uid else "", {"where": each.where, "count": each.count}
        yield _event(record, EventKind.KERNEL, text, pod=pod, uid=each.uid, evidence=evidence)


def _refused(record: JournalRecord) -> Iterator[HistoryEvent]:
    for each in record.extra.refused:
        name = clean(each.pod)
        text = f"a disruption budget refused to evict {name}: {clean(each.detail)}".removesuffix(": ")
        yield HistoryEvent(at=record.wall, kind=EventKind.REFUSED, text=text, pod=name, uid=each.uid)


def _reclaimed(record: JournalRecord) -> Iterator[HistoryEvent]:
    """Yield the outcomes of the collections that were under way before the cycle, so that each is returned once."""
    state = record.state
    waited = {device for device, each in state.collections.items() if each.ended_at is None}
    for outcome in record.observation.reclaimed:
        if outcome.unused_bytes is not None:
            continue  # nothing was collected
        if state.phase.name == "Reclaiming" or (waited and outcome.device in {*waited, None}):
            what = clean(outcome.action)
            unused = f"unused {what.removesuffix('s') if outcome.removed == 1 else what}"
            text = f"deleted {outcome.removed} {unused}, {bytes_text(outcome.freed_bytes)} freed"
            text += f"; {clean(outcome.error)}" if outcome.error else ""
            evidence = {"action": outcome.action, "freedBytes": outcome.freed_bytes, "removed": outcome.removed}
            evidence |= {"error": outcome.error}
            yield HistoryEvent(at=record.wall, kind=EventKind.RECLAIMED, text=text, evidence=evidence)


def history(records: Iterable[JournalRecord]) -> Iterator[HistoryEvent]:
    """Return every event of the records, which come oldest first."""
    return chain.from_iterable(events_by_record(records))


def events_by_record(records: Iterable[JournalRecord]) -> list[list[HistoryEvent]]:
    """Return the events of each record, in the order of the records."""
    reader, read = _Reader(), list(records)
    found = [list(reader.events(record)) for record in read]
    _mark_refused(found)
    _name_causes(found, read)
    _name_inodes(found, read)
    return found


_SAY_IT = frozenset({EventKind.EVICTED, EventKind.REQUESTED, EventKind.NO_ACTION})
"""Events that say themselves who filled what is short."""


def _name_causes(found: Sequence[list[HistoryEvent]], records: Sequence[JournalRecord]) -> None:
    """Say who filled what was short at each condition that begins and for which no pod is evicted; an eviction says it itself."""
    waiting: _Where = None
    for number, events in enumerate(found):
        for place, event in enumerate(events):
            if event.begun:
                _name_cause(found, records, waiting)
                waiting = (number, place)
            elif event.filled or (event.kind in _SAY_IT and event.evidence.get("kind") != "NoAction"):
                waiting = None
    _name_cause(found, records, waiting)


def _name_cause(found: Sequence[list[HistoryEvent]], records: Sequence[JournalRecord], where: _Where) -> None:
    if where is not None:
        number, place = where
        found[number][place] = replace(found[number][place], filled=filled_at_begin(records[number]))


def _name_inodes(found: Sequence[list[HistoryEvent]], records: Sequence[JournalRecord]) -> None:
    """Say of each deletion how many inodes came back where these were short, and beside what grew what had been held."""
    begun: JournalRecord | None = None
    condition: tuple[list[HistoryEvent], int] | None = None
    for record, events in zip(records, found, strict=True):
        last = [each for each in events if each.kind is EventKind.RECLAIMED and each.evidence["removed"]][-1:]
        for place, event in enumerate(events):
            if event.begun:
                condition = events, place
            elif event.kind is EventKind.EVICTED:
                condition = None
            elif event.kind is EventKind.RECLAIM:
                begun = record
            elif event in last and begun is not None:
                if (freed := inodes_freed(begun, record)) is not None:
                    events[place] = replace(event, text=f"{event.text}; {freed.text}")
                held = held_by_unused(begun, record)
                if held and condition is not None and (cause := condition[0][condition[1]]).filled:
                    condition[0][condition[1]] = replace(cause, filled=f"{cause.filled} {capital(held)}.")


def _mark_refused(found: Sequence[list[HistoryEvent]]) -> None:
    """Turn each eviction that was refused into a request: the pod stayed.

    The answer to the last one is not in the journal yet. It stays a request where the same was refused past the timeout before.
    """
    asked, past = dict[str, tuple[list[HistoryEvent], int]](), set[str]()
    for events in found:
        for place, event in enumerate(events):
            if event.kind is EventKind.EVICTED:
                asked[event.uid] = (events, place)
            elif event.kind is EventKind.REFUSED and event.uid in asked:
                past |= _asked_only(*asked.pop(event.uid))
    for uid in past & asked.keys():
        if asked[uid][0] is found[-1]:
            _asked_only(*asked[uid])


def _asked_only(events: list[HistoryEvent], place: int) -> set[str]:
    """Make a request of an eviction; returns its uid if it was said to go past the budget."""
    event = events[place]
    text, why = f"ask to {event.text}", "" if event.past_budget else chosen_because(event.why)
    events[place] = replace(event, kind=EventKind.REQUESTED, text=text, why=why, filled="", past_budget=False)
    return {event.uid} if event.past_budget else set()


def event_line(event: HistoryEvent) -> str:
    """Write an event without its time; in a dry run `would` comes first, and a condition is said not to be reported.

    A reason for which no pod is evicted has its code behind it, by which the documentation lists what to do.
    """
    if event.kind is EventKind.NO_ACTION and (reason := clean(str(event.evidence.get("reason", "")))):
        return f"{event.text} ({reason})"
    if event.dry_run and event.kind is EventKind.CONDITIONS:
        return f"{event.text}; {NOT_REPORTED}"
    would = "unless the reclaim before frees enough, would" if event.unless_reclaim else "would"
    return f"{would} {event.text}" if event.dry_run and event.kind not in _FACTS else event.text


NOT_REPORTED = "a dry run reports no condition"
_DELETED_BEFORE = "It was being deleted already, so that is no eviction."
_NO_ACTIONS = frozenset(reason.value for reason in NoActionReason)
_FACTS = frozenset(EventKind[each] for each in ("NO_ACTION", "RESUMED", "CONDITIONS", "KUBELET", "KERNEL", "BOOT"))
"""Events without a `would` in a dry run."""


def killed_of(events: Iterable[HistoryEvent]) -> tuple[str, ...]:
    """Return of what the kernel killed processes in these events, each once; what is no pod comes first, as it is rare."""
    kills = sorted((each for each in events if each.kind is EventKind.KERNEL), key=lambda each: bool(each.pod))
    return tuple(dict.fromkeys(each.killed for each in kills))
