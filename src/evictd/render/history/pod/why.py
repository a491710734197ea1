"""Renders `evictd why`: what happened to one pod, or why it stays and what would have to change.

Takes the pod's events of the journal and two documents of the running daemon: `/explainz` with every pod's place in the order of
eviction, and `/statusz` with signals and victims.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from evictd.core.frozen import frozen
from evictd.render.deciding import PlaceThen
from evictd.render.history.folded_events import without_repeated_refusals
from evictd.render.history.history import EventKind, HistoryEvent, event_line
from evictd.render.history.pod.all_refused import AllRefused
from evictd.render.history.pod.no_action import no_action_remedy
from evictd.render.history.pod.standing import Place, guarded_lines, place_in, standing_lines
from evictd.render.history.pods_meant import pods_meant
from evictd.render.kernel_kills import NOT_RECORDED
from evictd.render.status.page.page_leaving import leaving_rows
from evictd.render.status.remedy.own_limits_text import own_limits_text
from evictd.render.status.remedy_texts import MEASURE_HOST_PATHS
from evictd.render.status.times.depletion import depletions
from evictd.render.status.times.timing import conditions
from evictd.render.text import clean, counted, first_of

Plain = Mapping[str, Any]

_SHOWN_EVENTS = 20
"""Of how many events of a pod the last are shown."""


@frozen
class OwnIncident:
    """What is said first of the incident of the pod's last eviction."""

    short: str = ""
    """What it was (`summary_text`); empty where that is not known."""
    now: str = ""
    """How the node is and what to do now (`now_text`); empty where neither is known."""
    avoidance: tuple[str, ...] = ()
    """What would have avoided it, and what would not have (`avoidance_lines`)."""


@frozen
class PodWhy:
    """The journal and the daemon's answers about one pod. `explained` and `status` are `None` if no daemon answered."""

    pod: str
    events: tuple[HistoryEvent, ...] = ()
    evicted: tuple[HistoryEvent, ...] = ()
    """All evictions of the journal, also of other pods."""
    passed: tuple[tuple[str, PlaceThen], ...] = ()
    """Its place at the evictions of other pods, by their RFC 3339 time."""
    causes: tuple[str, ...] = ()
    """What makes it a cause of an eviction of another pod (`cause_lines`), or of processes that the kernel killed
    (`kill_facts`)."""
    kill_remedies: tuple[str, ...] = ()
    """What to do where the kernel killed its processes, or it grew before (`kill_remedies`), as clauses."""
    higher_threshold: tuple[str, ...] = ()
    """The threshold that evictd should have had then (`threshold_remedies`), as a clause."""
    kills: tuple[str, ...] = ()
    """What is known of the last kills by the kernel, of any pod (`kill_lines`)."""
    no_action: HistoryEvent | None = None
    """The journal's last reason for which no pod was evicted."""
    superseded: bool = False
    """Whether a pod was chosen after it, or the condition began again."""
    explained: Plain | None = None
    status: Plain | None = None
    incident: OwnIncident = OwnIncident()
    last_place: tuple[str, ...] = ()
    """Where it stood in the last record that has it (`last_place`), if no event and no eviction says so."""
    last_places: tuple[Place, ...] = ()
    """The same in each order of eviction."""
    unrecorded: str = ""
    """At which evictions its place was not recorded (`unrecorded_place`)."""
    refused: AllRefused | None = None
    """The refusals at the end of the journal."""
    left_to_do: str = ""
    """What is left to do by the last incident, where that is of the signal of `no_action` or of the last refusals."""
    growing: str = ""
    """What to do now by the last incident, where the pod grew before it and still runs (`now_of_growing`)."""
    pods: frozenset[str] = frozenset()
    """All pods of the journal, by `namespace/name`."""
    asked: bool = True
    """Whether the daemon was asked: a journal that is named may be another node's."""
    journal: str = ""
    """The journals that were named, as a shell takes them."""
    journal_read: bool = False
    """Whether a journal was read, also one without a pod."""
    unreadable: str = ""
    """Why the journal could not be read; then the daemon's last decisions tell what happened."""

    @property
    def places(self) -> tuple[Place, ...]:
        """The pod's place in each order of eviction."""
        queues = () if self.explained is None else self.explained["queues"]
        return tuple(place for queue in queues if (place := place_in(queue, self.pod)) is not None)

    @property
    def leaving(self) -> Plain | None:
        """The pod's row among those being evicted, if it is one."""
        rows = () if self.status is None else self.status["leaving"]
        return next((row for row in rows if clean(row["pod"]) == self.pod), None)

    @property
    def proposed(self) -> bool:
        """Whether the API server is asked to evict it, and has not agreed."""
        return any(clean(row["pod"]) == self.pod for row in (self.status or {}).get("asked", ()))

    @property
    def remembered(self) -> tuple[Plain, ...]:
        """The daemon's last decisions about the pod, where no journal has events of it."""
        rows = () if self.events or self.status is None else self.status.get("decisions", ())
        return tuple(row for row in rows if clean(row["pod"]) == self.pod)

    @property
    def owner(self) -> str:
        """`Kind/name` of its controlling owner, of the journal or of the daemon; empty without one."""
        mine = (event.owner for event in self.evicted if event.pod == self.pod and event.owner)
        return next(mine, "") or next((clean(place.row.get("owner") or "") for place in self.places), "")

    @property
    def replaced(self) -> tuple[HistoryEvent, ...]:
        """Evictions of other pods of its owner: it replaces them, or they were its neighbours.

        Without those that are shown with its place at them.
        """
        told = {(at, place.victim) for at, place in self.passed[-_SHOWN:]}
        return tuple(event for event in self._of_kin if (event.at, event.pod) not in told)

    @property
    def kin(self) -> frozenset[str]:
        """The other evicted pods of its owner, by `namespace/name`."""
        return frozenset(event.pod for event in self._of_kin)

    @property
    def _of_kin(self) -> tuple[HistoryEvent, ...]:
        return tuple(event for event in self.evicted if event.pod != self.pod and self._is_kin(event.owner, event.pod))

    @property
    def successors(self) -> tuple[str, ...]:
        """Other active pods of its owner, by `namespace/name`."""
        queues = () if self.explained is None else self.explained["queues"]
        rows = ((row, clean(f"{row['namespace']}/{row['name']}")) for queue in queues for row in queue["rows"])
        found = (name for row, name in rows if name != self.pod and self._is_kin(clean(row.get("owner") or ""), name))
        return tuple(dict.fromkeys(found))

    @property
    def last_reason(self) -> HistoryEvent | None:
        """The last reason for which no pod was evicted, if it concerns the pod; `None` where the daemon says how it stands."""
        last = self.no_action if self.explained is None else None
        evicted = next((at for at, _ in reversed(self.passed)), "")
        refused = next((each.at for each in self.events[-1:] if each.kind is EventKind.REFUSED), "")
        concerned = bool(self.passed or self.causes or refused)
        after = last is not None and concerned and last.at >= max(evicted, refused) and not self.superseded
        return last if last in self.events or after else None

    @property
    def last_refused(self) -> AllRefused | None:
        """The refusals at the end of the journal, if they concern the pod; `None` where the daemon says how it stands."""
        refused = self.refused if self.explained is None else None
        return refused if refused is not None and (self.passed or self.pod in refused.pods) else None

    def _is_kin(self, owner: str, pod: str) -> bool:
        return bool(owner) and owner == self.owner and pod.partition("/")[0] == self.pod.partition("/")[0]

    @property
    def placed(self) -> bool:
        """Whether the daemon, an event or an eviction says how it stands."""
        of_daemon = (self.places, self.leaving, self.proposed, self.remembered)
        return any((*of_daemon, self.events, self.replaced, self.passed))

    @property
    def known(self) -> bool:
        """Whether anything is known of the pod."""
        return self.placed or bool(self.causes)

    @property
    def answered(self) -> bool:
        """Whether anything is said of the pod: at least where it stood in the last record that has it."""
        return self.known or bool(self.last_place)


# --- sentences --------------------------------------------------------------------------------------------------------


_BLIND = "evictd cannot see the pods, because the container runtime does not answer"
_AWAY = "no daemon answers, so only the journal is known"
_NO_RECORD = "evictd records only cycles in which it decides something: a pod that ran in none of them has no record"
_NOT_ASKED = "only the journal was read (--address HOST:PORT asks a daemon too)"


def why_lines(why: PodWhy) -> Iterator[str]:
    """Write what is known of a pod, one sentence a line."""
    events = without_repeated_refusals(why.events)
    if (earlier := len(events) - _SHOWN_EVENTS) > 0:
        yield f"{counted(earlier, 'earlier event')} of it: `evictd history --pod {why.pod}`"
    if len(why.passed) > _SHOWN:
        yield f"{len(why.passed)} evictions of other pods ranked it too, shown are the last {_SHOWN}"
    # In one second: it was ranked before it went.
    entries = (*_passed(why), *_event_lines(events[-_SHOWN_EVENTS:]), *_paused(why))
    for _, lines in sorted(entries, key=lambda each: each[0]):
        yield from lines
    if any(event.kind is EventKind.EVICTED for event in why.events):
        yield from _incident(why)
        same = "" if why.asked else f" --journal {why.journal or 'FILE'}"
        yield f"`evictd incident {why.pod}{same}` shows its readings, the ranking and what came back"
    for row in why.remembered:
        yield f"{row['at']}: {clean(row['text'])}"
        if row["why"]:
            yield f"  {clean(row['why'])}"
    yield from why.causes
    yield from _remedy(why)
    yield from _kin(why)
    if why.explained is None or why.status is None:
        yield from _of_journal(why)
        return
    yield from _now(why, why.status)
    if why.unreadable:
        yield f"the journal cannot be read ({clean(why.unreadable)}): what happened before is known to root only"


def _of_journal(why: PodWhy) -> Iterator[str]:
    """Write what the journal alone says besides events: what stops evictions, and then the place of a pod that none concerns."""
    if not why.known:
        yield _unnamed(why)
    if why.pod not in why.pods and not why.answered:
        yield _NO_RECORD
    unconcerned = not why.known and why.pod in why.pods
    stop = why.no_action if unconcerned else None
    if stop is not None:
        yield f"{clean(stop.at)}: {event_line(stop)}"
    yield from why.last_place
    if why.answered:
        yield _AWAY if why.asked else _NOT_ASKED
    if stop is not None and (remedy := _remedy_for(stop, why)):
        yield f"now: {remedy}"
    elif unconcerned and stop is None:
        yield from why.kills


def _unnamed(why: PodWhy) -> str:
    """Write that nothing is known of the pod, and the pods that it may have been mistaken for."""
    pods = tuple(dict.fromkeys(event.pod for event in reversed(why.evicted)))
    if why.pod in why.pods and why.unrecorded:
        return why.unrecorded
    if why.pod in why.pods:
        decided = "`evictd history` says what else was decided"
        not_recorded = () if why.kills else (NOT_RECORDED,)
        return "; ".join((f"{why.pod} was active, and no eviction of the journal concerned it", decided, *not_recorded))
    evicted = f"it has evictions of {first_of(pods, 3)}" if pods else "it has no eviction"
    away = "no daemon answers, and the" if why.asked else "the"
    return f"{away} journal has no event of {why.pod}{_meant(why)}; {evicted}"


def _meant(why: PodWhy) -> str:
    meant = pods_meant(why.pod, why.pods - {why.pod})
    return f" ({meant})" if meant else ""


def _now(why: PodWhy, status: Plain) -> Iterator[str]:
    """Write what the daemon says of the pod."""
    unknown = status["pods"] is None
    if not why.known:
        known = "the journal has no event of it" if why.journal_read or why.pods else "no journal was read"
        journal = "the journal could not be read" if why.unreadable else known
        absent = f"{why.pod} is not an active pod of this node"
        active = f"whether {why.pod} is active is unknown: {_BLIND}" if unknown else absent
        yield f"{active}, and {journal}{_meant(why)}"
        return
    if why.leaving is not None:
        (row,) = leaving_rows({**status, "leaving": [why.leaving]}, depletions(status))
        yield f"it {'was' if row['gone'] else 'is being'} evicted{_for(row)}: {row['awaits']}"
        yield from filter(None, (row["suffices"],))
        return
    if why.proposed:
        yield "the API server is asked to evict it, and has not agreed yet"
        return
    if not why.places:
        yield f"whether it is active now is unknown: {_BLIND}" if unknown else "it is not active on this node now"
        yield from conditions(status)
        return
    if any(place.row["protected"] for place in why.places):
        yield from guarded_lines(why.places, status)
        return
    rows = status["ownLimits"]
    if of_pod := [row for row in rows if clean(row["pod"]) == why.pod]:
        yield own_limits_text({**status, "ownLimits": of_pod})
    yield from standing_lines(why.places, status)


_SHOWN = 3
"""Of how many evictions of other pods the last are shown."""


def _event_lines(events: Iterable[HistoryEvent]) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield the time and the lines of each event of the pod."""
    for event in events:
        more = (f"  {line}" for line in (event.why, event.filled) if line)
        yield event.at, (f"{clean(event.at)}: {event_line(event)}", *more)


def _passed(why: PodWhy) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield the time of the last evictions of other pods, the pod's place at each, and why it was not evicted then.

    Only of the last one it is said which pods would have had to go first: they may be gone at the next one.
    """
    last = why.passed[-1:]
    for at, place in why.passed[-_SHOWN:]:
        evicted = "would have been evicted" if place.dry_run else "was evicted"
        ranked = f"at place {place.number} of {place.pods}" if place.number else "not ranked"
        owner = f"; {why.owner} owns both" if place.victim in why.kin else ""
        place_text = f"{clean(at)}: {place.victim} {evicted} for {place.signal}; this pod was {ranked}{owner}"
        first = (f"  to be evicted: {first_of(place.first, 3)} would have had to go first, or be skipped",)
        ahead = place.first and place.number and (at, place) in last
        yield at, (place_text, f"  {place.why}", *(first if ahead else ()))


def _paused(why: PodWhy) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield the time and the reason for which no pod went after the last eviction of another one, if it is the last reason."""
    if (paused := why.last_reason) is not None and paused not in why.events:
        yield paused.at, (f"{clean(paused.at)}: {event_line(paused)}",)
    if (refused := why.last_refused) is not None and {*refused.pods} - {why.pod}:
        yield refused.at, (f"{clean(refused.at)}: {refused.text}",)


def _incident(why: PodWhy) -> Iterator[str]:
    """Write what its incident says first; what to do about kills by the kernel only where it does not say what to do now."""
    found = why.incident
    if found.short:
        yield f"in short: {found.short}"
    yield from _now_line([found.now] if found.now else why.kill_remedies, why)
    yield from found.avoidance


def _now_line(to_do: Iterable[str], why: PodWhy) -> Iterator[str]:
    """Write what to do now, with the threshold that evictd should have had, on one line; none where there is nothing to do."""
    if clauses := (*to_do, *why.higher_threshold):
        yield f"now: {'; '.join(clauses)}"


def _remedy(why: PodWhy) -> Iterator[str]:
    """Write what to do about the reason for which no pod went, about its own growth, or about kills by the kernel.

    An evicted pod's incident says it.
    """
    evicted = any(event.kind is EventKind.EVICTED for event in why.events)
    if evicted or any(each.startswith(MEASURE_HOST_PATHS) for each in why.causes):
        return
    refused, reason = why.last_refused, why.last_reason
    if refused is not None:
        yield f"now: {why.left_to_do or refused.remedy}"
    elif reason is not None and (remedy := _remedy_for(reason, why)):
        yield f"now: {remedy}"
    elif why.growing and (why.explained is None or why.places):
        yield from _now_line([why.growing], why)
    else:
        yield from _now_line(why.kill_remedies, why)


def _remedy_for(reason: HistoryEvent, why: PodWhy) -> str:
    """Return what to do about a reason for which no pod went, as the last incident says it where there is one."""
    return why.left_to_do or no_action_remedy(reason)


def _kin(why: PodWhy) -> Iterator[str]:
    """Write the fate of the pods that it replaces, and the pods that replace it if it is gone."""
    replaced = why.replaced
    if len(replaced) > _SHOWN:
        yield f"{len(replaced)} other pods of its owner {why.owner} were evicted from this node; the last {_SHOWN}:"
    for event in replaced[-_SHOWN:]:
        yield f"{clean(event.at)}: {event_line(event)}; {why.owner} owns this pod and {why.pod}"
        yield from (f"  {line}" for line in (event.why, event.filled) if line)
    if not why.places and why.leaving is None and (names := why.successors):
        yield f"its owner {why.owner} runs {', '.join(names)} on this node now"


def _for(row: Plain) -> str:
    return f" for {row['signal']}" if row["signal"] else ""
